//! What is a question, and what only looks like one.

use super::question;

#[test]
fn questions_are_found() {
    let asked = [
        "[sudo] password for user: ",
        "Enter passphrase for key '/home/u/.ssh/id': ",
        "Are you sure you want to continue connecting (yes/no/[fingerprint])? ",
        "Do you want to continue? [Y/n] ",
        "Proceed ([y]/n)? ",
        "Username for 'https://github.com': ",
        "line before\r\nOverwrite? (y/N): ",
        "\u{1b}[1mContinue?\u{1b}[0m ",
        "Press ENTER to continue",
        "Remove it? ",
    ];
    for text in asked {
        assert!(question(text.as_bytes()).is_some(), "{text:?}");
    }
}

#[test]
fn other_lines_are_not() {
    let said = [
        "",
        "$ ",
        "Compiling x v0.1",
        "password: wrong\n",
        "Are you sure? [y/n]\n",
        "50% ",
        "done.",
        "note: key:",
    ];
    for text in said {
        assert!(question(text.as_bytes()).is_none(), "{text:?}");
    }
}

#[test]
fn a_long_question_is_cut() {
    let text = format!("{}? ", "x".repeat(5000));
    assert_eq!(question(text.as_bytes()).unwrap().chars().count(), 200);
}
