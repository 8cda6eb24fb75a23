//! A keeper of commands on its own, for programs that cannot be one themselves.

fn main() {
    #[cfg(target_os = "linux")]
    haft_exec::keep_commands();
}
