//! `bash` through the pipeline, with real processes.

mod asking;
mod confined;
mod undone;
mod ways_out;

use std::time::{Duration, Instant};

use haft_exec::{Command, Confinement, Keeper, Sandbox};
use haft_runtime::CancellationToken;
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
    let args = json!({ "command": script, "timeout": 2000 });
    let message = world.error("bash", args, "timed_out").await;
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
    assert!(message.contains("after 2.0 s") && message.contains("begun"), "{message}");
}

#[tokio::test]
async fn at_its_timeout_a_command_that_still_prints_goes_on_if_the_call_says_so() {
    let world = open().await;
    let script = "for i in $(seq 60); do echo line $i; sleep 0.05; done; echo over";
    let args = json!({ "command": script, "timeout": 2000, "keep_running": true });
    let answer = world.call("bash", args.clone()).await;
    assert!(said(&answer).contains("line 2\n") && said(&answer).contains("job 1"), "{answer}");
    let waited = world.call("job", json!({ "action": "wait", "id": 1, "timeout": 20000 })).await;
    assert!(said(&waited).contains("line 60\nover"), "{waited}");
    assert!(!said(&waited).contains("line 1\n"), "what was shown is not shown again: {waited}");
    let whole = waited["metadata"]["output_path"].as_str().unwrap();
    let lines: String = (1..=60).map(|n| format!("line {n}\n")).collect();
    assert_eq!(fs_err::read_to_string(whole).unwrap(), lines + "over\n");
    // Who is silent has nothing to go on for, and who ends in time is no job.
    let silent = json!({ "command": "echo a; sleep 60", "timeout": 3000, "keep_running": true });
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
    let script = "echo now; (until [ -e go ]; do sleep 0.02; done; echo later) &";
    let answer = run(&world, script).await;
    assert!(begin.elapsed() < Duration::from_secs(5));
    assert!(
        said(&answer).contains("still running: ") && said(&answer).contains("kept as job 1"),
        "{answer}"
    );
    world.put("go", "");
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
async fn progress_is_told_while_it_runs() {
    let world = open().await;
    let mut events = world.events();
    // It says no more, and does not end, before somebody has heard what it said.
    let heard = async {
        while let Some(delivery) = events.next().await {
            let text = format!("{delivery:?}");
            if text.contains("CallProgress") && text.contains("one") {
                assert!(!text.contains("two"), "{text}");
                world.put("go", "");
            }
            if text.contains("CallCompleted") {
                break;
            }
        }
    };
    let script = "echo one; until [ -e go ]; do sleep 0.02; done; echo t''wo";
    let (answer, ()) = tokio::join!(run(&world, script), heard);
    assert!(said(&answer).contains("one\ntwo\n"), "{answer}");
}
