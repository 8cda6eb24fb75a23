//! A repository's own haft.toml: it restricts as it likes, and widens only once it is trusted.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::world::{World, todos};

/// What the user would be asked, the project allows.
fn widening() -> World {
    let world = World::new();
    world.user_config("[permission]\ntodowrite = \"ask\"\n");
    world.project_config("[permission]\ntodowrite = \"allow\"\n");
    world
}

#[test]
fn an_allow_of_the_project_is_inert_and_warned_about_until_it_is_trusted() {
    let world = widening();
    let ran = world.call("todowrite", &todos(&["x"]), &[]).coded(3);
    assert!(ran.stderr.contains("is not trusted"), "{}", ran.stderr);
    assert!(ran.stderr.contains("`todowrite * = allow`"), "{}", ran.stderr);
    assert!(ran.stderr.contains("haft.toml:2"), "{}", ran.stderr);
    assert!(ran.stderr.contains("haft trust give"), "{}", ran.stderr);
    let shown = world.haft(&["trust", "--json"]).run().done().json();
    assert_eq!(shown[0]["trusted"], false);

    let given = world.haft(&["trust", "give", "--json"]).run().done().json();
    assert_eq!(given[0]["trusted"], true);
    let ran = world.call("todowrite", &todos(&["x"]), &[]).done();
    assert_eq!(ran.stderr, "");
    assert_eq!(world.haft(&["trust", "--json"]).run().done().json()[0]["trusted"], true);
}

#[test]
fn giving_trust_tells_what_it_was_given_to() {
    let world = widening();
    world.put("work/.haft/tools/bad.toml", "description = \"x\"\n[[[x\n");
    let told = world.haft(&["trust", "give"]).run().done().stdout;
    assert!(told.contains("haft.toml is trusted as it is now; a change asks again\n  `todowrite"));
    let bad = "\n  the tool `bad`, which cannot be read: TOML parse error at line 2, column 3\n";
    assert!(told.contains(bad), "{told}");
    let help = world.haft(&["trust", "--help"]).run().done().stdout;
    for word in ["hooks", "tools", "skills", "agents"] {
        assert!(help.contains(word), "{word}: {help}");
    }
    // What somebody else wrote has its lines, and none that could be one of ours.
    for command in ["tools", "doctor"] {
        let told = world.haft(&[command]).run().done().stdout;
        assert!(told.contains("\n    2 | [[[x\n") && !told.contains("\\n"), "{told}");
    }
}

#[test]
fn a_changed_file_asks_again_and_the_trusted_content_is_still_trusted() {
    let world = widening();
    world.haft(&["trust", "give"]).run().done();
    world.project_config("[permission]\ntodowrite = \"allow\"\nbash = \"allow\"\n");
    let ran = world.call("todowrite", &todos(&["x"]), &[]).coded(3);
    assert!(ran.stderr.contains("is not trusted"), "{}", ran.stderr);
    world.project_config("[permission]\ntodowrite = \"allow\"\n");
    world.call("todowrite", &todos(&["x"]), &[]).done();
}

#[test]
fn trust_can_be_withdrawn() {
    let world = widening();
    world.haft(&["trust", "give"]).run().done();
    world.call("todowrite", &todos(&["x"]), &[]).done();
    world.haft(&["trust", "withdraw"]).run().done();
    world.call("todowrite", &todos(&["x"]), &[]).coded(3);
}

#[test]
fn trust_in_one_folder_is_no_trust_in_another() {
    let world = widening();
    world.haft(&["trust", "give"]).run().done();
    let copy = world.put("other/haft.toml", "[permission]\ntodowrite = \"allow\"\n");
    let dir = copy.trim_end_matches("/haft.toml");
    world.call("todowrite", &todos(&["x"]), &["--dir", dir]).coded(3);
}

#[test]
fn deny_and_ask_of_an_untrusted_file_hold() {
    let world = World::new();
    world.project_config("[permission]\nbash = \"allow\"\ntodowrite = \"ask\"\n");
    world.call("todowrite", &todos(&["x"]), &[]).coded(3);
    world.project_config(
        "[permission]\nbash = \"allow\"\n[permission.todowrite]\n\"?\" = \"deny\"\n",
    );
    world.call("todowrite", &todos(&["x"]), &["--allow-all"]).coded(3);
    world.project_config("[permission]\nbash = \"allow\"\ntodowrite = \"deny\"\n");
    assert_eq!(world.call("todowrite", &todos(&["x"]), &[]).coded(3).kind(), "denied");
}

#[test]
fn a_file_that_only_restricts_needs_no_trust_and_no_warning() {
    let world = World::new();
    world.project_config("[permission]\ntodowrite = \"ask\"\n");
    let ran = world.call("todowrite", &todos(&["x"]), &[]).coded(3);
    assert_eq!(ran.stderr, "");
}

#[test]
fn an_untrusted_agents_restrictions_hold_and_its_allows_do_not() {
    let world = World::new();
    world.user_config("[permission]\ntodoread = \"ask\"\n");
    world.project_config("[agent.build.permission]\ntodowrite = \"ask\"\ntodoread = \"allow\"\n");
    let ran = world.call("todowrite", &todos(&["x"]), &[]).coded(3);
    assert!(ran.stderr.contains("`todoread * = allow`"), "{}", ran.stderr);
    world.call("todoread", &json!({}), &[]).coded(3);
    world.haft(&["trust", "give"]).run().done();
    world.call("todoread", &json!({}), &[]).done();
    world.call("todowrite", &todos(&["x"]), &[]).coded(3);
}

#[test]
fn limits_of_an_untrusted_file_do_not_count() {
    let world = World::new();
    world.project_config("[limits]\nlines = 7\n");
    let lines = |world: &World| {
        world.haft(&["config", "show", "--json"]).run().done().json()["limits"]["lines"].clone()
    };
    assert_eq!(lines(&world), 2000);
    world.haft(&["trust", "give"]).run().done();
    assert_eq!(lines(&world), 7);
}

#[test]
fn there_is_nothing_to_trust_where_there_is_no_file() {
    let world = World::new();
    let ran = world.haft(&["trust", "give"]).run().coded(2);
    assert!(ran.stderr.contains("haft.toml does not exist"), "{}", ran.stderr);
    assert_eq!(world.haft(&["trust", "--json"]).run().done().json(), json!([]));
}

/// Holds haft to a refusal with these words, at once.
#[track_caller]
fn refused(world: &World, words: &str) {
    for args in [&["call", "todoread"][..], &["tools"], &["trust", "give"]] {
        let start = Instant::now();
        let ran = world.haft(args).run().coded(2);
        assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
        assert_eq!(ran.stdout, "");
        assert!(ran.stderr.contains("haft.toml"), "{}", ran.stderr);
        assert!(ran.stderr.contains(words), "{}", ran.stderr);
    }
}

#[test]
fn a_config_that_is_a_pipe_a_folder_or_a_device_is_refused_at_once() {
    let world = World::new();
    let path = world.path("work/haft.toml");
    let mode = rustix::fs::Mode::RWXU;
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    refused(&world, "is not a file");
    fs_err::remove_file(&path).unwrap();
    fs_err::create_dir(&path).unwrap();
    refused(&world, "is not a file");
    // While a confined command runs, one with this mark stands for a file that is missing.
    let mark = std::os::unix::fs::PermissionsExt::from_mode(0o1755);
    fs_err::set_permissions(&path, mark).unwrap();
    world.haft(&["tools"]).run().done();
    fs_err::write(path.join("x"), "").unwrap();
    refused(&world, "is not a file");
    fs_err::remove_dir_all(&path).unwrap();
    fs_err::os::unix::fs::symlink("/dev/zero", &path).unwrap();
    refused(&world, "is not a file");
}

#[test]
fn a_config_that_is_too_large_or_no_text_is_refused() {
    let world = World::new();
    world.put("work/haft.toml", vec![b'#'; 2 * 1024 * 1024]);
    refused(&world, "larger than 1 MiB");
    world.put("work/haft.toml", b"[permission]\n# \xff\xfe\n");
    refused(&world, "is not UTF-8");
}

#[test]
fn unknown_keys_are_warned_about_and_cannot_steer_a_terminal() {
    let world = World::new();
    world.project_config("[\"no\\u001b[2Jwhere\"]\na = 1\n[limts]\n");
    let ran = world.haft(&["tools"]).run().done();
    assert!(ran.stderr.contains("unknown key `limts`"), "{}", ran.stderr);
    assert!(ran.stderr.contains("no\\u{1b}[2Jwhere"), "{:?}", ran.stderr);
    assert!(!ran.stderr.contains('\u{1b}'), "{:?}", ran.stderr);
    // Nor can what the parser quotes of a file that it does not understand.
    world.project_config("[limits]\nlines = \"\u{9b}2J\"\n");
    let ran = world.haft(&["tools"]).run().coded(2);
    assert!(!ran.stderr.contains('\u{9b}'), "{:?}", ran.stderr);
}
