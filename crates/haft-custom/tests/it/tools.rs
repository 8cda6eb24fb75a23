//! Tools that are programs: found, checked, asked for, confined, ended; one broken file harms no other.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use haft_custom::{Broken, CustomTool, Origin, Seal, find_tools, tree};
use haft_runtime::permission::Reply;
use haft_runtime::{CancellationToken, Delivery, EventKind};
use serde_json::{Value, json};

use crate::world::{ALLOW, Ground, World};

/// A manifest with these lines, and `run` as its program.
fn manifest(lines: &str) -> String {
    format!("description = \"Does something.\"\ncommand = [\"./run\"]\n{lines}\n")
}

/// A world with the tools of `workspace/.haft/tools`, as if they were trusted.
async fn world(ground: Ground, rules: &str, reply: Reply) -> (World, Vec<Broken>) {
    from(ground, "workspace/.haft/tools", Origin::Project, rules, reply).await
}

async fn from(
    ground: Ground,
    folder: &str,
    origin: Origin,
    rules: &str,
    reply: Reply,
) -> (World, Vec<Broken>) {
    let folder = ground.path(folder);
    let hash = tree::hash(&folder).unwrap_or_default();
    let seal = (origin == Origin::Project).then(|| Arc::new(Seal { folder: folder.clone(), hash }));
    let (mut broken, mut tools) = (Vec::new(), Vec::new());
    let mut world = World::new(ground, rules, reply, |builder, programs, _| {
        let found = find_tools(&folder, origin, &programs);
        broken = found.broken;
        let make = |manifest| CustomTool::new(manifest, seal.clone(), programs.clone());
        tools.extend(found.manifests.into_iter().map(make));
        builder
    })
    .await;
    for tool in tools {
        let path = PathBuf::from(haft_runtime::DynTool::id(&tool));
        if let Err(error) = world.runtime.add_tool(Arc::new(tool)) {
            broken.push(Broken { path, reason: error.to_string() });
        }
    }
    world.refresh().await;
    (world, broken)
}

/// A world with one tool `mine` whose program is this shell script.
async fn scripted(lines: &str, script: &str) -> World {
    let ground = Ground::new();
    ground.put("workspace/.haft/tools/mine.toml", manifest(lines));
    ground.program("workspace/.haft/tools/run", &format!("#!/bin/sh\n{script}\n"));
    let (world, broken) = world(ground, ALLOW, Reply::Unattended).await;
    assert_eq!(broken, []);
    world
}

const SAY: &str = r#"echo '{"type":"result","output":"hello"}'"#;

#[tokio::test]
async fn a_tool_gets_its_arguments_as_json_and_answers_in_lines() {
    let script = r#"read -r line; echo '{"type":"progress","title":"half","metadata":{"n":1}}'
printf '{"type":"result","title":"t","output":"got %s from %s","metadata":{"a":1}}\n' "$(echo "$line" | tr -d '"')" "$HAFT_TOOL""#;
    let lines = "[parameters.properties.city]\ntype = \"string\"\ndescription = \"Where.\"\n";
    let world = scripted(lines, script).await;
    let mut events = world.runtime.events(Some(world.session.clone()));
    let answer = world.call("mine", json!({ "city": "Ulm" })).await;
    assert_eq!(answer["output"], "got {city:Ulm} from mine", "{answer}");
    assert_eq!(answer["title"], "t");
    assert_eq!(answer["metadata"]["a"], 1);
    let progress = std::iter::from_fn(|| events.try_next()).any(|delivery| match delivery {
        Delivery::Event(event) => {
            matches!(&*event.kind, EventKind::CallProgress { title, .. } if title == "half")
        }
        Delivery::Missed(_) => false,
    });
    assert!(progress);
    world.error("mine", json!({ "city": 3 }), "invalid_params").await;
    world.error("mine", json!({ "town": "Ulm" }), "invalid_params").await;
}

#[tokio::test]
async fn the_examples_work_as_they_are() {
    let ground = Ground::new();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/tools");
    for entry in fs_err::read_dir(&examples).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        let content = fs_err::read(entry.path()).unwrap();
        let to = ground.put(&format!("workspace/.haft/tools/{name}"), content);
        fs_err::set_permissions(to, entry.metadata().unwrap().permissions()).unwrap();
    }
    // Cargo builds the examples of a package with its tests, beside them.
    let tests = std::env::current_exe().unwrap();
    let built = tests.parent().unwrap().parent().unwrap().join("examples/line_count");
    if !built.exists() {
        let build = ["build", "--quiet", "--package", "haft-custom", "--example", "line_count"];
        assert!(std::process::Command::new(env!("CARGO")).args(build).status().unwrap().success());
    }
    fs_err::copy(built, ground.path("workspace/.haft/tools/line_count")).unwrap();
    ground.put("workspace/words.txt", "the cat and the dog\nand the bird\n");
    let (world, broken) = world(ground, ALLOW, Reply::Unattended).await;
    assert_eq!(broken, []);
    let words = json!({ "file": "words.txt" });
    assert_eq!(world.text("line_count", words.clone()).await, "2 lines");
    let mut limited = words.clone();
    limited["limit"] = json!(2);
    assert_eq!(world.text("word_count", limited).await, "3 the\n2 and");
    assert!(world.text("free_space", json!({})).await.ends_with("KiB are free"));
    for tool in ["line_count", "word_count"] {
        let message = world.error(tool, json!({ "file": "none.txt" }), "failed").await;
        assert!(message.contains("none.txt"), "{tool}: {message}");
    }
}

#[tokio::test]
async fn a_tool_asks_under_its_own_name_and_a_rule_can_hide_it() {
    let ground = || {
        let ground = Ground::new();
        ground.put("workspace/.haft/tools/mine.toml", manifest(""));
        ground.put("workspace/.haft/tools/keyed.toml", manifest("permission = \"deploy\""));
        ground.put("workspace/.haft/tools/far.toml", manifest("hosts = [\"api.example.org\"]"));
        ground.program("workspace/.haft/tools/run", &format!("#!/bin/sh\ntouch ran\n{SAY}\n"));
        ground
    };
    let asking = haft_tools::DEFAULT_RULES;
    let (world_, _) = world(ground(), asking, Reply::Unattended).await;
    let message = world_.error("mine", json!({}), "denied").await;
    assert!(message.contains("[permission.mine]"), "{message}");
    assert!(!world_.ground.path("workspace/ran").exists(), "denied means untouched");
    let (agreed, _) = world(ground(), asking, Reply::Once).await;
    for tool in ["mine", "keyed", "far"] {
        assert_eq!(agreed.text(tool, json!({})).await, "hello");
    }
    let asked = agreed.host.asked.lock().unwrap().clone();
    let keys: Vec<Vec<_>> = asked
        .iter()
        .map(|ask| ask.ask.effects.iter().map(|it| format!("{} {}", it.key, it.value)).collect())
        .collect();
    assert_eq!(keys[0], ["mine *"]);
    assert_eq!(keys[1], ["deploy keyed"]);
    assert_eq!(keys[2], ["far *", "webfetch https://api.example.org"]);
    let denying = format!("{ALLOW}deploy = \"deny\"\n");
    let (hidden, _) = world(ground(), &denying, Reply::Once).await;
    assert!(!hidden.toolset.names().contains(&"keyed".to_owned()));
    hidden.error("keyed", json!({}), "denied").await;
}

#[tokio::test]
async fn what_a_program_gets_wrong_is_said_and_bounded() {
    let cases = [
        ("echo hello", "line 1 is not what a tool says"),
        ("true", "without a line of type `result`"),
        (
            r#"echo '{"type":"result","output":"a"}'; echo '{"type":"result","output":"b"}'"#,
            "line 2 comes after",
        ),
        (r#"echo '{"type":"result"}'"#, "missing field"),
        (r#"echo '{"type":"riddle"}'"#, "unknown variant"),
        ("echo oh dear >&2; exit 3", "code 3:\noh dear"),
        (r#"echo '{"type":"error","message":"no such city"}'; exit 1"#, "no such city"),
        (r#"echo '{"type":"error","message":"no such town"}'"#, "no such town"),
        ("kill -9 $$", "signal 9"),
        ("head -c 1000000 /dev/zero | tr '\\0' y >&2; exit 1", "code 1"),
        ("head -c 20000000 /dev/zero | tr '\\0' x", "more than 16 MiB"),
    ];
    for (script, words) in cases {
        let world = scripted("", script).await;
        let message = world.error("mine", json!({}), "failed").await;
        assert!(message.contains(words), "{script}: {message}");
        assert!(message.len() < 9_000, "{}", message.len());
    }
}

#[tokio::test]
async fn a_long_answer_is_bounded_like_any_other() {
    let script =
        r#"printf '{"type":"result","output":"'; head -c 300000 /dev/zero | tr '\0' x; echo '"}'"#;
    let world = scripted("", script).await;
    let answer = world.call("mine", json!({})).await;
    assert!(answer["output"].as_str().unwrap().len() < 60_000);
}

#[tokio::test]
async fn time_and_cancellation_end_a_tool_with_all_it_started() {
    let world = scripted("timeout = 1", "(setsid sleep 7272 &)\nsleep 7272").await;
    world.error("mine", json!({}), "timed_out").await;
    let world = scripted("", "touch started; (setsid sleep 7272 &)\nsleep 7272").await;
    let cancel = CancellationToken::new();
    let begin = Instant::now();
    let stop = async {
        while !world.ground.path("workspace/started").exists() {
            tokio::task::yield_now().await;
        }
        cancel.cancel();
    };
    let (answer, ()) = tokio::join!(world.call_until("mine", json!({}), cancel.clone()), stop);
    assert_eq!(answer["error"]["kind"], "cancelled", "{answer}");
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
    let is_sleeper = |entry: fs_err::DirEntry| {
        fs_err::read(entry.path().join("cmdline")).unwrap_or_default() == b"sleep\x007272\x00"
    };
    // Whoever does not heed the first signal has a moment.
    while fs_err::read_dir("/proc").unwrap().flatten().any(is_sleeper) {
        assert!(begin.elapsed() < Duration::from_secs(5), "a sleeper outlived its tool");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_tool_is_confined_and_one_that_only_reads_is_held_to_it() {
    let outside =
        "echo x > /etc/haft-was-here && echo '{\"type\":\"error\",\"message\":\"wrote\"}'\n";
    let script = format!(
        "{outside}echo x > .haft/mine 2>/dev/null && echo own >> wrote\necho x > inside\n[ -z \"$API_TOKEN\" ] && {SAY}"
    );
    let world = scripted("", &script).await;
    assert_eq!(world.text("mine", json!({})).await, "hello");
    assert!(world.ground.path("workspace/inside").exists());
    assert!(!world.ground.path("workspace/wrote").exists(), "its own folder is not its to change");
    let reading =
        scripted("[traits]\nread_only = true", &format!("touch inside 2>/dev/null\n{SAY}")).await;
    assert_eq!(reading.text("mine", json!({})).await, "hello");
    assert!(!reading.ground.path("workspace/inside").exists());
}

#[tokio::test]
async fn a_tool_that_was_changed_after_it_was_trusted_does_not_run() {
    type Change = fn(&Ground);
    let changes: [Change; 4] = [
        |ground| drop(ground.program("workspace/.haft/tools/run", "#!/bin/sh\ntouch evil\n")),
        |ground| drop(ground.put("workspace/.haft/tools/lib.sh", "touch evil")),
        |ground| {
            fs_err::remove_file(ground.path("workspace/.haft/tools/run")).unwrap();
            fs_err::os::unix::fs::symlink("/bin/true", ground.path("workspace/.haft/tools/run"))
                .unwrap();
        },
        |ground| drop(ground.put("workspace/.haft/tools/mine.toml", manifest("timeout = 9"))),
    ];
    for change in changes {
        let world = scripted("", SAY).await;
        assert_eq!(world.text("mine", json!({})).await, "hello");
        change(&world.ground);
        let message = world.error("mine", json!({}), "failed").await;
        assert!(message.contains("was changed since it was trusted"), "{message}");
        assert!(!world.ground.path("workspace/evil").exists());
    }
}

#[tokio::test]
async fn a_broken_file_is_reported_and_harms_no_other() {
    let ground = Ground::new();
    let folder = "workspace/.haft/tools";
    ground.program(&format!("{folder}/run"), &format!("#!/bin/sh\n{SAY}\n"));
    ground.put(&format!("{folder}/good.toml"), manifest(""));
    let deep = format!("x = {}{}", "[".repeat(5_000), "]".repeat(5_000));
    let nested = "properties = {a = {".repeat(100) + &"}}".repeat(100);
    for (name, content, _) in [
        ("syntax", "description = ".to_owned(), ""),
        ("empty", String::new(), ""),
        ("unknown", manifest("colour = \"red\""), ""),
        ("nothing", "description = \"x\"\ncommand = []\n".to_owned(), ""),
        ("gone", "description = \"x\"\ncommand = [\"./gone\"]\n".to_owned(), ""),
        ("nowhere", "description = \"x\"\ncommand = [\"no-such-program\"]\n".to_owned(), ""),
        ("above", "description = \"x\"\ncommand = [\"../../run\"]\n".to_owned(), ""),
        ("root", "description = \"x\"\ncommand = [\"/bin/sh\"]\n".to_owned(), ""),
        ("forever", manifest("timeout = 100000"), ""),
        ("shape", manifest("[parameters]\ntype = \"array\""), ""),
        ("huge", "#".repeat(100_000), ""),
        ("deep", manifest(&deep), ""),
        ("nested", manifest(&format!("[parameters]\n{nested}")), ""),
        ("host", manifest("hosts = [\"a b\"]"), ""),
        ("Upper", manifest(""), ""),
        ("read", manifest(""), ""),
        ("apply-patch", manifest(""), ""),
    ] {
        ground.put(&format!("{folder}/{name}.toml"), content);
    }
    for (name, line) in [
        ("relative", "#!run"),
        ("dotted", "#!./run"),
        ("within", "#!/usr/bin/env ./run"),
        ("split", "#!/usr/bin/env -S PATH=. ./run"),
    ] {
        ground.program(&format!("{folder}/{name}.sh"), &format!("{line}\n"));
        let content = format!("description = \"x\"\ncommand = [\"./{name}.sh\"]\n");
        ground.put(&format!("{folder}/{name}.toml"), content);
    }
    fs_err::os::unix::fs::symlink("good.toml", ground.path(&format!("{folder}/link.toml")))
        .unwrap();
    fs_err::os::unix::fs::symlink("/bin/sh", ground.path(&format!("{folder}/sh"))).unwrap();
    ground.put(&format!("{folder}/linked.toml"), "description = \"x\"\ncommand = [\"./sh\"]\n");
    let pipe = ground.path(&format!("{folder}/pipe.toml"));
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    let begin = Instant::now();
    // As the user's: a project's folder with links in it is not trusted at all.
    let (world, broken) = from(ground, folder, Origin::Project, ALLOW, Reply::Unattended).await;
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
    let mut names: Vec<_> = broken
        .iter()
        .map(|one| one.path.file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    names.sort();
    let expected = [
        "Upper",
        "above",
        "apply-patch",
        "deep",
        "dotted",
        "empty",
        "forever",
        "gone",
        "host",
        "huge",
        "link",
        "linked",
        "nested",
        "nothing",
        "nowhere",
        "pipe",
        "read",
        "relative",
        "root",
        "shape",
        "split",
        "syntax",
        "unknown",
        "within",
    ];
    assert_eq!(names, expected);
    let gone = broken.iter().find(|one| one.path.ends_with("gone.toml")).unwrap();
    assert_eq!(gone.reason, "its program `./gone` is not there");
    assert!(broken.iter().all(|one| one.reason.len() < 6_000), "{broken:?}");
    let own: Vec<_> = world.toolset.names();
    assert!(own.contains(&"good".to_owned()) && !own.contains(&"link".to_owned()), "{own:?}");
}

#[tokio::test]
async fn a_users_own_tools_may_be_links_and_need_no_seal() {
    let ground = Ground::new();
    ground.put("dotfiles/mine.toml", manifest(""));
    ground.program("dotfiles/run", &format!("#!/bin/sh\n{SAY}\n"));
    fs_err::create_dir_all(ground.path("config/tools")).unwrap();
    for name in ["mine.toml", "run"] {
        let target = ground.path("dotfiles").join(name);
        fs_err::os::unix::fs::symlink(target, ground.path("config/tools").join(name)).unwrap();
    }
    let (world, broken) =
        from(ground, "config/tools", Origin::User, ALLOW, Reply::Unattended).await;
    assert_eq!(broken, []);
    assert_eq!(world.text("mine", json!({})).await, "hello");
}

#[tokio::test]
async fn a_program_of_the_workspace_does_not_pass_for_one_of_the_path() {
    let ground = Ground::new();
    let bin = ground.path("workspace/bin");
    ground.program("workspace/bin/sh", "#!/bin/sh\ntouch evil\n");
    ground.put(
        "workspace/.haft/tools/mine.toml",
        "description = \"x\"\ncommand = [\"sh\", \"./say.sh\"]\n",
    );
    ground.put(
        "workspace/.haft/tools/say.sh",
        "sh -c true\necho '{\"type\":\"result\",\"output\":\"hello\"}'\n",
    );
    let path = format!("{}:.:bin:/usr/bin:/bin", bin.display());
    let ground = ground.with_path(&path);
    let (world, broken) = world(ground, ALLOW, Reply::Unattended).await;
    assert_eq!(broken, []);
    assert_eq!(world.text("mine", json!({})).await, "hello");
    assert!(!world.ground.path("workspace/evil").exists());
}

#[tokio::test]
async fn hashes_differ_with_every_byte_name_and_mode_and_refuse_what_can_change_behind_them() {
    let ground = Ground::new();
    ground.put("t/a", "1");
    ground.put("t/b/c", "2");
    let first = tree::hash(&ground.path("t")).unwrap();
    assert_eq!(tree::hash(&ground.path("t")).unwrap(), first);
    ground.program("t/a", "1");
    let second = tree::hash(&ground.path("t")).unwrap();
    ground.put("t/b/c", "3");
    let third = tree::hash(&ground.path("t")).unwrap();
    fs_err::rename(ground.path("t/b/c"), ground.path("t/b/d")).unwrap();
    let fourth = tree::hash(&ground.path("t")).unwrap();
    let mut all = vec![first, second, third, fourth];
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 4);
    fs_err::os::unix::fs::symlink("a", ground.path("t/link")).unwrap();
    assert!(tree::hash(&ground.path("t")).is_err());
}

#[tokio::test]
async fn a_custom_tool_works_in_a_batch() {
    let world = scripted("", SAY).await;
    let calls: Value =
        json!({ "calls": [{ "tool": "mine", "args": {} }, { "tool": "todoread", "args": {} }] });
    assert!(world.text("batch", calls).await.contains("hello"));
}
