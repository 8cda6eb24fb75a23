//! `job` through the pipeline, with real processes.

use std::time::{Duration, Instant};

use haft_runtime::permission::Reply;
use haft_runtime::{CancellationToken, SessionId};
use haft_tools::SandboxMode;
use serde_json::{Value, json};

use crate::world::World;

const ALLOW: &str = "[permission]\n\"*\" = \"allow\"\n";

async fn open() -> World {
    World::running(ALLOW, |settings| settings.sandbox = SandboxMode::Off).await
}

async fn start(world: &World, script: &str) -> usize {
    let answer = world.call("bash", json!({ "command": script, "background": true })).await;
    usize::try_from(answer["metadata"]["job"].as_u64().unwrap()).unwrap()
}

async fn wait(world: &World, id: usize) -> Value {
    let answer = world.call("job", json!({ "action": "wait", "id": id, "timeout": 20000 })).await;
    assert_eq!(answer["state"], "completed", "{answer}");
    answer
}

#[tokio::test]
async fn a_job_is_numbered_read_and_waited_for() {
    let world = open().await;
    assert_eq!(world.text("job", json!({ "action": "list" })).await, "There are no jobs.");
    let begin = Instant::now();
    assert_eq!(start(&world, "echo one; sleep 0.2; echo two; exit 4").await, 1);
    assert_eq!(start(&world, "sleep 1234").await, 2);
    assert!(begin.elapsed() < Duration::from_secs(10));
    let answer = wait(&world, 1).await;
    let text = answer["output"].as_str().unwrap();
    assert!(text.starts_with("one\ntwo\n") && text.contains("(job 1: exit code 4)"), "{answer}");
    assert_eq!(answer["metadata"]["exit"], 4);
    let path = answer["metadata"]["output_path"].as_str().unwrap();
    assert_eq!(fs_err::read_to_string(path).unwrap(), "one\ntwo\n");
    let again = world.text("job", json!({ "action": "read", "id": 1 })).await;
    assert!(again.starts_with("(no new output)"), "{again}");
    let part = world.text("job", json!({ "action": "read", "id": 1, "offset": 4 })).await;
    assert!(part.starts_with("two\n"), "{part}");
    let list = world.text("job", json!({ "action": "list" })).await;
    assert!(list.contains("1: exit code 4") && list.contains("2: running"), "{list}");
}

#[tokio::test]
async fn a_job_is_killed_with_all_it_started() {
    let world = open().await;
    let id = start(&world, "trap '' TERM; echo begun; setsid sleep 4321 & wait").await;
    let found = json!({ "action": "wait", "id": id, "pattern": "^beg.n$", "timeout": 20000 });
    assert!(world.text("job", found).await.contains("the pattern was found"));
    let killed = world.text("job", json!({ "action": "kill", "id": id })).await;
    assert!(killed.contains("killed, "), "{killed}");
    let list = world.text("job", json!({ "action": "list" })).await;
    assert!(list.contains("killed"), "{list}");
}

#[tokio::test]
async fn what_is_written_is_read_by_the_job() {
    let world = open().await;
    let id = start(&world, "while read line; do echo \"got $line\"; done; echo over").await;
    let write = json!({ "action": "write", "id": id, "input": "hello\n" });
    world.text("job", write).await;
    let found = json!({ "action": "wait", "id": id, "pattern": "got hello", "timeout": 20000 });
    assert!(world.text("job", found).await.contains("got hello"));
    world.text("job", json!({ "action": "write", "id": id })).await;
    assert!(wait(&world, id).await["output"].as_str().unwrap().contains("over"));
    let message =
        world.error("job", json!({ "action": "write", "id": id, "input": "x" }), "failed").await;
    assert!(message.contains("no input"), "{message}");
}

#[tokio::test]
async fn writing_is_asked_as_a_command() {
    let world = World::ruled(haft_tools::DEFAULT_RULES, Reply::Once).await;
    let id = start(&world, "cat").await;
    world.host.asked.lock().unwrap().clear();
    world.text("job", json!({ "action": "write", "id": id, "input": "rm x\n" })).await;
    let asked = world.asked_effects();
    assert_eq!((asked.len(), asked[0].key.as_ref(), asked[0].value.as_str()), (1, "bash", "rm x"));
    assert!(asked[0].unproven.is_some());
    world.text("job", json!({ "action": "kill", "id": id })).await;
    assert_eq!(world.asked_effects().len(), 1, "the others need no answer");
}

#[tokio::test]
async fn an_open_port_is_waited_for() {
    let world = open().await;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let id = start(&world, "sleep 1234").await;
    let args = json!({ "action": "wait", "id": id, "port": port, "timeout": 20000 });
    let text = world.text("job", args).await;
    assert!(text.contains(&format!("port {port} is open")), "{text}");
}

#[tokio::test]
async fn a_wait_ends_at_its_deadline_and_when_it_is_cancelled() {
    let world = open().await;
    let id = start(&world, "sleep 1234").await;
    let text = world.text("job", json!({ "action": "wait", "id": id, "timeout": 100 })).await;
    assert!(text.contains("waited 0.1 s") && text.contains("running"), "{text}");
    let cancel = CancellationToken::new();
    cancel.cancel();
    let call = world.prepare("job", json!({ "action": "wait", "id": id }));
    let answer = world.toolset.execute(call, cancel).await.to_json();
    assert_eq!(answer["error"]["kind"], "cancelled", "{answer}");
    let args = json!({ "action": "wait", "id": id, "pattern": "(" });
    assert!(world.error("job", args, "failed").await.contains("regular expression"));
}

#[tokio::test]
async fn jobs_of_another_session_are_not_there() {
    let world = open().await;
    start(&world, "sleep 1234").await;
    let other = SessionId::fresh();
    let call = haft_runtime::Call::new(other, "job", json!({ "action": "kill", "id": 1 }));
    let answer = world.toolset.execute(call, CancellationToken::new()).await.to_json();
    let message = answer["error"]["message"].as_str().unwrap();
    assert_eq!(message, "there is no job 1; there are none in this session");
    world.error("job", json!({ "action": "read" }), "failed").await;
}

#[tokio::test]
async fn a_job_ends_with_the_program_that_runs_it() {
    let world = open().await;
    let flag = world.workspace().join("alive");
    let script = "mkfifo pipe; : > alive; exec 9<>pipe; read x <&9";
    let id = start(&world, &format!("{script}; echo {}", flag.display())).await;
    let found = json!({ "action": "wait", "id": id, "timeout": 200 });
    world.text("job", found).await;
    let workspace = world.workspace();
    let is_held = || {
        let in_workspace = |link: std::path::PathBuf| link.starts_with(&workspace);
        fs_err::read_dir("/proc")
            .unwrap()
            .flatten()
            .any(|entry| std::fs::read_link(entry.path().join("cwd")).is_ok_and(in_workspace))
    };
    assert!(is_held(), "the job works in the workspace");
    let folder = world.keep_folder();
    drop(world);
    let deadline = Instant::now() + Duration::from_secs(10);
    while is_held() {
        assert!(Instant::now() < deadline, "the job lives on");
        tokio::task::yield_now().await;
    }
    drop(folder);
}
