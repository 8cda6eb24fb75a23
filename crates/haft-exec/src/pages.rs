//! The memory that this process holds: pages of its program's files, and heaps.

use crate::sys;

/// Gives back the pages of the program and its libraries: most were needed to start, and never again. What
/// is still needed comes back when it is used, from the system's memory.
pub fn release_program_pages() {
    sys::forget_program();
}

/// Has all threads take memory from one heap. Each would otherwise have its own, and hold on to what it
/// once took; that is good for those who take a lot at once.
pub fn share_heap() {
    sys::share_heap();
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;

    /// So large that nobody else's reading brings its middle into memory.
    static TABLE: [u8; 1 << 20] = [7; 1 << 20];

    /// Whether the middle of the table is in the memory of this process.
    fn is_held() -> bool {
        let page = (&raw const TABLE[TABLE.len() / 2]).addr() / rustix::param::page_size();
        let mut entry = [0; 8];
        let pages = fs_err::File::open("/proc/self/pagemap").unwrap();
        pages.file().read_exact_at(&mut entry, page as u64 * 8).unwrap();
        u64::from_ne_bytes(entry) >> 63 == 1
    }

    #[test]
    fn what_a_program_does_not_use_it_does_not_hold_and_it_goes_on_as_if_nothing_had_happened() {
        let is_whole = || std::hint::black_box(&TABLE).iter().all(|byte| *byte == 7);
        assert!(is_whole() && is_held());
        release_program_pages();
        assert!(!is_held());
        assert!(is_whole() && is_held());
        assert!(std::panic::catch_unwind(|| panic!("unwinding reads tables in the file")).is_err());
    }
}
