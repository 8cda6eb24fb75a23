//! How much memory a call takes at its peak, above what the program takes anyway.

use std::io::Write;
use std::path::Path;
use std::process::Command;

use haft_runtime::{Call, CancellationToken, SessionId};
use serde_json::json;

use crate::files::toolset;

/// A size and what it is held to, in bytes.
pub(crate) struct Peak {
    name: &'static str,
    bytes: u64,
    most: u64,
}

impl Peak {
    pub(crate) fn new(name: &'static str, bytes: u64, most: u64) -> Self {
        Self { name, bytes, most }
    }

    pub(crate) fn holds(&self) -> bool {
        self.bytes <= self.most
    }

    pub(crate) fn line(&self) -> String {
        let kib = |bytes: u64| bytes as f64 / 1024.0;
        let mark = if self.holds() { "" } else { "  OVER" };
        let (bytes, most) = (kib(self.bytes), kib(self.most));
        format!("{:<72} {bytes:>9.1} KiB, at most {most:.0}{mark}", self.name)
    }
}

/// Reads 2,000 lines at the end of a file of a gigabyte.
pub(crate) fn peaks() -> Vec<Peak> {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let line = "a line of text as it stands in a log, with a number and some words\n";
    let chunk = line.repeat((1 << 20) / line.len());
    let mut file = fs_err::File::create(dir.path().join("large")).expect("created");
    for _ in 0..1024 {
        file.write_all(chunk.as_bytes()).expect("written");
    }
    fs_err::write(dir.path().join("small"), line).expect("written");
    let lines = chunk.lines().count() * 1024;
    let idle = peak(dir.path(), "small", 1);
    let bytes = peak(dir.path(), "large", lines - 2_000).saturating_sub(idle);
    vec![Peak { name: "read 2,000 lines at the end of 1 GB, above idle", bytes, most: 16 << 20 }]
}

/// The peak of a process of its own that makes one call.
fn peak(dir: &Path, file: &str, offset: usize) -> u64 {
    let program = std::env::current_exe().expect("this program");
    let output = Command::new(program)
        .args(["--peak-of", file, &offset.to_string()])
        .current_dir(dir)
        .output()
        .expect("run");
    let said = String::from_utf8(output.stdout).expect("text");
    said.trim().parse().expect("a number of bytes")
}

/// What that process does: one call, and then it says how much it has taken.
pub(crate) fn child(file: &str, offset: &str) -> u64 {
    let threads =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("threads");
    let toolset = threads.block_on(toolset(Path::new(".")));
    let offset: u64 = offset.parse().expect("a number");
    let call =
        Call::new(SessionId::fresh(), "read", json!({ "file_path": file, "offset": offset }));
    let settled = threads.block_on(toolset.execute(call, CancellationToken::new()));
    assert!(settled.result.is_ok(), "{}", settled.text());
    let status = fs_err::read_to_string("/proc/self/status").expect("the process's own status");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    let kib: u64 = peak.trim().trim_end_matches(" kB").parse().expect("a number");
    kib * 1024
}
