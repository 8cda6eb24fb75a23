//! `glob` through the pipeline.

use std::os::unix::fs::symlink;
use std::time::{Duration, SystemTime};

use haft_runtime::CancellationToken;
use haft_runtime::permission::Reply;
use serde_json::json;

use crate::world::World;

/// Puts files whose ages are in the order given, the newest first.
pub(crate) fn put_aged(world: &World, files: &[(&str, &str)]) {
    for (age, (path, content)) in (1..).zip(files) {
        world.put(path, content);
        let file = fs_err::File::options().write(true).open(world.workspace().join(path)).unwrap();
        let then = SystemTime::UNIX_EPOCH + Duration::from_secs(2_000_000_000 - age);
        file.set_modified(then).unwrap();
    }
}

#[tokio::test]
async fn the_newest_come_first_and_the_total_is_told_before_the_cut() {
    let world = World::new().await;
    put_aged(&world, &[("z.rs", ""), ("deep/er/a.rs", ""), (".github/b.rs", ""), ("c.rs", "")]);
    let text = world.text("glob", json!({ "pattern": "*.rs" })).await;
    assert_eq!(text, "z.rs\ndeep/er/a.rs\n.github/b.rs\nc.rs\n\n(4 files)");
    let answer = world.call("glob", json!({ "pattern": "*.rs", "limit": 2 })).await;
    assert_eq!(
        answer["output"],
        "z.rs\ndeep/er/a.rs\n\n(files 1 to 2 of 4; continue with offset 2)"
    );
    assert_eq!(answer["metadata"]["files"], 4);
    let text = world.text("glob", json!({ "pattern": "*.rs", "head_limit": 2, "offset": 2 })).await;
    assert_eq!(text, ".github/b.rs\nc.rs\n\n(4 files)");
    let text = world.text("glob", json!({ "pattern": "*.rs", "offset": 9 })).await;
    assert_eq!(text, "(4 files; offset 9 is past the last)");
}

#[tokio::test]
async fn patterns_of_every_kind_are_understood() {
    let world = World::new().await;
    put_aged(&world, &[("src/a.ts", ""), ("src/b.tsx", ""), ("src/x/c.ts", ""), ("d.ts", "")]);
    let root = world.workspace().canonicalize().unwrap();
    for (pattern, path, expected) in [
        ("src/*.{ts,tsx}", ".", "src/a.ts src/b.tsx"),
        ("**/*.ts", ".", "src/a.ts src/x/c.ts d.ts"),
        ("./d.ts", ".", "d.ts"),
        ("./c.ts", "src/x", "src/x/c.ts"),
        ("x/*", "src", "src/x/c.ts"),
        ("../*.ts", "src", "d.ts"),
        (root.join("src/*.ts").to_str().unwrap(), ".", "src/a.ts"),
        ("src/", ".", "src/a.ts src/b.tsx src/x/c.ts"),
        ("[cd].ts", ".", "src/x/c.ts d.ts"),
    ] {
        let text = world.text("glob", json!({ "pattern": pattern, "path": path })).await;
        let names = text.rsplit_once("\n\n(").unwrap().0.replace('\n', " ");
        assert_eq!(names, expected, "{pattern}");
    }
    let message = world.error("glob", json!({ "pattern": "a[" }), "failed").await;
    assert!(message.contains("a[") && message.contains("unclosed"), "{message}");
    assert!(
        world
            .error("glob", json!({ "pattern": "x", "path": "a.txt" }), "failed")
            .await
            .contains("is a file")
    );
}

#[tokio::test]
async fn ignored_files_are_left_out_and_told_of_and_git_is_never_shown() {
    let world = World::new().await;
    for file in [".git/x.rs", "target/y.rs", "src/a.rs", "out.log", "src/.haftignore", "src/gen.rs"]
    {
        world.put(file, "");
    }
    world.put(".gitignore", "target\n*.log\n");
    world.put("src/.haftignore", "gen.rs\n");
    let answer = world.call("glob", json!({ "pattern": "*.rs" })).await;
    assert_eq!(answer["output"], "src/a.rs\n\nNot searched: 3 ignored.\n\n(1 file)");
    assert_eq!(answer["metadata"]["not_searched"]["ignored"], 3);
    let text = world.text("glob", json!({ "pattern": "*.log" })).await;
    assert!(
        text.starts_with(
            "No file in `.` matches `*.log`. But 1 ignored file matches, such as out.log."
        ),
        "{text}"
    );
    let text = world.text("glob", json!({ "pattern": ".git/*" })).await;
    assert!(text.starts_with("No file") && !text.contains("x.rs"), "{text}");
}

#[tokio::test]
async fn links_are_not_followed_and_outside_is_asked_for_by_its_real_name() {
    let world = World::ruled(haft_tools::DEFAULT_RULES, Reply::Reject { feedback: None }).await;
    let outside = world.workspace().parent().unwrap().join("outside");
    fs_err::create_dir(&outside).unwrap();
    fs_err::write(outside.join("secret.rs"), "").unwrap();
    symlink(&outside, world.workspace().join("link")).unwrap();
    symlink(".", world.workspace().join("loop")).unwrap();
    let answer = world.call("glob", json!({ "pattern": "**/*" })).await;
    assert_eq!(answer["output"], "a.txt\n\nNot searched: 2 links.\n\n(1 file)");
    let real = fs_err::canonicalize(&outside).unwrap();
    let above = world.workspace().parent().unwrap().canonicalize().unwrap();
    for (args, asked) in [
        (json!({ "pattern": "*", "path": "link" }), &real),
        (json!({ "pattern": "link/*", "path": "." }), &above),
        (json!({ "pattern": "../**" }), &above),
        (json!({ "pattern": format!("{}/*", above.display()) }), &above),
    ] {
        world.host.asked.lock().unwrap().clear();
        if args["pattern"] == "link/*" {
            // A link within a pattern is no folder of the tree.
            let text = world.text("glob", args).await;
            assert!(text.starts_with("No file"), "{text}");
            continue;
        }
        world.error("glob", args, "denied").await;
        let effect = &world.asked_effects()[0];
        assert_eq!(
            (effect.key.as_ref(), effect.value.as_str()),
            ("external_directory", asked.to_str().unwrap())
        );
    }
}

#[tokio::test]
async fn odd_names_are_shown_so_that_they_can_be_written_back() {
    use std::os::unix::ffi::OsStrExt;
    let world = World::new().await;
    let odd = std::ffi::OsStr::from_bytes(b"o\xff\n.rs");
    fs_err::write(world.workspace().join(odd), "found\n").unwrap();
    let text = world.text("glob", json!({ "pattern": "*.rs" })).await;
    assert_eq!(text.lines().count(), 3, "{text}");
    let url = text.split('(').nth(1).unwrap().split(')').next().unwrap();
    assert!(world.text("read", json!({ "file_path": url })).await.contains("found"));
}

#[tokio::test]
async fn a_cancelled_glob_says_so() {
    let world = World::new().await;
    let cancel = CancellationToken::new();
    cancel.cancel();
    let call = world.prepare("glob", json!({ "pattern": "*" }));
    let settled = world.toolset.execute(call, cancel).await.to_json();
    assert_eq!(settled["error"]["kind"], "cancelled");
}
