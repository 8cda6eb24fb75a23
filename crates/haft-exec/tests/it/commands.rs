//! One command: what it says, how it ends, what it is given.

use std::time::Duration;

use haft_exec::{Errors, Exit, Size, SpawnError, Stdin};

use crate::world::{finish, keeper, patience, run, script};

#[tokio::test]
async fn a_command_says_both_streams_and_its_exit_code() {
    let done = run(&keeper(), &script("echo out; echo err >&2; exit 7")).await;
    assert_eq!(done.exit(), Exit::Code(7));
    assert!(done.said.contains("out\n") && done.said.contains("err\n"));
    assert_eq!(done.ended.left_count, 0);
}

#[tokio::test]
async fn joined_streams_keep_their_order() {
    let mut command = script("for i in {1..200}; do echo $i; echo $i >&2; done");
    command.errors = Errors::Joined;
    let done = run(&keeper(), &command).await;
    let wanted: String = (1..=200).map(|number| format!("{number}\n{number}\n")).collect();
    assert_eq!(done.said, wanted);
}

#[tokio::test]
async fn a_long_script_arrives_whole() {
    let mut text = "x=1\n".repeat(30_000);
    text.push_str("echo end");
    assert_eq!(run(&keeper(), &script(&text)).await.said, "end\n");
    let error = keeper().spawn(&script(&"x=1;".repeat(60_000))).await.unwrap_err().to_string();
    assert_eq!(error, "could not run /bin/bash: Argument list too long (os error 7)");
}

#[tokio::test]
async fn a_signal_is_told_as_one() {
    let done = run(&keeper(), &script("kill -SEGV $$")).await;
    assert_eq!(done.exit(), Exit::Signal(11));
}

#[tokio::test]
async fn a_missing_program_or_folder_is_named() {
    let keeper = keeper();
    let mut missing = script("true");
    missing.program = "/no/such/shell".into();
    let error = keeper.spawn(&missing).await.unwrap_err().to_string();
    assert_eq!(error, "could not run /no/such/shell: No such file or directory (os error 2)");
    missing.program = "no-such-shell".into();
    assert!(matches!(keeper.spawn(&missing).await.unwrap_err(), SpawnError::NotFound(_)));
    let mut elsewhere = script("true");
    elsewhere.cwd = "/no/such/folder".into();
    let error = keeper.spawn(&elsewhere).await.unwrap_err().to_string();
    assert_eq!(error, "could not enter /no/such/folder: No such file or directory (os error 2)");
}

#[tokio::test]
async fn input_is_nothing_or_what_was_given() {
    let keeper = keeper();
    assert_eq!(run(&keeper, &script("cat; echo end")).await.said, "end\n");
    let mut given = script("cat | wc -c; sleep 0");
    given.stdin = Stdin::Bytes(vec![b'x'; 3_000_000]);
    assert_eq!(run(&keeper, &given).await.said.trim(), "3000000");
    // Who does not read it does not make anyone wait.
    given.args[1] = "echo unread".into();
    assert_eq!(run(&keeper, &given).await.said, "unread\n");
}

#[tokio::test]
async fn an_open_input_takes_what_is_written_until_it_is_dropped() {
    let mut command = script("while read line; do echo got $line; done; echo end");
    command.stdin = Stdin::Open;
    let mut process = keeper().spawn(&command).await.unwrap();
    let input = process.take_input().unwrap();
    input.write(b"one\ntwo\n").await.unwrap();
    drop(input);
    let done = finish(&mut process, patience(Duration::from_secs(10))).await;
    assert_eq!(done.said, "got one\ngot two\nend\n");
}

#[tokio::test]
async fn no_file_is_open_but_the_three() {
    // An open file of this program must not reach the command.
    let open = fs_err::File::open("/etc/passwd").unwrap();
    rustix::io::fcntl_setfd(&open, rustix::io::FdFlags::empty()).unwrap();
    let mut command = script("");
    command.program = "ls".into();
    command.args = vec!["/proc/self/fd".into()];
    // The fourth is the folder it lists.
    assert_eq!(run(&keeper(), &command).await.said, "0\n1\n2\n3\n");
}

#[tokio::test]
async fn nothing_is_inherited_but_what_was_given() {
    let script = script(
        "env | cut -d= -f1 | sort | tr '\\n' ' '; ps -o tty= -p $$; \
         [ $(ps -o sid= -p $$) = $$ ] && echo leader",
    );
    let done = run(&keeper(), &script).await;
    assert!(done.said.contains("HOME PATH PWD SHLVL _"), "{}", done.said);
    assert!(done.said.contains("?\n") && done.said.ends_with("leader\n"), "{}", done.said);
}

#[tokio::test]
async fn signals_are_as_a_fresh_program_finds_them() {
    let mut command = script("");
    command.program = "grep".into();
    command.args = vec!["-E".into(), "SigBlk|SigIgn".into(), "/proc/self/status".into()];
    let done = run(&keeper(), &command).await;
    assert_eq!(done.said, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

#[tokio::test]
async fn a_terminal_has_a_size_and_joins_the_streams() {
    let mut command = script("stty size; test -t 0 && test -t 1 && test -t 2 && echo terminal");
    command.terminal = Some(Size { columns: 91, rows: 37 });
    let done = run(&keeper(), &command).await;
    assert_eq!(done.said, "37 91\r\nterminal\r\n");
}

#[tokio::test]
async fn resources_are_counted() {
    let done = run(&keeper(), &script("i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done")).await;
    let exited = done.ended.exited.unwrap();
    assert!(exited.user > Duration::from_millis(10), "{exited:?}");
    assert!(exited.peak_memory > 1 << 20, "{exited:?}");
    assert!(done.ended.wall >= exited.user);
}

#[tokio::test]
async fn the_end_does_not_wait_for_time_when_nothing_holds_the_output() {
    let keeper = keeper();
    let mut fastest = Duration::MAX;
    for _ in 0..5 {
        let begin = std::time::Instant::now();
        run(&keeper, &script("echo hi")).await;
        fastest = fastest.min(begin.elapsed());
    }
    assert!(fastest < Duration::from_millis(90), "{fastest:?}");
}
