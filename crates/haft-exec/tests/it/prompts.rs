//! A command that waits for an answer nobody will give.

use std::time::Duration;

use haft_exec::{EndedBy, Patience, Prompts, Size};

use crate::world::{finish, keeper, patience, run, script};

const SIZE: Size = Size { columns: 80, rows: 24 };

async fn ended_by(text: &str) -> EndedBy {
    let mut command = script(text);
    command.terminal = Some(SIZE);
    let mut process = keeper().spawn(&command).await.unwrap();
    finish(&mut process, patience(Duration::from_secs(20))).await.ended.by
}

#[tokio::test]
async fn a_password_prompt_ends_the_command_and_is_told() {
    let by = ended_by("read -s -p 'Password for admin: ' x; echo got $x").await;
    assert_eq!(by, EndedBy::Prompt("Password for admin:".into()));
}

#[tokio::test]
async fn a_question_at_the_controlling_terminal_counts_too() {
    let by =
        ended_by("printf 'Do you want to continue? [Y/n] ' > /dev/tty; head -n 1 < /dev/tty").await;
    assert_eq!(by, EndedBy::Prompt("Do you want to continue? [Y/n]".into()));
}

#[tokio::test]
async fn a_question_that_answers_itself_is_none() {
    assert_eq!(ended_by("printf 'Continue? [y/n] '; sleep 1.2; echo yes").await, EndedBy::Itself);
}

#[tokio::test]
async fn a_program_that_reads_without_asking_is_left_alone() {
    let mut command = script("echo working; read x");
    command.terminal = Some(SIZE);
    let mut process = keeper().spawn(&command).await.unwrap();
    let done = finish(&mut process, patience(Duration::from_millis(1500))).await;
    assert_eq!(done.ended.by, EndedBy::Timeout);
}

#[tokio::test]
async fn somebody_who_will_answer_is_waited_for() {
    let mut command = script("read -p 'Name? ' x; echo got $x");
    command.terminal = Some(SIZE);
    let mut process = keeper().spawn(&command).await.unwrap();
    let input = process.take_input().unwrap();
    let answer = async {
        tokio::time::sleep(Duration::from_millis(900)).await;
        input.write(b"haft\n").await.unwrap();
        std::future::pending::<()>().await;
    };
    let mut said = Vec::new();
    let take = |_, bytes: &[u8]| {
        said.extend_from_slice(bytes);
        Ok(())
    };
    let patience = Patience { prompts: Prompts::Wait, ..patience(Duration::from_secs(20)) };
    let ended = process.run(take, patience, answer).await.unwrap();
    assert_eq!(ended.by, EndedBy::Itself);
    assert!(String::from_utf8_lossy(&said).ends_with("got haft\r\n"));
}

#[tokio::test]
async fn without_a_terminal_a_prompt_fails_by_itself() {
    let done =
        run(&keeper(), &script("read -p 'Password: ' x < /dev/tty || echo no terminal")).await;
    assert!(done.said.contains("no terminal\n"), "{}", done.said);
}

#[tokio::test]
async fn a_confined_prompt_is_seen_too() {
    let Some(confinement) = crate::sandbox::full("a_confined_prompt_is_seen_too").await else {
        return;
    };
    let mut command = script("read -p 'Overwrite? (y/n) ' x; echo got $x");
    command.terminal = Some(SIZE);
    command.sandbox = haft_exec::Sandbox::Confined(confinement);
    let mut process = keeper().spawn(&command).await.unwrap();
    let done = finish(&mut process, patience(Duration::from_secs(20))).await;
    assert_eq!(done.ended.by, EndedBy::Prompt("Overwrite? (y/n)".into()));
}
