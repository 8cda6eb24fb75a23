//! Hooks that are commands: what they read, what they decide, and that a broken one refuses.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use haft_custom::{CommandHooks, HookEntry, HookEvent, OnFailure, Origin};
use haft_runtime::permission::Reply;
use haft_runtime::{Beginning, CancellationToken, Delivery, EventKind};
use serde_json::{Value, json};

use crate::world::{ALLOW, Ground, World};

fn hook(command: &str) -> HookEntry {
    HookEntry {
        matcher: None,
        command: command.to_owned(),
        timeout: Some(10),
        confined: None,
        on_failure: None,
    }
}

/// An answer of a PreToolUse hook.
fn answers(specific: Value) -> HookEntry {
    let mut specific = specific;
    specific["hookEventName"] = "PreToolUse".into();
    hook(&format!("cat > /dev/null; echo '{}'", json!({ "hookSpecificOutput": specific })))
}

async fn world_with(rules: &str, reply: Reply, hooks: Vec<(HookEvent, HookEntry)>) -> World {
    let mut events: BTreeMap<HookEvent, Vec<HookEntry>> = BTreeMap::new();
    for (event, entry) in hooks {
        events.entry(event).or_default().push(entry);
    }
    World::new(Ground::new(), rules, reply, |builder, programs, policy| {
        let hooks = CommandHooks::new(programs, policy, [(Origin::User, events)]).unwrap();
        builder.hook(hooks)
    })
    .await
}

async fn world(hooks: Vec<(HookEvent, HookEntry)>) -> World {
    world_with(ALLOW, Reply::Unattended, hooks).await
}

use HookEvent::{
    PermissionRequest, PostToolUse, PostToolUseFailure, PreToolUse, SessionEnd, SessionStart,
};

fn read() -> Value {
    json!({ "file_path": "a.txt" })
}

#[tokio::test]
async fn a_hook_reads_what_the_call_is_and_where() {
    let world = world(vec![(PreToolUse, hook("cat > seen.json"))]).await;
    world.text("read", read()).await;
    let seen: Value = serde_json::from_str(&world.ground.get("workspace/seen.json")).unwrap();
    assert_eq!(seen["hook_event_name"], "PreToolUse");
    assert_eq!(seen["session_id"], world.session.as_str());
    assert_eq!(seen["tool_name"], "read");
    assert_eq!(seen["tool_input"], read());
    assert_eq!(seen["cwd"], world.ground.path("workspace").to_str().unwrap());
    assert!(seen["tool_use_id"].as_str().unwrap().len() > 8);
}

#[tokio::test]
async fn matchers_choose_tools_by_whole_names_in_any_case() {
    let matching = |matcher: &str| HookEntry {
        matcher: Some(matcher.to_owned()),
        ..hook("echo >&2 no; exit 2")
    };
    for (matcher, blocks) in [
        ("*", true),
        ("", true),
        ("Read", true),
        ("bash|read", true),
        ("re.d", true),
        ("rea", false),
        ("bash|edit", false),
        ("readx?.+", false),
    ] {
        let world = world(vec![(PreToolUse, matching(matcher))]).await;
        let answer = world.call("read", read()).await;
        assert_eq!(answer["error"]["kind"] == "blocked", blocks, "{matcher}: {answer}");
    }
}

#[tokio::test]
async fn code_two_blocks_with_the_words_on_standard_error() {
    let world = world(vec![(PreToolUse, hook("echo 'ask Ada first' >&2; exit 2"))]).await;
    let message =
        world.error("write", json!({ "file_path": "b", "content": "x" }), "blocked").await;
    assert!(message.contains("ask Ada first"), "{message}");
    assert!(!world.ground.path("workspace/b").exists());
}

#[tokio::test]
async fn a_hook_that_fails_in_whatever_way_blocks_unless_it_may_fail() {
    let slow = HookEntry { timeout: Some(1), ..hook("sleep 60") };
    let broken = [
        (hook("exit 1"), "code 1"),
        (hook("exit 127"), "code 127"),
        (hook("kill -9 $$"), "signal 9"),
        (hook("no-such-program-here"), "code 127"),
        (hook("echo garbage"), "not the JSON"),
        (hook("echo '{\"continue\": 3}'"), "not the JSON"),
        (hook("echo '[]'"), "not the JSON"),
        (hook("echo '{\"hookSpecificOutput\":[]}'"), "not the JSON"),
        (hook("printf '\\377'"), "UTF-8"),
        (hook("yes | head -c 3000000"), "more than 1 MiB"),
        (hook(r#"echo '{"hookSpecificOutput":{"permissionDecision":"maybe"}}'"#), "not the JSON"),
        (
            hook(r#"echo '{"hookSpecificOutput":{"hookEventName":"PostToolUse"}}'"#),
            "is for `PostToolUse`",
        ),
        (slow, "longer than 1 s"),
    ];
    for (entry, words) in broken {
        let lenient = HookEntry { on_failure: Some(OnFailure::Ignore), ..entry.clone() };
        let strict = world(vec![(PreToolUse, entry)]).await;
        let begin = Instant::now();
        let message = strict.error("read", read(), "blocked").await;
        assert!(message.contains(words), "{words}: {message}");
        assert!(message.len() < 12_000);
        assert!(begin.elapsed() < Duration::from_secs(8), "{words}: {:?}", begin.elapsed());
        let lenient = world(vec![(PreToolUse, lenient)]).await;
        lenient.text("read", read()).await;
    }
}

#[tokio::test]
async fn a_hook_that_hangs_ends_with_all_it_started() {
    let entry = HookEntry { timeout: Some(1), ..hook("(setsid sleep 7171 &) ; sleep 7171") };
    let world = world(vec![(PreToolUse, entry)]).await;
    world.error("read", read(), "blocked").await;
    let alive = fs_err::read_dir("/proc").unwrap().flatten().any(|entry| {
        let line = fs_err::read(entry.path().join("cmdline")).unwrap_or_default();
        line == b"sleep\x007171\x00"
    });
    assert!(!alive, "a sleeper outlived its hook");
}

#[tokio::test]
async fn a_cancelled_call_does_not_wait_for_its_hook() {
    let world = world(vec![(PreToolUse, hook("touch started; sleep 60"))]).await;
    let cancel = CancellationToken::new();
    let begin = Instant::now();
    let stop = async {
        while !world.ground.path("workspace/started").exists() {
            tokio::task::yield_now().await;
        }
        cancel.cancel();
    };
    let (answer, ()) = tokio::join!(world.call_until("read", read(), cancel.clone()), stop);
    assert_eq!(answer["error"]["kind"], "cancelled", "{answer}");
    assert!(begin.elapsed() < Duration::from_secs(3), "{:?}", begin.elapsed());
}

#[tokio::test]
async fn a_deny_carries_its_reason() {
    let entry = answers(json!({
        "permissionDecision": "deny", "permissionDecisionReason": "not on Sundays" }));
    let message = world(vec![(PreToolUse, entry)]).await.error("read", read(), "blocked").await;
    assert!(message.contains("not on Sundays"), "{message}");
    let older = hook(r#"echo '{"decision":"block","reason":"older words"}'"#);
    let message = world(vec![(PreToolUse, older)]).await.error("read", read(), "blocked").await;
    assert!(message.contains("older words"), "{message}");
}

#[tokio::test]
async fn an_allow_answers_an_ask_and_never_a_deny() {
    let allow = || vec![(PreToolUse, answers(json!({ "permissionDecision": "allow" })))];
    let write = || json!({ "file_path": "b.txt", "content": "x" });
    let asking = "[permission]\n\"*\" = \"ask\"\n";
    let plain = world_with(asking, Reply::Unattended, Vec::new()).await;
    plain.error("write", write(), "denied").await;
    let allowed = world_with(asking, Reply::Unattended, allow()).await;
    allowed.text("write", write()).await;
    assert_eq!(allowed.asks(), 0);
    let denying = "[permission]\n\"*\" = \"allow\"\n[permission.edit]\n\"b.*\" = \"deny\"\n";
    let denied = world_with(denying, Reply::Once, allow()).await;
    denied.error("write", write(), "denied").await;
    assert!(!denied.ground.path("workspace/b.txt").exists());
}

#[tokio::test]
async fn an_ask_is_put_to_the_user_whatever_the_rules_allow() {
    let entry = || {
        let specific = json!({ "permissionDecision": "ask", "permissionDecisionReason": "odd" });
        vec![
            (PreToolUse, answers(specific)),
            (PreToolUse, answers(json!({ "permissionDecision": "allow" }))),
        ]
    };
    let samples = [
        ("read", read()),
        ("todoread", json!({})),
        ("bash", json!({ "command": "echo hi" })),
        ("write", json!({ "file_path": "b.txt", "content": "x" })),
        ("glob", json!({ "pattern": "*" })),
    ];
    for (tool, args) in samples {
        let refused = world_with(ALLOW, Reply::Unattended, entry()).await;
        let message = refused.error(tool, args.clone(), "denied").await;
        assert!(message.contains("a hook wants the user asked"), "{tool}: {message}");
        let agreed = world_with(ALLOW, Reply::Once, entry()).await;
        agreed.text(tool, args).await;
        assert_eq!(agreed.asks(), 1, "{tool}");
    }
}

#[tokio::test]
async fn rewritten_input_is_validated_and_is_what_runs() {
    let to = |input: Value| vec![(PreToolUse, answers(json!({ "updatedInput": input })))];
    let good = world(to(json!({ "file_path": "a.txt", "limit": 1 }))).await;
    let text = good.text("read", json!({ "file_path": "missing.txt" })).await;
    assert!(text.contains("alpha"), "{text}");
    for bad in [
        json!({ "file_path": 3 }),
        json!("text"),
        json!({}),
        json!({ "file_path": "a.txt", "odd": 1 }),
    ] {
        let message = world(to(bad)).await.error("read", read(), "blocked").await;
        assert!(message.contains("it rewrote the arguments of read"), "{message}");
    }
}

#[tokio::test]
async fn hooks_run_in_order_and_each_sees_what_the_one_before_made() {
    let rename = |to: &str| answers(json!({ "updatedInput": { "file_path": to } }));
    let note = hook(r#"cat >> seen.jsonl; echo >> seen.jsonl"#);
    let world = world(vec![
        (PreToolUse, rename("b.txt")),
        (PreToolUse, note),
        (PreToolUse, rename("a.txt")),
    ])
    .await;
    world.text("read", json!({ "file_path": "c.txt" })).await;
    let seen: Value =
        serde_json::from_str(world.ground.get("workspace/seen.jsonl").trim()).unwrap();
    assert_eq!(seen["tool_input"]["file_path"], "b.txt");
}

#[tokio::test]
async fn context_stands_below_answers_and_errors() {
    let entry = || vec![(PreToolUse, answers(json!({ "additionalContext": "tests first" })))];
    let text = world(entry()).await.text("read", read()).await;
    assert!(text.contains("alpha\n\n[from a hook]\ntests first"), "{text}");
    let message = world(entry()).await.error("read", json!({ "file_path": "no" }), "failed").await;
    assert!(message.ends_with("\n\n[from a hook]\ntests first"), "{message}");
}

#[tokio::test]
async fn after_a_call_a_hook_sees_the_answer_and_may_change_add_or_refuse() {
    let after = |json: Value| hook(&format!("cat > after.json; echo '{json}'"));
    let specific = |it: Value| json!({ "hookSpecificOutput": it });
    let changed =
        world(vec![(PostToolUse, after(specific(json!({ "updatedToolOutput": "gone" }))))]).await;
    assert_eq!(changed.text("read", read()).await, "gone");
    let seen: Value = serde_json::from_str(&changed.ground.get("workspace/after.json")).unwrap();
    assert!(seen["tool_response"]["output"].as_str().unwrap().contains("alpha"));
    assert_eq!(seen["tool_input"], read());
    let added =
        world(vec![(PostToolUse, after(specific(json!({ "additionalContext": "mind" }))))]).await;
    let text = added.text("read", read()).await;
    assert!(text.contains("alpha\n\n[from a hook]\nmind"), "{text}");
    for refusing in [
        after(json!({ "decision": "block", "reason": "bad lint" })),
        hook("echo bad lint >&2; exit 2"),
    ] {
        let message =
            world(vec![(PostToolUse, refusing)]).await.error("read", read(), "blocked").await;
        assert!(message.contains("bad lint") && message.contains("has run"), "{message}");
    }
}

#[tokio::test]
async fn every_failure_is_told_and_may_be_commented_on() {
    let rules = "[permission]\n\"*\" = \"allow\"\nedit = \"deny\"\nbash = \"ask\"\n";
    let entry = hook(
        r#"cat >> failed.jsonl; echo >> failed.jsonl; echo '{"hookSpecificOutput":{"additionalContext":"try again"}}'"#,
    );
    let world = world_with(rules, Reply::Unattended, vec![(PostToolUseFailure, entry)]).await;
    let failures = [
        ("write", json!({ "file_path": "b", "content": "x" }), "denied"),
        ("bash", json!({ "command": "ls" }), "denied"),
        ("read", json!({ "file_path": "missing" }), "failed"),
        ("read", json!({ "file_path": 3.5 }), "invalid_params"),
    ];
    for (tool, args, kind) in &failures {
        let message = world.error(tool, args.clone(), kind).await;
        assert!(message.ends_with("\n\n[from a hook]\ntry again"), "{message}");
    }
    let told: Vec<Value> = world
        .ground
        .get("workspace/failed.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let kinds: Vec<_> = told.iter().map(|it| it["error_kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, failures.clone().map(|(_, _, kind)| kind));
    assert!(told.iter().all(|it| it["error"].as_str().is_some_and(|text| !text.is_empty())));
}

#[tokio::test]
async fn a_request_for_permission_can_be_answered_by_a_hook() {
    let asking = "[permission]\n\"*\" = \"ask\"\n";
    let answer = |behaviour: Value| {
        let specific = json!({ "hookEventName": "PermissionRequest", "decision": behaviour });
        let json = json!({ "hookSpecificOutput": specific });
        vec![(PermissionRequest, hook(&format!("cat > asked.json; echo '{json}'")))]
    };
    let yes = world_with(asking, Reply::Unattended, answer(json!({ "behavior": "allow" }))).await;
    yes.text("read", read()).await;
    assert_eq!(yes.asks(), 0);
    let seen: Value = serde_json::from_str(&yes.ground.get("workspace/asked.json")).unwrap();
    assert_eq!(seen["tool_input"], read());
    assert_eq!(seen["effects"][0]["key"], "read");
    let no = answer(json!({ "behavior": "deny", "message": "never" }));
    let message = world_with(asking, Reply::Once, no).await.error("read", read(), "blocked").await;
    assert!(message.contains("never"), "{message}");
    let rewriting = answer(json!({ "behavior": "allow", "updatedInput": {} }));
    world_with(asking, Reply::Once, rewriting).await.error("read", read(), "blocked").await;
    let silent = vec![(PermissionRequest, hook("true"))];
    let left = world_with(asking, Reply::Once, silent).await;
    left.text("read", read()).await;
    assert_eq!(left.asks(), 1);
    let broken = vec![(PermissionRequest, hook("exit 9"))];
    world_with(asking, Reply::Once, broken).await.error("read", read(), "blocked").await;
}

#[tokio::test]
async fn a_hook_can_end_the_work_and_speak_to_the_user() {
    let stop = hook(r#"echo '{"continue":false,"stopReason":"budget is spent"}'"#);
    let message = world(vec![(PreToolUse, stop)]).await.error("read", read(), "stopped").await;
    assert!(message.contains("budget is spent"), "{message}");
    let speak = hook(r#"echo '{"systemMessage":"look up"}'"#);
    let world = world(vec![(PreToolUse, speak)]).await;
    let mut events = world.runtime.events(Some(world.session.clone()));
    world.text("read", read()).await;
    world.runtime.write_down().await;
    let noted = std::iter::from_fn(|| events.try_next()).find_map(|delivery| match delivery {
        Delivery::Event(event) => match &*event.kind {
            EventKind::Noted { name, data, .. } if name == "hook.message" => Some(data.clone()),
            _ => None,
        },
        Delivery::Missed(_) => None,
    });
    assert_eq!(noted.unwrap()["text"], "look up");
}

#[tokio::test]
async fn hooks_are_confined_and_see_no_secrets_unless_the_user_says_otherwise() {
    let peek = "echo \"{\\\"systemMessage\\\":\\\"$API_TOKEN $(cat .env 2>/dev/null) $(touch /etc/haft-was-here 2>&1 && echo wrote)\\\"}\" | tee said > /dev/null";
    let rules = format!("{ALLOW}[permission.read]\n\"*.env\" = \"ask\"\n");
    let world = world_with(&rules, Reply::Unattended, vec![(PreToolUse, hook(peek))]).await;
    world.ground.put("workspace/.env", "SECRET=1");
    world.text("read", read()).await;
    let said = world.ground.get("workspace/said");
    assert!(
        !said.contains("hush") && !said.contains("SECRET=1") && !said.contains("wrote"),
        "{said}"
    );
    let outside = world.ground.path("outside");
    let write = format!("touch {}", outside.display());
    let free = HookEntry { confined: Some(false), ..hook(&write) };
    let by_user = world_with(ALLOW, Reply::Unattended, vec![(PreToolUse, free)]).await;
    by_user.text("read", read()).await;
    assert!(outside.exists());
}

#[tokio::test]
async fn a_projects_hook_is_confined_whatever_it_says() {
    let ground = Ground::new();
    let outside = ground.path("outside");
    let write = format!("touch {}; true", outside.display());
    let entry = HookEntry { confined: Some(false), ..hook(&write) };
    let events = BTreeMap::from([(PreToolUse, vec![entry])]);
    let world = World::new(ground, ALLOW, Reply::Unattended, |builder, programs, policy| {
        builder.hook(CommandHooks::new(programs, policy, [(Origin::Project, events)]).unwrap())
    })
    .await;
    world.text("read", read()).await;
    assert!(!outside.exists());
}

#[tokio::test]
async fn sessions_begin_and_end_with_hooks() {
    let only_new =
        HookEntry { matcher: Some("startup".into()), ..hook("echo '{\"systemMessage\":\"hi\"}'") };
    let world = world(vec![
        (SessionStart, hook("cat >> start.jsonl; echo remember the milk")),
        (SessionStart, only_new),
        (SessionEnd, hook("cat > end.json; exit 1")),
    ])
    .await;
    let said = world.runtime.begin_session(&world.session, Beginning::Startup).await.unwrap();
    assert_eq!(said.context, ["remember the milk"]);
    assert_eq!(said.messages, ["hi"]);
    let said = world.runtime.begin_session(&world.session, Beginning::Resume).await.unwrap();
    assert!(said.messages.is_empty());
    world.runtime.end_session(&world.session, "exit").await;
    let end: Value = serde_json::from_str(&world.ground.get("workspace/end.json")).unwrap();
    assert_eq!(end["reason"], "exit");
    let refusing =
        world_with(ALLOW, Reply::Unattended, vec![(SessionStart, hook("echo no >&2; exit 2"))])
            .await;
    refusing.runtime.begin_session(&refusing.session, Beginning::Startup).await.unwrap_err();
}

#[tokio::test]
async fn a_matcher_that_is_no_pattern_is_refused_before_anything_runs() {
    World::new(Ground::new(), ALLOW, Reply::Unattended, |builder, programs, policy| {
        for entry in [HookEntry { matcher: Some("(".into()), ..hook("true") }, hook("  ")] {
            let events = BTreeMap::from([(PreToolUse, vec![entry])]);
            let hooks =
                CommandHooks::new(programs.clone(), policy.clone(), [(Origin::User, events)]);
            assert!(hooks.is_err());
        }
        builder
    })
    .await;
}
