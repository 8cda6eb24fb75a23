//! The pages of the program's own file that this process holds.

use std::io;
use std::ops::Range;
use std::path::Path;

use crate::sys;

/// Gives back the pages of the program's file: most were needed to start, and never again. What is still
/// needed comes back when it is used, from the system's memory. Returns how many bytes were held.
///
/// # Errors
/// If the system does not say what is held.
pub fn release_program_pages() -> io::Result<u64> {
    let program = std::env::current_exe()?;
    let held = held(&fs_err::read_to_string("/proc/self/smaps")?, &program);
    let mut bytes = 0;
    for Held { range, resident } in held {
        sys::forget_unchanged(range)?;
        bytes += resident;
    }
    Ok(bytes)
}

/// Part of the program's file, as it is in memory.
#[derive(Debug, PartialEq, Eq)]
struct Held {
    range: Range<usize>,
    /// How much of it is there, in bytes.
    resident: u64,
}

/// The parts of a program's file that cannot be written to, and in which nothing was changed when it
/// was loaded.
fn held(smaps: &str, program: &Path) -> Vec<Held> {
    let mut all: Vec<(Held, bool)> = Vec::new();
    let mut of_program = false;
    for line in smaps.lines() {
        if let Some((range, is_unwritable)) = mapping(line, program) {
            of_program = range.is_some();
            all.extend(range.map(|range| (Held { range, resident: 0 }, is_unwritable)));
        } else if let Some((held, is_unchanged)) = all.last_mut().filter(|_| of_program) {
            let kilobytes = |name: &str| {
                let value = line.strip_prefix(name)?.trim().strip_suffix("kB")?;
                value.trim().parse::<u64>().ok()
            };
            if let Some(resident) = kilobytes("Rss:") {
                held.resident = resident * 1024;
            }
            *is_unchanged &= kilobytes("Anonymous:").is_none_or(|changed| changed == 0);
        }
    }
    all.into_iter().filter_map(|(held, is_unchanged)| is_unchanged.then_some(held)).collect()
}

/// A line that begins a mapping: where it is if it is of the program, and whether nobody can write to it.
fn mapping(line: &str, program: &Path) -> Option<(Option<Range<usize>>, bool)> {
    let mut words = line.splitn(6, ' ');
    let (begin, end) = words.next()?.split_once('-')?;
    let address = |text: &str| usize::from_str_radix(text, 16).ok();
    let range = address(begin)?..address(end)?;
    let rights = words.next()?;
    let path = words.nth(3).unwrap_or_default().trim_start();
    let is_programs = Path::new(path) == program;
    Some((is_programs.then_some(range), !rights.contains('w') && rights.ends_with('p')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_the_programs_and_unchanged_is_given_back() {
        let smaps = "\
            1000-3000 r--p 00000000 fe:00 12    /bin/p\nRss:   8 kB\nAnonymous:    0 kB\nVmFlags: rd\n\
            3000-9000 r-xp 00002000 fe:00 12    /bin/p\nRss:  16 kB\nAnonymous:    0 kB\n\
            9000-a000 r--p 00008000 fe:00 12    /bin/p\nRss:   4 kB\nAnonymous:    4 kB\n\
            a000-b000 rw-p 00009000 fe:00 12    /bin/p\nRss:   4 kB\nAnonymous:    0 kB\n\
            b000-c000 rw-p 00000000 00:00 0 \nRss:   4 kB\nAnonymous:    0 kB\n\
            c000-d000 r-xp 00000000 fe:00 13    /lib/p q\nRss:   4 kB\nAnonymous:    0 kB\n";
        let held = held(smaps, Path::new("/bin/p"));
        let part = |range, resident| Held { range, resident };
        assert_eq!(held, [part(0x1000..0x3000, 8192), part(0x3000..0x9000, 16384)]);
        assert_eq!(super::held(smaps, Path::new("/lib/p q")), [part(0xc000..0xd000, 4096)]);
    }

    #[test]
    fn a_program_goes_on_as_if_nothing_had_happened() {
        static TEXT: &str = "in the program's file";
        let before: String = TEXT.chars().rev().collect();
        assert!(release_program_pages().unwrap() > 0);
        let after: String = TEXT.chars().rev().collect();
        assert_eq!(before, after);
        assert!(std::panic::catch_unwind(|| panic!("unwinding reads tables in the file")).is_err());
    }
}
