//! The memory that this process holds: pages of its program's files, and heaps.

use std::io;
use std::ops::Range;

use crate::sys;

/// Gives back the pages of the program and its libraries: most were needed to start, and never again. What
/// is still needed comes back when it is used, from the system's memory. Returns how many bytes were held.
///
/// # Errors
/// If the system does not say what is held.
pub fn release_program_pages() -> io::Result<u64> {
    let mut bytes = 0;
    for Held { range, resident } in held(&fs_err::read_to_string("/proc/self/smaps")?) {
        sys::forget_unchanged(range)?;
        bytes += resident;
    }
    Ok(bytes)
}

/// Has all threads take memory from one heap. Each would otherwise have its own, and hold on to what it
/// once took; that is good for those who take a lot at once.
pub fn share_heap() {
    sys::share_heap();
}

/// Part of a file, as it is in memory.
#[derive(Debug, PartialEq, Eq)]
struct Held {
    range: Range<usize>,
    /// How much of it is there, in bytes.
    resident: u64,
}

/// The parts of files that cannot be written to, and in which nothing was changed when they were loaded.
fn held(smaps: &str) -> Vec<Held> {
    let mut all: Vec<(Held, bool)> = Vec::new();
    for line in smaps.lines() {
        if let Some((range, is_files)) = mapping(line) {
            all.push((Held { range, resident: 0 }, is_files));
        } else if let Some((held, is_same)) = all.last_mut() {
            let kilobytes = |name: &str| {
                let value = line.strip_prefix(name)?.trim().strip_suffix("kB")?;
                value.trim().parse::<u64>().ok()
            };
            held.resident = kilobytes("Rss:").map_or(held.resident, |resident| resident * 1024);
            *is_same &= kilobytes("Anonymous:").is_none_or(|changed| changed == 0);
        }
    }
    all.into_iter().filter_map(|(held, is_same)| is_same.then_some(held)).collect()
}

/// A line that begins a mapping: where it is, and whether it is of a file that nobody can write to here.
fn mapping(line: &str) -> Option<(Range<usize>, bool)> {
    let mut words = line.splitn(6, ' ');
    let (begin, end) = words.next()?.split_once('-')?;
    let address = |text: &str| usize::from_str_radix(text, 16).ok();
    let range = address(begin)?..address(end)?;
    let rights = words.next()?;
    let path = words.nth(3).unwrap_or_default().trim_start();
    let is_unwritable = !rights.contains('w') && rights.ends_with('p');
    Some((range, is_unwritable && path.starts_with('/')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_of_a_file_and_unchanged_is_given_back() {
        let smaps = "\
            1000-3000 r--p 00000000 fe:00 12    /bin/p\nRss:   8 kB\nAnonymous:    0 kB\nVmFlags: rd\n\
            3000-9000 r-xp 00002000 fe:00 12    /bin/p\nRss:  16 kB\nAnonymous:    0 kB\n\
            9000-a000 r--p 00008000 fe:00 12    /bin/p\nRss:   4 kB\nAnonymous:    4 kB\n\
            a000-b000 rw-p 00009000 fe:00 12    /bin/p\nRss:   4 kB\nAnonymous:    0 kB\n\
            b000-c000 r--p 00000000 00:00 0 \nRss:   4 kB\nAnonymous:    0 kB\n\
            c000-d000 r--s 00000000 fe:00 14    /shared\nRss:   4 kB\nAnonymous:    0 kB\n\
            d000-e000 r-xp 00000000 00:00 0     [vdso]\nRss:   4 kB\nAnonymous:    0 kB\n\
            e000-f000 r-xp 00000000 fe:00 13    /lib/p q\nRss:   4 kB\nAnonymous:    0 kB\n";
        let part = |range, resident| Held { range, resident };
        let given_back =
            [part(0x1000..0x3000, 8192), part(0x3000..0x9000, 16384), part(0xe000..0xf000, 4096)];
        assert_eq!(held(smaps), given_back);
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
