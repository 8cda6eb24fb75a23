//! Folders that cannot be written to or are full, and silent name servers: made with mounts of our own,
//! where we may.

use std::io::Write;
use std::process::{Command, Output};

use crate::world::{Ran, World, todos};

/// Runs a script with rights of its own over mounts; `$HAFT` is the binary.
fn unshared(world: &World, script: &str) -> Output {
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-euc", script]);
    world.enclose(&mut command);
    command.env("HAFT", env!("CARGO_BIN_EXE_haft")).output().unwrap()
}

/// Prepares mounts, then runs `script`; `None`, with a word about it, where mounts are not for us.
fn with_mounts(world: &World, name: &str, mounts: &str, script: &str) -> Option<Ran> {
    let tried = unshared(world, mounts);
    if !tried.status.success() {
        // Past the harness, which keeps what tests print to itself as long as they pass.
        let why = String::from_utf8_lossy(&tried.stderr);
        let line = format!("SKIP {name}: {}\n", why.trim());
        std::io::stderr().write_all(line.as_bytes()).unwrap();
        return None;
    }
    Some(Ran::from(unshared(world, &format!("{mounts}\n{script}"))))
}

#[test]
fn a_read_only_workspace_is_good_enough() {
    let world = World::new();
    world.put("work/file", "");
    let mounts = "mount --bind . . && mount -o remount,ro,bind . && cd \"$PWD\"";
    let list = todos(&["x"]).to_string();
    let script =
        format!("if touch file2 2>/dev/null; then exit 99; fi; \"$HAFT\" call todowrite '{list}'");
    let name = "a_read_only_workspace_is_good_enough";
    let Some(ran) = with_mounts(&world, name, mounts, &script) else { return };
    assert_eq!(ran.done().stdout, "[ ] 1. x\n1 of 1 open\n");
}

#[test]
fn a_read_only_state_folder_is_a_clear_error() {
    let world = World::new();
    world.call("todowrite", &todos(&["x"]), &["--session", "s"]).done();
    let mounts = "mount --bind \"$XDG_STATE_HOME\" \"$XDG_STATE_HOME\" && mount -o remount,ro,bind \"$XDG_STATE_HOME\"";
    let name = "a_read_only_state_folder_is_a_clear_error";
    let script = "exec \"$HAFT\" call todoread --json";
    let Some(ran) = with_mounts(&world, name, mounts, script) else { return };
    let ran = ran.coded(1);
    assert!(ran.message().contains("see that you may write"), "{}", ran.stdout);
    assert!(ran.message().contains("nothing was run"), "{}", ran.stdout);
    let ran = with_mounts(&world, name, mounts, "exec \"$HAFT\" tools").unwrap();
    assert!(ran.done().stdout.contains("todowrite"));
}

#[test]
fn a_full_disk_is_a_clear_error_and_nothing_is_pretended() {
    let world = World::new();
    let mounts = "mount -t tmpfs -o size=256k none \"$XDG_STATE_HOME\"";
    let fill = "\"$HAFT\" call todoread --session s >/dev/null; \
                cat /dev/zero > \"$XDG_STATE_HOME/filler\" 2>/dev/null || true;";
    let list = todos(&["x".repeat(2000).as_str(); 50]).to_string();
    let script = format!(
        "{fill} if \"$HAFT\" call todowrite '{list}' --session s >&2; then exit 99; fi; \
         rm \"$XDG_STATE_HOME/filler\"; exec \"$HAFT\" call todoread --session s"
    );
    let name = "a_full_disk_is_a_clear_error_and_nothing_is_pretended";
    let Some(ran) = with_mounts(&world, name, mounts, &script) else { return };
    let ran = ran.done();
    assert!(ran.stderr.contains("is full; free some space and try again"), "{ran:#?}");
    assert_eq!(ran.stdout, "The list is empty.\n");
}

#[test]
fn a_deny_of_the_machine_beats_everybody_else() {
    let world = World::new();
    let rules = "[permission]\ntodowrite = \"allow\"\n";
    world.user_config(rules);
    let policy = world.policy(rules);
    let mounts = "mount -t tmpfs none /etc && mkdir /etc/haft && \
                  printf '[permission.todowrite]\n\"?\" = \"deny\"\n' > /etc/haft/managed.toml";
    let list = todos(&["x"]).to_string();
    let script =
        format!("exec \"$HAFT\" call todowrite '{list}' --allow-all --policy {policy} --json");
    let name = "a_deny_of_the_machine_beats_everybody_else";
    let Some(ran) = with_mounts(&world, name, mounts, &script) else { return };
    let denial = ran.coded(3).json()["error"]["denial"].clone();
    assert_eq!(denial["rule"]["source"], "/etc/haft/managed.toml:2");
}

/// A name server that hears and says nothing, and how long haft takes beside it.
const SILENT_NAMES: &str = r#"
import fcntl, os, socket, struct, subprocess, sys, time
names = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
fcntl.ioctl(names, 0x8914, struct.pack("16sh14x", b"lo", 1))
names.bind(("127.0.0.1", 53))
begin = time.monotonic()
code = subprocess.run([os.environ["HAFT"], *sys.argv[1:]]).returncode
print(round(time.monotonic() - begin, 1), file=sys.stderr)
sys.exit(code if time.monotonic() - begin < 5 else 99)
"#;

#[test]
fn a_name_that_nobody_answers_for_does_not_hold_up_the_end() {
    let world = World::new();
    let names = world.put("names.py", SILENT_NAMES);
    let mounts = "mount -t tmpfs none /etc && echo nameserver 127.0.0.1 > /etc/resolv.conf && \
                  unshare --net true";
    let script = format!(
        "exec unshare --net python3 {names} \
         call webfetch '{{\"url\":\"http://docs.example/\",\"timeout\":1}}' --allow-all --json"
    );
    let name = "a_name_that_nobody_answers_for_does_not_hold_up_the_end";
    let Some(ran) = with_mounts(&world, name, mounts, &script) else { return };
    let ran = ran.coded(124);
    assert_eq!(ran.kind(), "timed_out");
}
