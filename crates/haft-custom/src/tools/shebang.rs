//! The first line of a script: who really runs it.

use std::io::Read;
use std::path::Path;

use crate::hooks::shown;

/// Longest first line that the kernel heeds, and more.
const LINE: u64 = 1024;

/// Refuses a script whose interpreter is not a program of the machine: one that is looked for from the
/// current folder, or lies beside the script's, is not what was looked at.
pub(super) fn check(script: &Path, folder: &Path) -> Result<(), String> {
    let mut start = Vec::new();
    let file = fs_err::File::open(script).map_err(|error| error.to_string())?;
    file.take(LINE).read_to_end(&mut start).map_err(|error| error.to_string())?;
    let Some(line) = start.strip_prefix(b"#!") else { return Ok(()) };
    let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let mut words = line.split_ascii_whitespace();
    let interpreter = words.next().unwrap_or_default();
    let outside = |path: &str| {
        let real = fs_err::canonicalize(path).ok();
        let project = folder.parent().and_then(Path::parent).unwrap_or(folder);
        real.is_some_and(|real| !real.starts_with(project))
    };
    let is_fine = interpreter.starts_with('/') && outside(interpreter);
    let names_file = |word: &str| word.contains('/') || word.starts_with('.');
    if is_fine && !words.any(names_file) {
        return Ok(());
    }
    Err(format!("`#!{}` names no program of this machine; write #!/usr/bin/env NAME", shown(&line)))
}
