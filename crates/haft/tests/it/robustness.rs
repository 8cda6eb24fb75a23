//! Where something is missing, in the way, full or closed: a clear word, never a panic.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::world::{Ran, World, todos};

#[test]
fn without_home_what_needs_state_says_so_and_the_rest_works() {
    let world = World::new();
    let bare = |args: &[&str]| {
        let run = world.haft(args).env_remove("HOME");
        run.env_remove("XDG_STATE_HOME").env_remove("XDG_CONFIG_HOME").run()
    };
    let ran = bare(&["call", "todoread", "--json"]).coded(1);
    assert!(ran.message().contains("HOME or XDG_STATE_HOME"), "{}", ran.stdout);
    for args in [&["sessions"][..], &["log"], &["undo"]] {
        let ran = bare(args).coded(2);
        assert!(ran.stderr.contains("HOME or XDG_STATE_HOME"), "{}", ran.stderr);
    }
    let stateless = [&["--help"][..], &["man"], &["completions", "bash"], &["config", "schema"]];
    for args in stateless.into_iter().chain([&["tools"][..], &["schema"], &["config", "show"]]) {
        assert!(!bare(args).done().stdout.is_empty());
    }
    let doctor = bare(&["doctor"]).coded(1);
    assert!(doctor.stdout.contains("HOME or XDG_STATE_HOME"), "{}", doctor.stdout);
}

#[test]
fn relative_folders_in_the_environment_are_ignored() {
    let world = World::new();
    let run = world.haft(&["call", "todoread"]).env("XDG_STATE_HOME", "here");
    run.run().done();
    assert!(world.path("home/.local/state/haft").is_dir());
    assert!(world.tree("work").is_empty());
}

#[test]
fn a_state_folder_that_is_a_file_is_a_clear_error() {
    let world = World::new();
    fs_err::remove_dir(world.path("state")).unwrap();
    let path = world.put("state", "in the way");
    let ran = world.haft(&["call", "todoread", "--json"]).run().coded(1);
    assert!(ran.message().contains(&path), "{}", ran.stdout);
    assert!(ran.message().contains("a file is in its place"), "{}", ran.stdout);
    world.haft(&["tools"]).run().done();
    world.haft(&["schema"]).run().done();
    let doctor = world.haft(&["doctor"]).run().coded(1);
    assert!(doctor.stdout.contains("a file is in its place"), "{}", doctor.stdout);
    assert_eq!(fs_err::read_to_string(path).unwrap(), "in the way");
}

#[test]
fn a_store_that_is_no_database_is_a_clear_error() {
    let world = World::new();
    world.call("todoread", &json!({}), &[]).done();
    let tree = world.tree("state/haft");
    let database = tree.keys().find(|path| path.extension().is_some_and(|end| end == "db"));
    let database = database.unwrap_or_else(|| panic!("no database in {:?}", tree.keys()));
    for path in tree.keys().filter(|path| path.is_file()) {
        fs_err::write(path, "nothing of the kind".repeat(1000)).unwrap();
    }
    let ran = world.haft(&["sessions"]).run().coded(2);
    assert!(ran.stderr.contains(database.to_str().unwrap()), "{}", ran.stderr);
    assert!(ran.stderr.contains("move it aside"), "{}", ran.stderr);
}

/// Runs with standard output that nobody reads any more.
fn unread(world: &World, args: &[&str]) -> Ran {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut run = world.haft(args);
    run.command.stdin(Stdio::null()).stdout(writer).stderr(Stdio::piped());
    Ran::from(run.command.output().unwrap())
}

#[test]
fn a_reader_that_has_gone_away_is_no_panic() {
    let world = World::new();
    for args in [
        &["tools"][..],
        &["schema"],
        &["call", "todoread"],
        &["call", "todoread", "--jsonl"],
        &["completions", "bash"],
        &["man"],
        &["config", "schema"],
        &["doctor", "--json"],
        &["--help"],
    ] {
        let ran = unread(&world, args);
        assert_eq!(ran.code, 0, "{args:?}: {ran:#?}");
        assert_eq!(ran.stderr, "", "{args:?}");
    }
}

#[test]
fn a_result_that_could_not_be_written_is_no_success() {
    let world = World::new();
    for args in [
        &["call", "todoread", "--json"][..],
        &["tools"],
        &["schema"],
        &["completions", "bash"],
        &["man"],
    ] {
        let full = fs_err::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut run = world.haft(args);
        run.command.stdin(Stdio::null()).stdout(full.into_file()).stderr(Stdio::piped());
        let ran = Ran::from(run.command.output().unwrap());
        assert_eq!(ran.code, 2, "{args:?}: {ran:#?}");
        assert!(ran.stderr.contains("standard output"), "{args:?}: {}", ran.stderr);
        assert!(!ran.stderr.contains("panicked"), "{args:?}: {}", ran.stderr);
    }
}

#[test]
fn a_missing_or_wrong_workspace_is_a_usage_error() {
    let world = World::new();
    let file = world.put("file", "");
    for (dir, why) in [("missing", "does not exist"), (file.as_str(), "is not a folder")] {
        let ran = world.haft(&["call", "todoread", "--json", "--dir", dir]).run().coded(2);
        assert_eq!(ran.stdout, "");
        let told = format!("{dir} {why}; name another with --dir");
        assert!(ran.stderr.contains(&told), "{}", ran.stderr);
    }
}

/// What is no small file.
#[derive(Debug, Clone, Copy)]
enum Odd {
    Pipe,
    Folder,
    Device,
    Gigabyte,
}

impl Odd {
    fn make(self, path: &Path) {
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        match self {
            Self::Pipe => {
                let (fifo, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU);
                rustix::fs::mknodat(rustix::fs::CWD, path, fifo, mode, 0).unwrap();
            }
            Self::Folder => fs_err::create_dir(path).unwrap(),
            Self::Device => fs_err::os::unix::fs::symlink("/dev/zero", path).unwrap(),
            Self::Gigabyte => fs_err::File::create(path).unwrap().set_len(1 << 30).unwrap(),
        }
    }
}

#[test]
fn what_ought_to_be_a_small_file_and_is_not_is_refused_at_once() {
    let world = World::new();
    let path = world.path("named/file");
    let file = path.to_str().unwrap();
    for args in [
        &["run", "go", "--replay", file][..],
        &["policy", "simulate", "--replay", file],
        &["tools", "--policy", file],
        &["mcp", "--http", "127.0.0.1:0", "--token-file", file],
    ] {
        for odd in [Odd::Pipe, Odd::Folder, Odd::Device, Odd::Gigabyte] {
            odd.make(&path);
            let ran = world.haft(args).run().coded(2);
            let words =
                if matches!(odd, Odd::Gigabyte) { "is larger than" } else { "is not a file" };
            assert!(ran.stderr.contains(words), "{odd:?} {args:?}: {}", ran.stderr);
            fs_err::remove_file(&path).or_else(|_| fs_err::remove_dir(&path)).unwrap();
        }
    }
}

#[test]
fn a_link_of_another_program_that_leads_nowhere_is_told_as_such() {
    let world = World::new();
    fs_err::os::unix::fs::symlink("nowhere", world.path("home/.claude.json")).unwrap();
    let ran = world.haft(&["setup", "claude", "--write", "--yes"]).run().coded(2);
    assert!(ran.stderr.contains("a link that leads to no file"), "{}", ran.stderr);
    assert!(!world.path("home/nowhere").exists());
}

#[test]
fn a_file_that_became_a_pipe_is_no_reason_to_wait() {
    let world = World::new();
    let args = json!({ "path": "file", "content": "one\n" });
    world.call("write", &args, &["--allow-all", "--session", "s"]).done();
    let edit = json!({ "path": "file", "edits": [{ "old": "one", "new": "two" }] });
    world.call("edit", &edit, &["--allow-all", "--session", "s"]).done();
    let path = world.path("work/file");
    fs_err::remove_file(&path).unwrap();
    Odd::Pipe.make(&path);
    let ran = world.haft(&["log", "--diff"]).run().done();
    assert!(ran.stdout.contains("file"), "{}", ran.stdout);
    world.haft(&["undo", "--dry-run"]).run().coded(1);
}

#[test]
fn a_repository_named_by_a_gigabyte_is_none() {
    let world = World::new();
    let path = world.path("work/.git");
    Odd::Gigabyte.make(&path);
    let args = json!({ "command": "echo hi" });
    let ran = world.call("bash", &args, &["--allow-all"]).done();
    assert!(ran.stdout.contains("hi"), "{}", ran.stdout);
}

#[test]
fn doctor_knows_of_a_store_that_cannot_grow() {
    let world = World::new();
    world.call("todoread", &json!({}), &[]).done();
    let mut command = Command::new("sh");
    world.enclose(&mut command);
    command.env("HAFT", env!("CARGO_BIN_EXE_haft"));
    // As on a disk that is nearly full: what is written beyond this fails.
    command.args(["-c", "trap '' XFSZ && ulimit -f 128 && exec \"$HAFT\" doctor"]);
    let ran = Ran::from(command.output().unwrap()).coded(1);
    assert!(ran.stdout.contains("cannot be written to, so no call is run"), "{}", ran.stdout);
}

#[test]
fn input_without_an_end_is_refused() {
    let world = World::new();
    let zero = fs_err::File::open("/dev/zero").unwrap();
    let mut run = world.haft(&["call", "todowrite", "-"]);
    run.command.stdin(zero.into_file()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let ran = Ran::from(run.command.output().unwrap()).coded(2);
    assert!(ran.stderr.contains("more than 64 MiB"), "{}", ran.stderr);
    assert_eq!(world.sessions(), 0);
}

#[test]
fn a_current_directory_that_is_gone_is_told_as_such() {
    let world = World::new();
    let mut command = Command::new("sh");
    world.enclose(&mut command);
    command.env("HAFT", env!("CARGO_BIN_EXE_haft"));
    command.args(["-c", "mkdir gone && cd gone && rmdir ../gone && exec \"$HAFT\" tools"]);
    let ran = Ran::from(command.output().unwrap()).coded(2);
    assert!(ran.stderr.contains("current directory"), "{}", ran.stderr);
}

#[test]
fn the_workspace_is_the_git_root_above_unless_one_is_named() {
    let world = World::new();
    world.put("work/.git/HEAD", "");
    world.put("work/deep/down/file", "");
    let root = |args: &[&str]| {
        let mut all = vec!["config", "show", "--json"];
        all.extend(args);
        let run = world.haft(&all).dir(world.path("work/deep/down"));
        run.run().done().json()["root"].as_str().unwrap().to_owned()
    };
    assert_eq!(root(&[]), world.path("work").to_str().unwrap());
    assert_eq!(root(&["--dir", "."]), world.path("work/deep/down").to_str().unwrap());
}

#[test]
fn a_session_that_could_forge_output_is_a_usage_error() {
    let world = World::new();
    for id in ["a\u{1b}[31mb", "a b", "a\nb", "", &"x".repeat(129)] {
        let ran = world.haft(&["call", "todoread", "--session", id, "--json"]).run().coded(2);
        assert_eq!(ran.stdout, "");
        assert!(!ran.stderr.contains('\u{1b}'), "{:?}", ran.stderr);
    }
    assert_eq!(world.sessions(), 0);
    // Nothing of an id becomes part of a path.
    world.call("todowrite", &todos(&["x"]), &["--session", "../../escape"]).done();
    assert_eq!(world.todos("../../escape"), ["x"]);
}

#[test]
fn no_command_writes_into_the_workspace() {
    let world = World::new();
    world.put("work/src/main.rs", "fn main() {}\n");
    world.project_config("[permission]\nbash = \"allow\"\n");
    let before = world.tree("work");
    let list = todos(&["x"]).to_string();
    for args in [
        &["call", "todowrite", &list, "--session", "s"][..],
        &["call", "todoread", "--session", "s"],
        &["call", "batch", "{\"calls\":[{\"tool\":\"todoread\",\"args\":{}}]}"],
        &["tools"],
        &["schema"],
        &["policy", "explain", "todoread"],
        &["policy", "check"],
        &["policy", "simulate"],
        &["trust", "give"],
        &["trust", "withdraw"],
        &["grants"],
        &["sessions"],
        &["config", "show"],
        &["doctor"],
    ] {
        world.haft(args).run().done();
        assert_eq!(world.tree("work"), before, "{args:?}");
    }
    assert!(world.tree("home").is_empty());
    let config: Vec<_> = world.tree("config").into_keys().collect();
    assert_eq!(config, [world.path("config/haft")]);
}

#[test]
fn asking_for_help_touches_nothing_at_all() {
    let world = World::new();
    for args in [&["--help"][..], &["--version"], &["man"], &["tools"], &["schema"]] {
        world.haft(args).run().done();
    }
    assert!(world.tree("state").is_empty());
}

#[test]
fn the_state_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    world.call("todowrite", &todos(&["x"]), &[]).done();
    for path in world.tree("state").into_keys() {
        let mode = fs_err::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{} has mode {mode:o}", path.display());
    }
}
