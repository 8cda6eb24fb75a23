//! `grep` through the pipeline.

use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use haft_runtime::CancellationToken;
use haft_runtime::permission::Reply;
use serde_json::json;

use crate::glob::put_aged;
use crate::world::World;

async fn world() -> World {
    let world = World::new().await;
    put_aged(
        &world,
        &[
            ("src/new.rs", "one\ntwo alpha\nthree\nfour\nfive Alpha\nsix\n"),
            ("old.py", "x = 'alpha'\r\ny = 2\r\n"),
        ],
    );
    fs_err::remove_file(world.workspace().join("a.txt")).unwrap();
    world
}

#[tokio::test]
async fn matches_are_grouped_by_file_newest_first_with_line_numbers() {
    let world = world().await;
    let answer = world.call("grep", json!({ "pattern": "alpha" })).await;
    assert_eq!(
        answer["output"],
        "src/new.rs\n2:two alpha\n\nold.py\n1:x = 'alpha'\n\n(2 matches in 2 files)"
    );
    let metadata = &answer["metadata"];
    assert_eq!((&metadata["matches"], &metadata["exact"]), (&json!(2), &json!(true)));
    assert_eq!(metadata["shown"][0]["lines"], json!([[2, 2]]));
}

#[tokio::test]
async fn every_parameter_does_what_it_says() {
    let world = world().await;
    for (args, expected) in [
        (
            json!({ "pattern": "ALPHA", "ignore_case": true, "path": "src" }),
            "src/new.rs\n2:two alpha\n5:five Alpha\n\n(2 matches in 1 file)",
        ),
        (
            json!({ "pattern": "alpha", "include": "*.py" }),
            "old.py\n1:x = 'alpha'\n\n(1 match in 1 file)",
        ),
        (
            json!({ "pattern": "alpha", "glob": "!*.py", "output_mode": "files_with_matches" }),
            "src/new.rs\n\n(1 file)",
        ),
        (
            json!({ "pattern": "alpha", "type": "python", "output_mode": "count" }),
            "old.py:1\n\n(1 match in 1 file)",
        ),
        (json!({ "pattern": "t.o", "literal": true }), "No match in `.` (2 files searched)."),
        (json!({ "pattern": "'alpha'$" }), "old.py\n1:x = 'alpha'\n\n(1 match in 1 file)"),
        (
            json!({ "pattern": "two.*four", "multiline": true }),
            "src/new.rs\n2:two alpha\n3:three\n4:four\n\n(1 match in 1 file)",
        ),
        (
            json!({ "pattern": "alpha|Alpha", "path": "src/new.rs", "-C": 1 }),
            "src/new.rs\n1-one\n2:two alpha\n3-three\n4-four\n5:five Alpha\n6-six\n\n(2 matches in 1 file)",
        ),
        (
            json!({ "pattern": "six|one", "-A": 1, "-B": 0, "-n": true, "path": "src" }),
            "src/new.rs\n1:one\n2-two alpha\n--\n6:six\n\n(2 matches in 1 file)",
        ),
        (
            json!({ "pattern": "t", "path": "src", "before": 1, "limit": 1, "offset": 1 }),
            "src/new.rs\n3:three\n\n(matches 2 to 2 of 2, in 1 file; this is the end)",
        ),
        (json!({ "pattern": "", "path": "src", "limit": 1 }), ""),
    ] {
        if args["pattern"] == "" {
            world.error("grep", args, "invalid_params").await;
            continue;
        }
        assert_eq!(world.text("grep", args.clone()).await, expected, "{args}");
    }
    let message = world.error("grep", json!({ "pattern": "x", "type": "nosuch" }), "failed").await;
    assert!(message.contains("no file type `nosuch`"), "{message}");
    let text = world.text("grep", json!({ "pattern": "x", "include": "*.nosuch" })).await;
    assert!(text.starts_with("No file was searched"), "{text}");
}

#[tokio::test]
async fn paging_shows_every_match_once() {
    let world = World::new().await;
    for file in 0..40 {
        let lines: String = (0..17).map(|line| format!("hit {file} {line}\nother\n")).collect();
        world.put(&format!("d{}/f{file}", file % 7), lines);
    }
    let (mut seen, mut offset) = (Vec::new(), 0);
    loop {
        let args = json!({ "pattern": "hit", "limit": 50, "offset": offset });
        let text = world.text("grep", args).await;
        seen.extend(
            text.lines()
                .filter(|line| line.contains(":hit"))
                .map(|line| line.split_once(':').unwrap().1.to_owned()),
        );
        match text.split_once("continue with offset ") {
            Some((_, next)) => offset = next.split(')').next().unwrap().parse().unwrap(),
            None => break,
        }
    }
    assert_eq!(seen.len(), 680);
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 680, "none twice");
    let message = world.error("grep", json!({ "pattern": "hit", "offset": 680 }), "failed").await;
    assert_eq!(message, "there are 680 matches; offset 680 is past the last");
}

#[tokio::test]
async fn what_is_no_expression_is_explained_with_its_column() {
    let world = World::new().await;
    for (pattern, part) in [
        ("foo(bar", "unclosed group, at column 4"),
        ("a{2,1}", "at column 2"),
        (r"\p{Nonsense}", "at column 1"),
        ("(?=x)", "look-around"),
        ("a\nb", "set multiline"),
        (r"a\nb", "set multiline"),
        (r"\p{L}{5000}", "size limit"),
        ("x{1000000}", "simpler"),
    ] {
        let begin = Instant::now();
        let message = world.error("grep", json!({ "pattern": pattern }), "failed").await;
        assert!(message.contains(part) && !message.contains('\n'), "{pattern}: {message}");
        assert!(begin.elapsed() < Duration::from_secs(10), "{pattern}");
    }
    world.put("a.txt", "a".repeat(1_000_000) + "\n");
    for pattern in ["(a+)+$", "(?:a?){50}a{50}", "(a|a)*b"] {
        world.text("grep", json!({ "pattern": pattern })).await;
    }
    for pattern in ["--pre=canary", "-e", "-f/etc/passwd"] {
        let text =
            world.text("grep", json!({ "pattern": pattern, "include": "--no-ignore" })).await;
        assert!(text.starts_with("No file was searched"), "{text}");
    }
}

#[tokio::test]
async fn secrets_are_neither_opened_nor_counted_but_told_of_and_asked_for_by_name() {
    let world = World::new().await;
    for file in [".env", "sub/.env.local", "deploy/key.pem", "prod.env", ".env.example", "src/a.rs"]
    {
        world.put(file, "TOKEN=hunter2\n");
    }
    for mode in ["content", "files", "count"] {
        let answer = world.call("grep", json!({ "pattern": "hunter2", "output_mode": mode })).await;
        let text = answer["output"].as_str().unwrap();
        assert!(text.contains(".env.example") && text.contains("src/a.rs"), "{text}");
        assert!(
            !text.contains("key.pem") && !text.contains(".env.local") && !text.contains("prod.env"),
            "{text}"
        );
        assert!(text.contains("Not searched: 4 whose reading asks"), "{text}");
        assert_eq!(answer["metadata"]["not_searched"]["withheld"], 4);
        assert_eq!(answer["metadata"]["files"], 2);
    }
    // What is in them makes no difference to what is said.
    let found = world.text("grep", json!({ "pattern": "hunter2", "include": "*.env" })).await;
    let absent = world.text("grep", json!({ "pattern": "hunter3", "include": "*.env" })).await;
    assert_eq!(found, absent);
    world.put(".gitignore", ".env\n");
    let found = world.text("grep", json!({ "pattern": "hunter2", "include": ".env" })).await;
    let absent = world.text("grep", json!({ "pattern": "hunter3", "include": ".env" })).await;
    assert_eq!(found, absent);
    world.error("grep", json!({ "pattern": "hunter2", "path": ".env" }), "denied").await;
    assert_eq!(world.asked_effects()[0].value, ".env");
}

#[tokio::test]
async fn a_rule_that_asks_for_all_is_answered_once_for_the_folder_and_a_deny_holds_inside() {
    let rules = "[permission]\n\"*\" = \"ask\"\n[permission.read]\n\"*\" = \"ask\"\n\"hidden/*\" = \"deny\"\n\"*.pem\" = \"ask\"\n";
    let world = World::ruled(rules, Reply::Once).await;
    for file in ["a.rs", "hidden/b.rs", "c.pem"] {
        world.put(file, "needle\n");
    }
    let text = world.text("grep", json!({ "pattern": "needle" })).await;
    assert_eq!(
        text,
        "a.rs\n1:needle\n\nNot searched: 2 whose reading asks (give one as path to ask for it).\n\n(1 match in 1 file)"
    );
    assert_eq!(world.asked_effects().len(), 1);
}

#[tokio::test]
async fn links_lead_nowhere_and_outside_asks() {
    let world = World::ruled(haft_tools::DEFAULT_RULES, Reply::Reject { feedback: None }).await;
    let outside = world.workspace().parent().unwrap().join("outside");
    fs_err::create_dir(&outside).unwrap();
    fs_err::write(outside.join("secret"), "needle\n").unwrap();
    symlink(&outside, world.workspace().join("folder")).unwrap();
    symlink(outside.join("secret"), world.workspace().join("file")).unwrap();
    let text = world.text("grep", json!({ "pattern": "needle", "include_ignored": true })).await;
    assert_eq!(text, "No match in `.` (1 file searched).\n\nNot searched: 2 links.");
    let real = fs_err::canonicalize(outside.join("secret")).unwrap();
    world.error("grep", json!({ "pattern": "needle", "path": "file" }), "denied").await;
    let asked = world.asked_effects();
    assert_eq!(
        (asked[0].key.as_ref(), asked[0].value.as_str()),
        ("external_directory", real.to_str().unwrap())
    );
}

#[tokio::test]
async fn what_is_only_in_ignored_files_is_counted_and_said() {
    let world = World::new().await;
    world.put(".gitignore", "target\n*.log\n");
    world.put("target/deep/x.rs", "needle\nneedle\n");
    world.put("y.log", "needle\n");
    let answer = world.call("grep", json!({ "pattern": "needle" })).await;
    let text = answer["output"].as_str().unwrap();
    assert!(text.contains("But 2 ignored files would match: set include_ignored"), "{text}");
    assert!(text.ends_with("Not searched: 2 ignored."), "{text}");
    let text = world.text("grep", json!({ "pattern": "needle", "no_ignore": true })).await;
    assert!(text.ends_with("(3 matches in 2 files)"), "{text}");
    let text = world.text("grep", json!({ "pattern": "nothing" })).await;
    assert!(!text.contains("But"), "{text}");
    world.text("grep", json!({ "pattern": "needle", "path": "target" })).await;
}

#[tokio::test]
async fn every_kind_of_content_is_searched_or_told_of() {
    let world = World::new().await;
    let wide: Vec<u8> = [0xFF, 0xFE]
        .into_iter()
        .chain("erste\nneedle ü\n".encode_utf16().flat_map(u16::to_le_bytes))
        .collect();
    world.put("wide.txt", wide);
    world.put("bom.txt", "\u{feff}needle first\n");
    world.put("latin.txt", b"caf\xe9 needle\n");
    world.put("binary", b"needle\n\0\n");
    world.put("late", [b"needle\n".repeat(20_000), b"\0needle\n".to_vec()].concat());
    let pipe = world.workspace().join("pipe");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    let answer = world.call("grep", json!({ "pattern": "needle", "output_mode": "count" })).await;
    let mut lines: Vec<&str> = answer["output"].as_str().unwrap().lines().take(4).collect();
    lines.sort_unstable();
    assert_eq!(lines, ["bom.txt:1", "late:20000", "latin.txt:1", "wide.txt:1"]);
    let missed = &answer["metadata"]["not_searched"];
    assert_eq!((&missed["binary"], &missed["special"]), (&json!(2), &json!(1)));
    let text = world.text("grep", json!({ "pattern": "needle", "path": "wide.txt" })).await;
    assert!(text.contains("2:needle ü"), "{text}");
    let text = world.text("grep", json!({ "pattern": "needle", "path": "latin.txt" })).await;
    assert!(text.contains("1:caf\u{fffd} needle"), "{text}");
    let text = world.text("grep", json!({ "pattern": "^needle first" })).await;
    assert!(text.contains("bom.txt"), "{text}");
    let text = world.text("grep", json!({ "pattern": "needle", "path": "binary" })).await;
    assert!(text.contains("Not searched: 1 binary"), "{text}");
    assert!(
        world
            .error("grep", json!({ "pattern": "x", "path": "pipe" }), "failed")
            .await
            .contains("pipe")
    );
}

#[tokio::test]
async fn a_long_line_is_cut_around_the_match() {
    let world = World::new().await;
    world.put("a.txt", format!("{}needle{}\n", "ä".repeat(300_000), "ö".repeat(300_000)));
    world.put("b.txt", format!("needle{}\n", "x".repeat(1_000)));
    let text = world.text("grep", json!({ "pattern": "needle" })).await;
    let cut = format!("1:…{}needle{}…", "ä".repeat(100), "ö".repeat(294));
    assert!(text.lines().any(|line| line == cut), "{text}");
    let cut = format!("1:needle{}…", "x".repeat(394));
    assert!(text.lines().any(|line| line == cut), "{text}");
}

#[tokio::test]
async fn kept_outputs_are_searched_by_their_path_without_asking() {
    let world = World::new().await;
    world.put(
        "long.txt",
        (0..5_000).map(|n| format!("{n} {}\n", "word ".repeat(20))).collect::<String>(),
    );
    let answer = world.call("grep", json!({ "pattern": "word", "limit": 2000 })).await;
    assert!(answer["output"].as_str().unwrap().len() <= 50 * 1024);
    let todos: Vec<_> = (0..100)
        .map(|n| json!({ "content": format!("{n} {}", "x".repeat(1_900)), "status": "pending" }))
        .collect();
    let kept = world.call("todowrite", json!({ "todos": todos })).await;
    let path = kept["metadata"]["output_path"].as_str().unwrap();
    let text = world.text("grep", json!({ "pattern": "99 x", "path": path })).await;
    assert!(text.contains("99 xxx"), "{text}");
    assert!(world.asked_effects().is_empty());
}

#[tokio::test]
async fn a_million_matches_are_answered_within_bounds_and_the_total_is_marked_or_exact() {
    let world = World::new().await;
    for file in 0..10 {
        world.put(&format!("many/{file}"), "common words\n".repeat(100_000));
    }
    let answer = world.call("grep", json!({ "pattern": "common" })).await;
    let text = answer["output"].as_str().unwrap();
    assert!(
        text.len() < 10_000
            && text.contains("(matches 1 to 100 of more than 100; continue with offset 100)"),
        "{text}"
    );
    assert_eq!(answer["metadata"]["exact"], false);
    let text = world.text("grep", json!({ "pattern": "common", "output_mode": "count" })).await;
    assert!(text.ends_with("(1000000 matches in 10 files)"), "{text}");
    let text =
        world.text("grep", json!({ "pattern": "common", "limit": 1, "offset": 999_999 })).await;
    assert!(text.contains("100000:common words"), "{text}");
}

#[tokio::test]
async fn a_cancelled_search_of_a_huge_file_ends_at_once() {
    let world = World::new().await;
    world.put("huge", "x\n".repeat(100_000));
    for number in 0..200 {
        fs_err::hard_link(
            world.workspace().join("huge"),
            world.workspace().join(format!("{number}")),
        )
        .unwrap();
    }
    let cancel = CancellationToken::new();
    let call =
        world.prepare("grep", json!({ "pattern": "(x|y)+[^x]z?\\b", "output_mode": "count" }));
    let running = world.toolset.execute(call, cancel.clone());
    let stop = async {
        tokio::task::yield_now().await;
        cancel.cancel();
        Instant::now()
    };
    let (settled, cancelled) = tokio::join!(running, stop);
    // A tenth of a second, and some more for a machine that is busy with other tests.
    assert!(cancelled.elapsed() < Duration::from_millis(400), "{:?}", cancelled.elapsed());
    assert_eq!(settled.to_json()["error"]["kind"], "cancelled");
}

#[tokio::test]
async fn a_line_of_a_gigabyte_is_told_of_and_not_held() {
    let world = World::new().await;
    let path = world.workspace().join("line");
    fs_err::write(&path, "x".repeat(40 * 1024 * 1024)).unwrap();
    let answer = world.call("grep", json!({ "pattern": "needle" })).await;
    assert_eq!(answer["metadata"]["not_searched"]["too_large"], 1, "{answer}");
    fs_err::File::options().write(true).open(&path).unwrap().set_len(1 << 30).unwrap();
    let answer = world.call("grep", json!({ "pattern": "needle", "multiline": true })).await;
    assert_eq!(answer["metadata"]["not_searched"]["too_large"], 1, "{answer}");
}

#[tokio::test]
async fn what_cannot_be_read_is_counted_and_does_not_stop_the_rest() {
    if rustix::process::geteuid().is_root() {
        eprintln!("SKIP what_cannot_be_read_is_counted: root can read everything");
        return;
    }
    use std::os::unix::fs::PermissionsExt;
    let world = World::new().await;
    world.put("shut/x", "needle\n");
    world.put("closed", "needle\n");
    world.put("open", "needle\n");
    let mode = |path: &str, mode| {
        fs_err::set_permissions(
            world.workspace().join(path),
            std::fs::Permissions::from_mode(mode),
        )
        .unwrap();
    };
    mode("shut", 0o000);
    mode("closed", 0o000);
    let text = world.text("grep", json!({ "pattern": "needle" })).await;
    mode("shut", 0o700);
    assert_eq!(
        text,
        "open\n1:needle\n\nNot searched: 1 unreadable, 1 unreadable folders.\n\n(1 match in 1 file)"
    );
}

#[tokio::test]
async fn lines_that_a_search_has_shown_count_as_seen() {
    let world = World::ruled(crate::write::ALLOW_ALL, Reply::Unattended).await;
    world.put("one", "alpha\nbeta\n");
    world.put("two", "alpha\nbeta\n");
    world.text("grep", json!({ "pattern": "alpha", "path": "one", "context": 5 })).await;
    world.text("write", json!({ "file_path": "one", "content": "new\n" })).await;
    world.text("grep", json!({ "pattern": "alpha", "path": "two" })).await;
    let write = json!({ "file_path": "two", "content": "new\n" });
    let said = world.error("write", write, "failed").await;
    assert!(said.contains("only lines 1 to 1 of 2 of two were shown"), "{said}");
}

#[tokio::test]
async fn the_same_search_gives_the_same_bytes_a_hundred_times() {
    let world = World::ruled(crate::write::ALLOW_ALL, Reply::Unattended).await;
    for number in 0..300 {
        let text = format!("line\nneedle {number}\n{}\n", "needle ".repeat(number % 7));
        world.put(&format!("d{}/f{number}.txt", number % 13), text);
    }
    for args in [
        json!({ "pattern": "needle", "context": 1 }),
        json!({ "pattern": "needle", "output_mode": "files", "offset": 50 }),
        json!({ "pattern": "needle", "output_mode": "count", "limit": 500 }),
    ] {
        let first = world.call("grep", args.clone()).await;
        for _ in 0..100 {
            assert_eq!(world.call("grep", args.clone()).await, first);
        }
    }
}

#[tokio::test]
async fn what_the_repository_leaves_out_for_one_clone_is_left_out() {
    let world = World::new().await;
    world.put(".git/HEAD", "ref: refs/heads/main\n");
    world.put(".git/info/exclude", "private*\n");
    world.put("private.txt", "needle\n");
    world.put("public.txt", "needle\n");
    let text = world.text("grep", json!({ "pattern": "needle", "output_mode": "files" })).await;
    assert!(text.contains("public.txt") && !text.contains("private.txt"), "{text}");
}
