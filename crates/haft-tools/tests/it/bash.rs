//! `bash` through the pipeline, with real processes.

use std::time::{Duration, Instant};

use haft_exec::sandbox::{Demand, Network};
use haft_exec::{Command, Confinement, Keeper, Sandbox};
use haft_runtime::CancellationToken;
use haft_runtime::permission::{EffectKind, Reply};
use haft_tools::SandboxMode;
use serde_json::{Value, json};

use crate::world::World;

/// Everything is allowed that is not denied.
const ALLOW: &str = "[permission]\n\"*\" = \"allow\"\n";

async fn open() -> World {
    World::running(ALLOW, |settings| settings.sandbox = SandboxMode::Off).await
}

async fn run(world: &World, script: &str) -> Value {
    let answer = world.call("bash", json!({ "command": script })).await;
    assert_eq!(answer["state"], "completed", "{answer}");
    answer
}

fn said(answer: &Value) -> &str {
    answer["output"].as_str().unwrap()
}

/// Whether every layer of the sandbox is there; else the test says that it is skipped.
pub(crate) async fn confines(test: &str) -> bool {
    let keeper = Keeper::new(env!("CARGO_BIN_EXE_haft-tools-keeper"));
    let mut command = Command::new("/bin/sh", "/").args(["-c", ":"]);
    command.sandbox = Sandbox::Confined(Confinement::read_only());
    match keeper.spawn(&command).await {
        Ok(_) => true,
        Err(error) => {
            eprintln!("SKIP {test}: {error}");
            false
        }
    }
}

#[tokio::test]
async fn output_and_errors_come_in_order_with_the_exit_code() {
    let world = open().await;
    let answer = run(&world, "echo a; echo b >&2; echo c; exit 3").await;
    assert!(said(&answer).starts_with("a\nb\nc\n\n(exit code 3, "), "{answer}");
    assert_eq!(answer["metadata"]["exit"], 3);
    assert!(answer["metadata"]["peak_memory"].as_u64().unwrap() > 0, "{answer}");
    let answer = run(&world, "true").await;
    assert!(said(&answer).starts_with("(no output)\n\n(exit code 0, "), "{answer}");
    let answer = run(&world, "kill -9 $$").await;
    assert_eq!(answer["metadata"]["signal"], 9, "{answer}");
}

#[tokio::test]
async fn names_that_other_programs_use_are_taken() {
    let world = open().await;
    let args =
        json!({ "cmd": "pwd", "cwd": "sub", "timeout_ms": "5000", "run_in_background": "false" });
    world.put("sub/x", "");
    let text = world.text("run_shell_command", args).await;
    assert!(text.lines().next().unwrap().ends_with("/workspace/sub"), "{text}");
}

#[tokio::test]
async fn a_command_reads_what_it_is_given_and_nothing_else() {
    let world = open().await;
    let args = json!({ "command": "cat; echo end", "stdin": "given\n" });
    assert!(world.text("bash", args).await.starts_with("given\nend\n"));
    assert!(said(&run(&world, "cat; echo end").await).starts_with("end\n"));
    let args = json!({ "command": "test -t 1 && echo terminal", "pty": true });
    assert!(world.text("bash", args).await.starts_with("terminal"));
}

#[tokio::test]
async fn secrets_of_the_environment_are_left_out_and_ids_are_set() {
    let world = open().await;
    let answer = run(&world, "env").await;
    assert!(!said(&answer).contains("hush"), "{answer}");
    assert!(said(&answer).contains(&format!("HAFT_SESSION={}", world.session)), "{answer}");
    assert!(said(&answer).contains("HAFT_CALL=") && said(&answer).contains("PAGER=cat"));
}

#[tokio::test]
async fn a_timeout_ends_everything_in_time_and_keeps_what_was_said() {
    let world = open().await;
    let script = "echo begun; trap '' TERM; (setsid sleep 1234 &) ; sleep 1234";
    let begin = Instant::now();
    let args = json!({ "command": script, "timeout": 300 });
    let message = world.error("bash", args, "timed_out").await;
    assert!(begin.elapsed() < Duration::from_secs(4), "{:?}", begin.elapsed());
    assert!(message.contains("after 0.3 s") && message.contains("begun"), "{message}");
}

#[tokio::test]
async fn at_its_timeout_a_command_that_still_prints_goes_on_if_the_call_says_so() {
    let world = open().await;
    let script = "for i in $(seq 40); do echo line $i; sleep 0.05; done; echo over";
    let args = json!({ "command": script, "timeout": 400, "keep_running": true });
    let answer = world.call("bash", args.clone()).await;
    assert!(said(&answer).contains("line 2\n") && said(&answer).contains("job 1"), "{answer}");
    let waited = world.call("job", json!({ "action": "wait", "id": 1, "timeout": 20000 })).await;
    assert!(said(&waited).contains("line 40\nover"), "{waited}");
    assert!(!said(&waited).contains("line 1\n"), "what was shown is not shown again: {waited}");
    let whole = waited["metadata"]["output_path"].as_str().unwrap();
    let lines: String = (1..=40).map(|n| format!("line {n}\n")).collect();
    assert_eq!(fs_err::read_to_string(whole).unwrap(), lines + "over\n");
    // Who is silent has nothing to go on for, and who ends in time is no job.
    let silent = json!({ "command": "echo a; sleep 60", "timeout": 300, "keep_running": true });
    assert!(world.error("bash", silent, "timed_out").await.contains("a\n"));
    let short = json!({ "command": "echo b", "timeout": 20000, "keep_running": true });
    assert!(world.text("bash", short).await.contains("exit code 0"));
}

#[tokio::test]
async fn a_cancelled_command_ends_with_what_it_said() {
    let world = open().await;
    let cancel = CancellationToken::new();
    let mut events = world.events();
    let call = world.prepare("bash", json!({ "command": "echo begun; sleep 1234" }));
    let stop = cancel.clone();
    let watch = async {
        while let Some(delivery) = events.next().await {
            let text = format!("{delivery:?}");
            if text.contains("begun") && text.contains("output") {
                stop.cancel();
                return;
            }
        }
    };
    let begin = Instant::now();
    let (settled, ()) = tokio::join!(world.toolset.execute(call, cancel), watch);
    assert!(begin.elapsed() < Duration::from_secs(4));
    let answer = settled.to_json();
    assert_eq!(answer["error"]["kind"], "cancelled", "{answer}");
    assert!(answer["error"]["message"].as_str().unwrap().contains("begun"), "{answer}");
}

#[tokio::test]
async fn of_a_long_output_head_and_tail_are_shown_and_all_of_it_is_kept() {
    let world = open().await;
    for count in [3000, 300_000] {
        let answer = run(&world, &format!("seq 1 {count}; echo last >&2")).await;
        let text = said(&answer);
        assert!(text.starts_with("1\n2\n3\n") && text.contains("\nlast\n"), "{text}");
        assert!(text.len() <= 50 * 1024 && text.lines().count() <= 2000);
        assert!(text.contains("are left out here; the whole is kept at /"), "{text}");
        assert_eq!(answer["metadata"]["truncated"], true);
        let path = answer["metadata"]["output_path"].as_str().unwrap();
        let kept = fs_err::read_to_string(path).unwrap();
        let whole: String =
            (1..=count).map(|n| format!("{n}\n")).chain(["last\n".into()]).collect();
        assert!(kept == whole, "{} bytes of {}", kept.len(), whole.len());
        let read =
            world.text("read", json!({ "file_path": path, "offset": 2500, "limit": 1 })).await;
        assert!(read.contains("2500→2500"), "{read}");
    }
}

#[tokio::test]
async fn one_endless_line_and_bytes_that_are_no_text_are_shown_in_part() {
    let world = open().await;
    let answer = run(&world, "head -c 300000 /dev/zero | tr '\\0' x").await;
    assert!(said(&answer).len() > 30_000 && said(&answer).len() <= 50 * 1024);
    let answer = run(&world, "printf 'a\\377b\\n'").await;
    assert!(said(&answer).starts_with("a\u{fffd}b\n"), "{answer}");
}

#[tokio::test]
async fn what_is_left_behind_is_told_and_becomes_a_job() {
    let world = open().await;
    let begin = Instant::now();
    let answer = run(&world, "echo now; (sleep 0.5; echo later) &").await;
    assert!(begin.elapsed() < Duration::from_secs(5));
    assert!(
        said(&answer).contains("still running: ") && said(&answer).contains("kept as job 1"),
        "{answer}"
    );
    let waited = world.text("job", json!({ "action": "wait", "id": 1, "timeout": 20000 })).await;
    assert!(waited.contains("later"), "{waited}");
}

#[tokio::test]
async fn a_question_at_a_terminal_ends_the_command() {
    let world = open().await;
    let args = json!({ "command": "read -p 'Password: ' x", "pty": true, "timeout": 20000 });
    let answer = world.call("bash", args).await;
    assert!(said(&answer).contains("it asked `Password:`"), "{answer}");
}

#[tokio::test]
async fn a_file_that_was_read_and_then_changed_is_named() {
    let world = open().await;
    world.text("read", json!({ "file_path": "a.txt" })).await;
    let answer = run(&world, "echo more >> a.txt").await;
    assert!(said(&answer).contains("[changed since you read them: a.txt]"), "{answer}");
    assert!(!said(&run(&world, "cat a.txt").await).contains("changed since"));
}

#[tokio::test]
async fn what_cannot_be_run_is_refused_with_the_reason() {
    let world = open().await;
    let args = json!({ "command": "pwd", "workdir": "nowhere" });
    assert!(world.error("bash", args, "failed").await.contains("no folder"));
    world.error("bash", json!({ "command": " \n" }), "failed").await;
    for workdir in ["", "a.txt", "a.txt/x", "/no/such", "\0"] {
        let args = json!({ "command": "pwd", "workdir": workdir });
        let answer = world.call("bash", args).await;
        assert!(workdir.is_empty() || answer["state"] != "completed", "{workdir:?}: {answer}");
    }
    let args = json!({ "command": "pwd", "workdir": "" });
    assert!(world.text("bash", args).await.contains("/workspace\n"), "the root, as if left out");
    world.error("bash", json!({ "command": "x".repeat(200_000) }), "invalid_params").await;
    world.error("bash", json!({ "command": "a\0b" }), "failed").await;
}

#[tokio::test]
async fn effects_are_those_of_the_script() {
    let world = World::ruled(crate::every_tool::ASK_ALL, Reply::Once).await;
    world.put(".env", "SECRET=1\n");
    let asks = |script: &'static str| {
        let world = &world;
        async move {
            world.host.asked.lock().unwrap().clear();
            world.call("bash", json!({ "command": script, "timeout": 5000 })).await;
            let effects = world.asked_effects();
            let call = world.prepare("bash", json!({ "command": script, "timeout": 5000 }));
            let explained = world.toolset.explain(&call).await.unwrap();
            for effect in &effects {
                let same = |one: &&haft_runtime::permission::Explained| {
                    (one.kind, &one.value) == (effect.kind, &effect.value)
                };
                assert!(explained.effects.iter().any(|one| same(&one)), "{script}: {effect:?}");
            }
            effects
        }
    };
    let has = |effects: &[haft_runtime::permission::Effect], kind, value: &str| {
        effects.iter().any(|effect| effect.kind == kind && effect.value == value)
    };
    let effects = asks("cat .e*; echo x > made").await;
    assert!(has(&effects, EffectKind::Read, ".env") && has(&effects, EffectKind::Write, "made"));
    assert!(has(&effects, EffectKind::Run, "cat .e*"), "{effects:?}");
    let effects = asks("ls /etc > /dev/null").await;
    assert!(has(&effects, EffectKind::External, "/etc"), "{effects:?}");
    assert!(!effects.iter().any(|effect| effect.value == "/dev/null"), "{effects:?}");
    let effects = asks("curl https://example.invalid/x").await;
    assert!(effects.iter().any(|effect| effect.kind == EffectKind::Connect), "{effects:?}");
    let effects = asks("eval \"$x\"").await;
    assert!(effects.iter().any(|effect| effect.unproven.is_some()), "{effects:?}");
}

#[tokio::test]
async fn a_denied_command_cannot_be_dodged() {
    let rules = "[permission]\n\"*\" = \"allow\"\n[permission.bash]\n\"*\" = \"allow\"\n\"touch *\" = \"deny\"\n";
    let world = World::running(rules, |settings| settings.sandbox = SandboxMode::Off).await;
    for script in [
        "touch x",
        "'to'uch x",
        "\\touch x",
        "env A=1 touch x",
        "command touch x",
        "true && touch x",
        "echo $(touch x)",
        "echo `touch x`",
        "sh -c 'touch x'",
        "xargs touch <<< x",
        "find . -name a.txt -exec touch x \\;",
        "timeout 5 touch x",
        "nice touch x",
        "t=touch; $t x",
        "(touch x)",
        "if true; then touch x; fi",
        "f() { touch x; }; f",
        "to\\\nuch x",
        "eval touch x",
        "cat <<E\n$(touch x)\nE",
        "/usr/bin/touch x",
    ] {
        let answer = world.call("bash", json!({ "command": script })).await;
        assert_eq!(answer["error"]["kind"], "denied", "{script}: {answer}");
        assert!(!world.workspace().join("x").exists(), "{script}");
    }
    run(&world, "echo touch x").await;
}

#[tokio::test]
async fn a_denied_command_cannot_be_dodged_by_a_script_of_the_workspace() {
    let rules = "[permission]\n\"*\" = \"allow\"\n[permission.bash]\n\"*\" = \"allow\"\n\
                 \"touch *\" = \"deny\"\n\"mkdir *\" = \"ask\"\n";
    let world = World::running(rules, |settings| settings.sandbox = SandboxMode::Off).await;
    world.put("x.sh", "#!/bin/bash\nset -e\ntrue && touch made\n");
    world.put("sub/y.sh", "cd ..; ./x.sh\n");
    world.put("hidden.sh", "#!/usr/bin/env bash\n$(echo touch) made\n");
    world.put("mk.sh", "mkdir made\n");
    world.put("fine.sh", "echo \"$1\"; ls -l\n");
    world.put("x.py", "#!/usr/bin/env python3\nprint('$(touch made)')\n");
    run(&world, "chmod +x x.sh sub/y.sh hidden.sh mk.sh fine.sh x.py").await;
    for script in [
        "sh x.sh",
        "bash -e x.sh",
        "./x.sh",
        "cd sub && bash ../x.sh",
        "cd sub; ./y.sh",
        "./hidden.sh",
        "bash < x.sh",
        "cat x.sh | sh",
        ". ./x.sh",
        "source x.sh",
        "bash mk.sh",
        "/bin/mkdir made",
        "env -C sub sh ../x.sh",
    ] {
        let answer = world.call("bash", json!({ "command": script })).await;
        assert_eq!(answer["error"]["kind"], "denied", "{script}: {answer}");
        assert!(!world.workspace().join("made").exists(), "{script}");
    }
    for script in ["sh fine.sh a", "./fine.sh", "bash nowhere.sh", "./x.py || true"] {
        run(&world, script).await;
    }
}

#[tokio::test]
async fn what_a_plain_shell_reads_otherwise_is_asked() {
    let rules =
        format!("{}\n[permission.bash]\n\"echo *\" = \"allow\"\n", haft_tools::DEFAULT_RULES);
    let plain = World::running(&rules, |settings| settings.shell = "/bin/sh".into()).await;
    plain.text("bash", json!({ "command": "echo a" })).await;
    plain.error("bash", json!({ "command": "echo $'a\\nb'" }), "denied").await;
    let other = World::running(&rules, |settings| settings.shell = "/bin/zsh".into()).await;
    other.error("bash", json!({ "command": "echo a" }), "denied").await;
}

#[tokio::test]
async fn secrets_and_places_outside_are_asked_for_by_name() {
    let rules = format!("{}\n[permission.bash]\n\"*\" = \"allow\"\n", haft_tools::DEFAULT_RULES);
    let world = World::ruled(&rules, Reply::Reject { feedback: None }).await;
    world.put(".env", "SECRET=1\n");
    for (script, kind) in [
        ("cat .env", EffectKind::Read),
        ("cat /etc/hostname", EffectKind::External),
        ("echo x > made", EffectKind::Write),
        ("rm a.txt", EffectKind::Delete),
    ] {
        world.host.asked.lock().unwrap().clear();
        world.error("bash", json!({ "command": script }), "denied").await;
        assert_eq!(world.asked_effects()[0].kind, kind, "{script}");
    }
    world.host.asked.lock().unwrap().clear();
    world.error("bash", json!({ "command": "pwd", "workdir": "/usr" }), "denied").await;
    assert_eq!(world.asked_effects()[0].kind, EffectKind::External);
    assert!(world.text("bash", json!({ "command": "cat a.txt" })).await.starts_with("alpha"));
}

#[tokio::test]
async fn always_allows_the_same_kind_of_command_and_no_other() {
    let world = World::ruled(haft_tools::DEFAULT_RULES, Reply::Always).await;
    world.text("bash", json!({ "command": "ls -a" })).await;
    assert_eq!(world.host.asked.lock().unwrap()[0].ask.always[0].pattern, "ls *");
    world.text("bash", json!({ "command": "ls -l" })).await;
    assert_eq!(world.host.asked.lock().unwrap().len(), 1);
    world.text("bash", json!({ "command": "wc -l a.txt" })).await;
    assert_eq!(world.host.asked.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn a_confined_command_changes_the_workspace_and_its_own_tmp_only() {
    if !confines("a_confined_command_changes_the_workspace_and_its_own_tmp_only").await {
        return;
    }
    let world = World::running(ALLOW, |settings| settings.demand = Demand::Everything).await;
    world.put(".git/config", "");
    run(&world, "echo x > made; echo kept > /tmp/mine").await;
    assert_eq!(world.get("made"), b"x\n");
    assert!(said(&run(&world, "cat /tmp/mine").await).starts_with("kept"));
    world.put("outside.sh", "echo > /usr/haft-made\n");
    let answer = run(&world, "sh outside.sh").await;
    assert!(said(&answer).contains("the sandbox refused to write /usr/haft-made"), "{answer}");
    world.put("inside.sh", "echo > .git/hooks/x; echo > haft.toml\n");
    let answer = run(&world, "sh inside.sh").await;
    assert!(!world.workspace().join("haft.toml").exists(), "{answer}");
    run(&world, "echo ../evil > .git/commondir").await;
    assert!(!world.workspace().join(".git/commondir").exists());
    assert!(!world.workspace().join(".git/hooks/x").exists(), "{answer}");
}

#[tokio::test]
async fn a_worktree_commits_to_its_repository_and_leaves_its_hooks_alone() {
    let test = "a_worktree_commits_to_its_repository_and_leaves_its_hooks_alone";
    if !confines(test).await {
        return;
    }
    let world = World::running(ALLOW, |settings| settings.demand = Demand::Everything).await;
    let main = world.workspace().with_file_name("main");
    let git = |folder: &std::path::Path, args: &[&str]| {
        let mut git = std::process::Command::new("git");
        git.current_dir(folder).args(["-c", "user.name=a", "-c", "user.email=a@example.org"]);
        assert!(git.args(args).output().unwrap().status.success(), "{args:?}");
    };
    fs_err::create_dir(&main).unwrap();
    git(&main, &["init", "-q"]);
    git(&main, &["commit", "-q", "--allow-empty", "-m", "first"]);
    fs_err::remove_dir_all(world.workspace()).unwrap();
    git(&main, &["worktree", "add", "-q", world.workspace().to_str().unwrap()]);
    world.put("a.txt", "alpha\n");
    let commit = "git add a.txt && git -c user.name=a -c user.email=a@example.org commit -qm second && git log";
    let answer = run(&world, commit).await;
    assert!(said(&answer).contains("second"), "{answer}");
    world.put(
        "sneak.sh",
        "G=$(git rev-parse --git-common-dir); echo x > $G/hooks/pre-commit; echo x >> $G/config\n",
    );
    let own = main.join(".git/worktrees/workspace/commondir");
    let link = fs_err::read_to_string(&own).unwrap();
    let answer =
        run(&world, "echo / > $(git rev-parse --git-dir)/commondir; sh sneak.sh; true").await;
    assert_eq!(fs_err::read_to_string(own).unwrap(), link);
    assert!(!main.join(".git/hooks/pre-commit").exists(), "{answer}");
    assert!(!fs_err::read_to_string(main.join(".git/config")).unwrap().contains('x'), "{answer}");
    // A file that only claims to be one opens nothing.
    let outside = world.workspace().with_file_name("outside");
    fs_err::create_dir(&outside).unwrap();
    fs_err::write(outside.join("HEAD"), "").unwrap();
    world.put(".git", "gitdir: ../outside\n");
    world.put("write.sh", "echo x > ../outside/made\n");
    run(&world, "sh write.sh; true").await;
    assert!(!outside.join("made").exists());
}

#[tokio::test]
async fn secrets_in_the_workspace_are_hidden_unless_the_call_may_read_them() {
    if !confines("secrets_in_the_workspace_are_hidden_unless_the_call_may_read_them").await {
        return;
    }
    let rules = format!("{}\n[permission.bash]\n\"*\" = \"allow\"\n", haft_tools::DEFAULT_RULES);
    let world = World::ruled(&rules, Reply::Once).await;
    world.put("sub/.env", "SECRET=1\n");
    let answer = world.call("bash", json!({ "command": "grep -r SECRET . ; true" })).await;
    assert!(!said(&answer).contains("SECRET=1"), "{answer}");
    let answer = world.call("bash", json!({ "command": "cat sub/.env" })).await;
    assert!(said(&answer).starts_with("SECRET=1"), "{answer}");
    assert!(world.asked_effects().iter().any(|effect| effect.value == "sub/.env"));
}

#[tokio::test]
async fn the_network_is_off_unless_it_was_allowed() {
    if !confines("the_network_is_off_unless_it_was_allowed").await {
        return;
    }
    let script = "wc -l < /proc/net/dev";
    let world = World::running(ALLOW, |_| ()).await;
    assert!(said(&run(&world, script).await).starts_with("3\n"), "two lines of titles, and lo");
    let world = World::running(ALLOW, |settings| settings.network = Network::Full).await;
    let own = fs_err::read_to_string("/proc/net/dev").unwrap().lines().count().to_string();
    assert_eq!(said(&run(&world, script).await).lines().next().unwrap(), own);
}

#[tokio::test]
async fn read_only_means_that_nothing_changes() {
    if !confines("read_only_means_that_nothing_changes").await {
        return;
    }
    let world = World::running(ALLOW, |settings| settings.sandbox = SandboxMode::ReadOnly).await;
    let answer = run(&world, "echo x > made").await;
    assert!(!world.workspace().join("made").exists(), "{answer}");
    assert_ne!(answer["metadata"]["exit"], 0);
}

#[tokio::test]
async fn progress_is_told_while_it_runs() {
    let world = open().await;
    let mut events = world.events();
    run(&world, "echo one; sleep 0.3; echo t''wo").await;
    let mut told = false;
    while let Some(delivery) = events.next().await {
        let text = format!("{delivery:?}");
        told |= text.contains("CallProgress") && text.contains("one") && !text.contains("two");
        if text.contains("CallCompleted") {
            break;
        }
    }
    assert!(told);
}

#[tokio::test]
async fn undo_takes_back_what_a_command_changed() {
    let world = open().await;
    world.put("gone.txt", "gone\n");
    let before = crate::world::tree_hash(&world.workspace());
    let script =
        "echo more >> a.txt; rm gone.txt; mkdir -p new/deep; echo x > new/deep/f; ln -s a.txt link";
    let answer = run(&world, script).await;
    assert!(!said(&answer).contains("cannot take back"), "{answer}");
    assert_eq!(answer["metadata"]["undoable"], 6, "{answer}");
    let after = crate::world::tree_hash(&world.workspace());
    assert_ne!(after, before);
    world.text("undo", json!({})).await;
    assert_eq!(crate::world::tree_hash(&world.workspace()), before);
    world.text("undo", json!({ "redo": true })).await;
    assert_eq!(crate::world::tree_hash(&world.workspace()), after);
}

#[tokio::test]
async fn undo_takes_back_what_a_script_did_that_nobody_could_foresee() {
    let world = open().await;
    for name in ["changed", "gone", "moved", "barred", "deep/er/left"] {
        world.put(name, format!("{name}\n"));
    }
    let script = "echo new > changed; rm gone; mv moved elsewhere; chmod 600 barred; rm -r deep\n\
                  mkdir made; echo x > made/x; chmod 700 made; echo more >> a.txt\n";
    world.put("build.sh", script);
    let before = crate::world::tree_hash(&world.workspace());
    for round in 0..2 {
        let answer = run(&world, &format!("sh build.sh; : {round}")).await;
        assert!(!said(&answer).contains("cannot take back"), "{answer}");
        assert_eq!(answer["metadata"]["undoable"], 11, "{answer}");
        world.text("undo", json!({})).await;
        assert_eq!(crate::world::tree_hash(&world.workspace()), before);
    }
}

#[tokio::test]
async fn what_undo_cannot_take_back_is_named() {
    let world = open().await;
    world.put("large.bin", "x".repeat(9 << 20));
    world.put("sneak.sh", "echo new > large.bin; echo y > made.txt\n");
    let answer = run(&world, "sh sneak.sh").await;
    assert!(said(&answer).contains("[undo cannot take back: large.bin]"), "{answer}");
    assert_eq!(answer["metadata"]["not_undoable"], json!(["large.bin"]));
    world.text("undo", json!({})).await;
    assert!(!world.workspace().join("made.txt").exists());
    assert_eq!(world.get("large.bin"), b"new\n");
    run(&world, "cat a.txt").await;
    let message = world.error("undo", json!({}), "failed").await;
    assert!(!message.is_empty(), "what only looks leaves nothing to undo");
}

#[tokio::test]
async fn in_a_large_workspace_undo_covers_what_is_named_and_says_so() {
    let world = open().await;
    for number in 0..20_050 {
        fs_err::write(world.workspace().join(format!("{number}")), "").unwrap();
    }
    world.put("sub/named.txt", "old\n");
    world.put("run.sh", ":\n");
    let answer = run(&world, "echo new > sub/named.txt; mkdir -p a/b; cp a.txt a/b").await;
    assert!(!said(&answer).contains("is large"), "what is told is enough: {answer}");
    assert_eq!(answer["metadata"]["undoable"], 4, "{answer}");
    world.text("undo", json!({})).await;
    assert_eq!(world.get("sub/named.txt"), b"old\n");
    assert!(!world.workspace().join("a").exists());
    let answer = run(&world, "sh run.sh > sub/named.txt").await;
    assert!(said(&answer).contains("the workspace is large"), "{answer}");
    assert_eq!(answer["metadata"]["undo_partial"], true);
    world.text("undo", json!({})).await;
    assert_eq!(world.get("sub/named.txt"), b"old\n");
}
