//! A keeper of commands for the tests, which cannot be one themselves.

fn main() {
    #[cfg(target_os = "linux")]
    haft_exec::keep_commands();
}
