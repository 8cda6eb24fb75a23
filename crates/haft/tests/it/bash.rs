//! `haft call bash`: commands as the command line runs them, and what config files say of the sandbox.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::world::{Ran, World};

fn bash(world: &World, script: &str, flags: &[&str]) -> Ran {
    world.call("bash", &json!({ "command": script }), flags)
}

fn explained(world: &World, script: &str, flags: &[&str]) -> Value {
    let args = json!({ "command": script }).to_string();
    let mut all = vec!["policy", "explain", "bash", &args, "--json"];
    all.extend(flags);
    world.haft(&all).run().json()
}

/// Which layers `haft doctor` finds in force.
fn layers(world: &World) -> String {
    world.haft(&["doctor"]).run().done().stdout
}

#[test]
fn a_command_asks_unless_it_is_allowed() {
    let world = World::new();
    let ran = bash(&world, "echo hi", &[]).coded(3);
    assert!(ran.message().contains("bash `echo hi` needs permission"), "{}", ran.message());
    let answer = bash(&world, "echo hi; exit 3", &["--allow-all"]).done().json();
    assert!(answer["output"].as_str().unwrap().starts_with("hi\n\n"), "{answer}");
    assert_eq!(answer["metadata"]["exit"], 3);
}

#[test]
fn what_explain_says_is_what_bash_does() {
    let world = World::new();
    world.put("work/.env", "A=1");
    world.put("work/a.txt", "a");
    world.user_config(
        "[permission.bash]\n\"*\" = \"allow\"\n\"rm *\" = \"deny\"\n\"cat *\" = \"ask\"\n",
    );
    for (script, decision) in [
        ("ls", "allow"),
        ("wc -c a.txt", "allow"),
        ("cat a.txt", "ask"),
        ("rm a.txt", "deny"),
        ("ls; r\\m a.txt", "deny"),
        ("wc -c .env", "ask"),
        ("wc -c .e*", "ask"),
        ("wc -c /etc/passwd", "ask"),
        ("echo x > made", "ask"),
        ("x=$(ls); $x a.txt", "ask"),
        ("curl https://example.invalid", "ask"),
    ] {
        assert_eq!(explained(&world, script, &[])["decision"], decision, "{script}");
        let ran = bash(&world, script, &[]);
        let code = if decision == "allow" { 0 } else { 3 };
        assert_eq!(ran.code, code, "{script}: {ran:#?}");
        let by = if decision == "deny" { "rule" } else { "unattended" };
        if code == 3 {
            assert_eq!(ran.json()["error"]["denial"]["by"], by, "{script}");
        }
    }
}

#[test]
fn a_timeout_has_its_own_exit_code_and_comes_in_time() {
    let world = World::new();
    let begin = Instant::now();
    let args = json!({ "command": "sleep 1234", "timeout": 200 });
    assert_eq!(world.call("bash", &args, &["--allow-all"]).coded(124).kind(), "timed_out");
    assert!(begin.elapsed() < Duration::from_secs(6), "{:?}", begin.elapsed());
}

#[test]
fn a_job_ends_with_the_call_that_started_it() {
    let world = World::new();
    let args = json!({ "command": "sleep 1234", "background": true });
    let answer = world.call("bash", &args, &["--allow-all"]).done().json();
    assert_eq!(answer["metadata"]["job"], 1);
}

#[test]
fn doctor_tells_the_shell_and_every_layer() {
    let world = World::new();
    let text = layers(&world);
    assert!(text.contains("shell") && text.contains("bash"), "{text}");
    for layer in ["workspace-write", "mounts", "processes", "landlock", "seccomp", "privileges"] {
        assert!(text.contains(layer), "{layer}: {text}");
    }
    let off = world.haft(&["doctor", "--sandbox", "off"]).run().done().stdout;
    assert!(off.contains("off: commands may do what you may do"), "{off}");
    world.haft(&["doctor", "--sandbox", "loose"]).run().coded(2);
}

#[test]
fn a_project_can_make_the_sandbox_stricter_and_no_looser() {
    let world = World::new();
    let mode = |flags: &[&str]| {
        let mut args = vec!["doctor"];
        args.extend(flags);
        let text = world.haft(&args).run().done().stdout;
        let of =
            |mode: &&str| text.lines().any(|line| line.contains(&format!("sandbox    {mode}")));
        ["off", "workspace-write", "read-only"].into_iter().find(of).unwrap().to_owned()
    };
    assert_eq!(mode(&[]), "workspace-write");
    world.project_config("[sandbox]\nmode = \"off\"\n");
    assert_eq!(mode(&[]), "workspace-write");
    world.project_config("[sandbox]\nmode = \"read-only\"\n");
    assert_eq!(mode(&[]), "read-only");
    world.user_config("[sandbox]\nmode = \"off\"\n");
    assert_eq!(mode(&[]), "read-only");
    assert_eq!(mode(&["--sandbox", "off"]), "off", "who sits here decides");
    world.project_config("");
    assert_eq!(mode(&[]), "off");
}

#[test]
fn a_confined_command_sees_no_secrets_of_its_user() {
    let world = World::new();
    if layers(&world).contains("missing") {
        eprintln!("SKIP a_confined_command_sees_no_secrets_of_its_user: a layer is missing");
        return;
    }
    world.put("home/.ssh/id_x", "hush");
    world.put("work/look.sh", "cat ~/.ssh/id_x; ls \"$STATE\"; env");
    let state = world.path("state/haft");
    let run = |sandbox: &str| {
        let args = json!({ "command": "sh look.sh" }).to_string();
        let flags = ["call", "bash", &args, "--json", "--allow-all", "--sandbox", sandbox];
        let run = world.haft(&flags).env("STATE", &state).env("MY_TOKEN", "hush too").run();
        run.done().json()["output"].as_str().unwrap().to_owned()
    };
    let (confined, open) = (run("workspace-write"), run("off"));
    assert!(!confined.contains("hush") && !confined.contains("haft.db"), "{confined}");
    assert!(open.contains("hush") && !open.contains("hush too"), "{open}");
}
