//! `haft setup`: the files of other programs, read back by other people's parsers.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::world::World;

/// Every host: its own file, its project's, and the table that lists servers.
const HOSTS: [(&str, &str, &str, &str); 7] = [
    ("claude", "home/.claude.json", "work/.mcp.json", "mcpServers"),
    ("codex", "home/.codex/config.toml", "work/.codex/config.toml", "mcp_servers"),
    ("opencode", "config/opencode/opencode.json", "work/opencode.json", "mcp"),
    ("gemini", "home/.gemini/settings.json", "work/.gemini/settings.json", "mcpServers"),
    ("zed", "config/zed/settings.json", "work/.zed/settings.json", "context_servers"),
    ("cursor", "home/.cursor/mcp.json", "work/.cursor/mcp.json", "mcpServers"),
    ("vscode", "config/Code/User/mcp.json", "work/.vscode/mcp.json", "servers"),
];

/// What Python's own parsers make of a file.
fn by_python(path: &Path) -> Value {
    let script = "import json,sys,tomllib\n\
        p=sys.argv[1]\n\
        f=open(p,'rb')\n\
        print(json.dumps((tomllib if p.endswith('toml') else json).load(f)))";
    let output = Command::new("python3").args(["-c", script]).arg(path).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The words that an entry starts haft with.
fn words(entry: &Value) -> Vec<String> {
    let list = |value: &Value| -> Vec<String> {
        let items = value.as_array().into_iter().flatten();
        items.map(|item| item.as_str().unwrap().to_owned()).collect()
    };
    match &entry["command"] {
        Value::String(program) => [vec![program.clone()], list(&entry["args"])].concat(),
        other => list(other),
    }
}

#[test]
fn every_host_gets_its_entry_in_its_own_file_and_loses_it_again() {
    for (host, user, project, table) in HOSTS {
        for (scope, file) in [("user", user), ("project", project)] {
            let world = World::new();
            let path = world.path(file);
            let before = world.tree("");
            let args = ["setup", host, "--scope", scope];
            let ran = world.haft(&[&args[..], &["--write", "--yes"]].concat()).run().done();
            assert!(ran.stdout.contains("+"), "a diff: {}", ran.stdout);
            let entry = by_python(&path)[table]["haft"].clone();
            let words = words(&entry);
            // A file that others share cannot know where haft is on their machines.
            let program = if scope == "user" { env!("CARGO_BIN_EXE_haft") } else { "haft" };
            assert_eq!(words[0], program, "{host} {entry}");
            assert_eq!(ran.stderr.contains("on their PATH"), scope == "project", "{}", ran.stderr);
            assert_eq!(words[1], "mcp", "{host} {entry}");
            let printed = world.haft(&[&args[..], &["--json"]].concat()).run().done().json();
            assert_eq!(printed["state"], "present", "{host}");
            assert_eq!(printed["entry"], entry, "{host}");
            assert_eq!(printed["file"], path.to_str().unwrap());
            let ran = world.haft(&[&args[..], &["--remove", "--yes"]].concat()).run().done();
            assert!(ran.stderr.ends_with(": removed\n"), "{}", ran.stderr);
            assert_eq!(world.tree(""), before, "{host} {scope}: all of it was made for the entry");
        }
    }
}

#[test]
fn what_is_printed_is_what_would_be_written() {
    for (host, user, _, _) in HOSTS {
        let world = World::new();
        let printed = world.haft(&["setup", host]).run().done();
        assert!(printed.stderr.contains(world.path(user).to_str().unwrap()), "{}", printed.stderr);
        assert!(!world.path(user).exists());
        world.haft(&["setup", host, "--write", "--yes"]).run().done();
        assert_eq!(fs_err::read_to_string(world.path(user)).unwrap(), printed.stdout, "{host}");
    }
}

#[test]
fn everything_else_in_the_file_stays_byte_for_byte() {
    let world = World::new();
    let zed = "// mine\n{\n    // size\n    \"buffer_font_size\": 15, // px\n    \"context_servers\": {\n        \"other\": { \"command\": \"x\", },\n    },\n}\n";
    let codex = "# mine\nmodel = \"gpt\"   # spaced\n\n[mcp_servers.other]\ncommand = \"x\"\n";
    for (host, file, text) in
        [("zed", "config/zed/settings.json", zed), ("codex", "home/.codex/config.toml", codex)]
    {
        world.put(file, text);
        world.haft(&["setup", host, "--write", "--yes"]).run().done();
        let written = fs_err::read_to_string(world.path(file)).unwrap();
        assert_ne!(written, text);
        for line in text.lines() {
            assert!(written.contains(line), "{line} in {written}");
        }
        let again = world.haft(&["setup", host, "--write", "--yes"]).run().done();
        assert!(again.stderr.contains("nothing was changed"), "{}", again.stderr);
        assert_eq!(fs_err::read_to_string(world.path(file)).unwrap(), written);
        let ran = world.haft(&["setup", host, "--remove", "--yes"]).run().done();
        assert!(ran.stderr.ends_with(": the entry was taken out\n"), "{}", ran.stderr);
        assert_eq!(fs_err::read_to_string(world.path(file)).unwrap(), text);
        let again = world.haft(&["setup", host, "--remove", "--yes"]).run().done();
        assert!(again.stderr.contains("has no such entry"), "{}", again.stderr);
    }
}

#[test]
fn another_entry_of_that_name_is_shown_and_kept_unless_it_is_to_be_replaced() {
    let world = World::new();
    let text = "{\n  \"mcpServers\": {\n    \"haft\": {\n      \"command\": \"/old/haft\"\n    }\n  }\n}\n";
    world.put("work/.mcp.json", text);
    let args = ["setup", "claude", "--scope", "project", "--write", "--yes"];
    let ran = world.haft(&args).run().coded(1);
    for words in ["/old/haft", "\"command\": \"haft\"", "--replace"] {
        assert!(ran.stderr.contains(words), "{words}: {}", ran.stderr);
    }
    assert_eq!(fs_err::read_to_string(world.path("work/.mcp.json")).unwrap(), text);
    world.haft(&[&args[..], &["--name", "haft2"]].concat()).run().done();
    world.haft(&[&args[..], &["--replace"]].concat()).run().done();
    let servers = by_python(&world.path("work/.mcp.json"))["mcpServers"].clone();
    assert_eq!(servers["haft"], servers["haft2"]);
}

#[test]
fn a_file_that_does_not_parse_is_left_alone() {
    let world = World::new();
    for (host, file, text) in [
        ("gemini", "home/.gemini/settings.json", "{ \"a\": \n"),
        ("claude", "home/.claude.json", "{} // a comment is no JSON"),
        ("codex", "home/.codex/config.toml", "a = \n"),
    ] {
        world.put(file, text);
        for flag in ["--write", "--remove"] {
            let ran = world.haft(&["setup", host, flag, "--yes"]).run().coded(1);
            assert!(ran.stderr.contains("is left as it is"), "{}", ran.stderr);
            assert!(
                ran.stderr.contains("line 1") || ran.stderr.contains("line 2"),
                "{}",
                ran.stderr
            );
        }
        assert_eq!(fs_err::read_to_string(world.path(file)).unwrap(), text);
        // What belongs there can still be seen.
        let printed = world.haft(&["setup", host]).run().done();
        assert!(printed.stdout.contains("mcp"), "{}", printed.stdout);
    }
}

#[test]
fn the_hosts_own_variables_say_where_their_files_are() {
    let world = World::new();
    let dir = world.path("elsewhere");
    for (host, variable, file) in [
        ("codex", "CODEX_HOME", "config.toml"),
        ("claude", "CLAUDE_CONFIG_DIR", ".claude.json"),
        ("opencode", "OPENCODE_CONFIG_DIR", "opencode.json"),
        ("zed", "XDG_CONFIG_HOME", "zed/settings.json"),
        ("gemini", "GEMINI_CLI_HOME", ".gemini/settings.json"),
    ] {
        let run = world.haft(&["setup", host, "--json"]).env(variable, &dir);
        assert_eq!(run.run().done().json()["file"], dir.join(file).to_str().unwrap(), "{host}");
    }
    // An opencode that already has a file with comments keeps it.
    world.put("config/opencode/opencode.jsonc", "{} // mine");
    let shown = world.haft(&["setup", "opencode", "--json"]).run().done().json();
    assert!(shown["file"].as_str().unwrap().ends_with("opencode.jsonc"), "{shown}");
}

#[test]
fn arguments_after_two_dashes_are_passed_on() {
    let world = World::new();
    let args = ["setup", "codex", "--write", "--yes", "--", "--asks", "elicit"];
    world.haft(&args).run().done();
    let entry = by_python(&world.path("home/.codex/config.toml"))["mcp_servers"]["haft"].clone();
    assert_eq!(entry["args"], json!(["mcp", "--asks", "elicit"]));
}

#[test]
fn arguments_that_haft_mcp_does_not_take_are_refused() {
    let world = World::new();
    let before = world.tree("");
    for (extra, says) in [
        (&["--bogus"][..], "unexpected argument '--bogus'"),
        (&["--asks", "nobody"], "there is no mode `nobody`"),
        (&["word"], "unexpected argument 'word'"),
        (&["--help"], "starts no server"),
    ] {
        let args = [&["setup", "claude", "--write", "--yes", "--"], extra].concat();
        let ran = world.haft(&args).run().coded(2);
        assert!(ran.stderr.contains(says), "{}", ran.stderr);
    }
    assert_eq!(world.tree(""), before);
}

#[test]
fn folders_in_which_there_is_more_are_left() {
    let world = World::new();
    world.put("work/.vscode/settings.json", "{}");
    let args = ["setup", "vscode", "--scope", "project", "--yes"];
    world.haft(&[&args[..], &["--write"]].concat()).run().done();
    world.haft(&[&args[..], &["--remove"]].concat()).run().done();
    assert!(!world.path("work/.vscode/mcp.json").exists());
    assert!(world.path("work/.vscode/settings.json").exists());
}

#[test]
fn nothing_is_written_before_somebody_said_yes() {
    let world = World::new();
    let file = world.path("work/.mcp.json");
    let args = ["setup", "claude", "--scope", "project", "--write"];
    let ran = world.haft(&args).run().coded(1);
    assert!(ran.stderr.contains("add --yes"), "{}", ran.stderr);
    assert!(!file.exists());
    for (answer, written) in [("n", false), ("", false), ("y", true)] {
        let ran = world.sit(&args).sees("write this?").types(answer).ends();
        assert!(ran.stdout.contains("mcpServers"), "{}", ran.stdout);
        assert_eq!(file.exists(), written, "{answer:?}");
    }
}

#[test]
fn a_link_to_the_config_stays_one_and_its_mode_stays() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    let real = world.put("dotfiles/claude.json", "{\n  \"numStartups\": 3\n}\n");
    fs_err::set_permissions(&real, std::fs::Permissions::from_mode(0o600)).unwrap();
    fs_err::os::unix::fs::symlink(&real, world.path("home/.claude.json")).unwrap();
    world.haft(&["setup", "claude", "--write", "--yes"]).run().done();
    assert!(world.path("home/.claude.json").is_symlink());
    assert_eq!(by_python(Path::new(&real))["numStartups"], 3);
    assert_eq!(fs_err::metadata(&real).unwrap().permissions().mode() & 0o777, 0o600);
}
