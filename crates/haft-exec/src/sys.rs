//! The calls that have no safe form: making processes, becoming another program, a few of the kernel's own.
//!
//! Everything here but [`wait_on`], [`share_heap`] and [`forget_program`] runs in the keeper and below it,
//! which have a single thread. All `unsafe` of the project is in this file.
#![allow(unsafe_code, reason = "a process is made by calls that have no safe form")]

use std::ffi::{CStr, CString};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use libc::{c_char, c_int, c_long, c_ulong, c_void};
use rustix::process::Pid;
use tokio::io::unix::AsyncFd;

/// On which side of a fork one is.
pub(crate) enum Side {
    Parent(Pid),
    Child,
}

/// Makes a copy of this process; `namespaces` are `CLONE_NEW…` flags for the copy, or 0.
pub(crate) fn fork(namespaces: c_int) -> io::Result<Side> {
    let flags = c_long::from(namespaces | libc::SIGCHLD);
    // SAFETY: without CLONE_VM and without a stack of its own the child has a copy of everything, as
    // after fork. The caller's process has one thread, so no lock is held by a thread that the child
    // does not have.
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) };
    match pid {
        -1 => Err(io::Error::last_os_error()),
        pid => Ok(Pid::from_raw(pid as i32).map_or(Side::Child, Side::Parent)),
    }
}

/// How much stack a child has between its making and its program.
const CHILD_STACK: usize = 512 * 1024;

/// Makes a child that does `work` in our memory while we wait, until it is another program or has ended
/// with what `work` returns. A copy of our memory would be made only to be thrown away.
///
/// `also` are further `CLONE_…` flags, or 0: namespaces of its own, or `CLONE_FILES`, by which what
/// it opens is open here.
pub(crate) fn fork_sharing(also: c_int, mut work: &mut dyn FnMut() -> c_int) -> io::Result<Pid> {
    extern "C" fn begin(work: *mut c_void) -> c_int {
        // SAFETY: it is the pointer given to `clone` below, to something that outlives the child's use
        // of it, as the parent does not go on before the child is done.
        let work = unsafe { &mut *work.cast::<&mut dyn FnMut() -> c_int>() };
        work()
    }
    let mut stack = vec![MaybeUninit::<u128>::uninit(); CHILD_STACK / size_of::<u128>()];
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD | also;
    // SAFETY: the stack grows down from the end of a block that lives until the child is done with it,
    // and is aligned. Memory is shared, but the one thread of this process stands still meanwhile, so
    // nothing is used by two at once.
    let pid = unsafe {
        let top = stack.as_mut_ptr().add(stack.len());
        libc::clone(begin, top.cast(), flags, (&raw mut work).cast())
    };
    Pid::from_raw(pid).filter(|_| pid > 0).ok_or_else(io::Error::last_os_error)
}

/// Becomes another program. Comes back only if that failed.
pub(crate) fn exec(program: &CStr, args: &[CString], env: &[CString]) -> io::Error {
    let pointers = |list: &[CString]| -> Vec<*const c_char> {
        list.iter().map(|item| item.as_ptr()).chain([std::ptr::null()]).collect()
    };
    let (args, env) = (pointers(args), pointers(env));
    // SAFETY: both lists end with a null and point to strings that end with one and outlive the call.
    unsafe { libc::execve(program.as_ptr(), args.as_ptr(), env.as_ptr()) };
    io::Error::last_os_error()
}

/// Ends this process at once, without what a program does at its end.
pub(crate) fn exit(code: c_int) -> ! {
    // SAFETY: it does not return and touches no memory.
    unsafe { libc::_exit(code) }
}

/// Makes the number of `file` mean what `by` means; whoever owns it still closes it.
pub(crate) fn replace(file: &OwnedFd, by: &OwnedFd) -> io::Result<()> {
    // SAFETY: both are open, and the number of `file` stays open and owned by the same owner.
    check(unsafe { libc::dup3(by.as_raw_fd(), file.as_raw_fd(), libc::O_CLOEXEC) }.into())
}

/// Closes every file from 3 on that is not one of `kept`.
///
/// Owners of those files must not be dropped any more: this is for a process that ends by [`exit`].
pub(crate) fn close_all_but(mut kept: Vec<c_int>) {
    kept.sort_unstable();
    let mut first = 3;
    for fd in kept.into_iter().chain([c_int::MAX]) {
        if first < fd {
            // SAFETY: as the caller promises, nothing uses these files again. That the kernel is too
            // old for this call is found out by the next one that needs it.
            unsafe { libc::syscall(libc::SYS_close_range, first, fd - 1, 0) };
        }
        first = fd.saturating_add(1).max(first);
    }
}

/// Marks every file from `first` on as closed by `exec`.
pub(crate) fn close_from_on_exec(first: c_int) -> io::Result<()> {
    // SAFETY: files stay open; only a flag of each changes.
    check(unsafe {
        libc::syscall(libc::SYS_close_range, first, c_int::MAX, libc::CLOSE_RANGE_CLOEXEC)
    })
}

/// A file that can be read when a child has ended. The signal itself is blocked.
pub(crate) fn child_signals() -> io::Result<OwnedFd> {
    let mut set = MaybeUninit::uninit();
    // SAFETY: the set is made by the first call and only read after it; the descriptor is new, so it
    // has no other owner.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), libc::SIGCHLD);
        check(libc::sigprocmask(libc::SIG_BLOCK, set.as_ptr(), std::ptr::null_mut()).into())?;
        let fd = libc::signalfd(-1, set.as_ptr(), libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
        check(fd.into())?;
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

/// Every signal as a fresh program finds it: not blocked, not ignored.
///
/// Asks the kernel itself: the C library keeps two signals for its threads and refuses to touch them.
pub(crate) fn reset_signals() {
    // The kernel's own structure: handler, flags, restorer and mask, of which zero is the default.
    let default = [0_u64; 4];
    for signal in 1..=64 {
        // SAFETY: the default action needs no handler that could be gone. The structure is at least as
        // large as the kernel's and only read. KILL and STOP are refused, which is as good.
        unsafe {
            let none = std::ptr::null_mut::<u64>();
            libc::syscall(libc::SYS_rt_sigaction, signal, default.as_ptr(), none, 8_usize);
        }
    }
    // SAFETY: the set is made by the first call and only read after it.
    unsafe {
        let mut set = MaybeUninit::uninit();
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigprocmask(libc::SIG_SETMASK, set.as_ptr(), std::ptr::null_mut());
    }
}

/// Ignores the signals by which a terminal or a broken pipe would end a keeper.
pub(crate) fn ignore_signals() {
    // SAFETY: ignoring needs no handler.
    unsafe {
        for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGPIPE] {
            libc::signal(signal, libc::SIG_IGN);
        }
    }
}

/// A child that has ended, with what it used.
pub(crate) struct Reaped {
    pub(crate) pid: i32,
    pub(crate) status: c_int,
    pub(crate) user_us: u64,
    pub(crate) system_us: u64,
    pub(crate) peak_kib: u64,
}

/// Takes one ended child away, if there is one.
///
/// # Errors
/// `ECHILD` if there are no children at all.
pub(crate) fn reap() -> io::Result<Option<Reaped>> {
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: both places are ours and of the right type; a zeroed `rusage` is a valid one.
    let (pid, usage) = unsafe {
        let pid = libc::wait4(-1, &raw mut status, libc::WNOHANG, usage.as_mut_ptr());
        (pid, usage.assume_init())
    };
    check(pid.into())?;
    let micros = |time: libc::timeval| {
        u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000
            + u64::try_from(time.tv_usec).unwrap_or(0)
    };
    Ok((pid > 0).then(|| Reaped {
        pid,
        status,
        user_us: micros(usage.ru_utime),
        system_us: micros(usage.ru_stime),
        peak_kib: u64::try_from(usage.ru_maxrss).unwrap_or(0),
    }))
}

/// Sends `signal` to every process of the pid namespace whose first process this is.
pub(crate) fn signal_all(signal: c_int) {
    // SAFETY: it touches no memory. The caller is the first process of a namespace, so nothing
    // outside of it can be meant.
    unsafe { libc::kill(-1, signal) };
}

/// Makes everything below `tree` read-only (or not), without set-user-id and without devices.
pub(crate) fn restrict_mounts(tree: BorrowedFd<'_>, set: u64) -> io::Result<()> {
    let attributes = libc::mount_attr { attr_set: set, attr_clr: 0, propagation: 0, userns_fd: 0 };
    // SAFETY: the structure is whole, lives through the call, and its size is told.
    check(unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            tree.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH | libc::AT_RECURSIVE,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    })
}

/// Brings the loopback of this network namespace up.
pub(crate) fn loopback_up(socket: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: a zeroed `ifreq` is a valid one: numbers and a name that ends with a zero.
    let mut request = unsafe { MaybeUninit::<libc::ifreq>::zeroed().assume_init() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        *to = *from as c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as i16;
    // SAFETY: the request reads the name and the flags of the structure, which outlives the call.
    check(
        unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS as _, &raw const request) }
            .into(),
    )
}

/// Sets the one value of `prctl` that matters for `option`.
pub(crate) fn prctl(option: c_int, value: c_ulong) -> io::Result<()> {
    // SAFETY: the options used in this crate take a number, never a pointer.
    check(unsafe { libc::prctl(option, value, 0, 0, 0) }.into())
}

/// A file that can be waited on.
///
/// # Panics
/// Outside of a tokio runtime with I/O.
pub(crate) fn wait_on(file: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` is open and its number stays the same while it is owned, and the result owns
    // it until it is dropped.
    Ok(unsafe { AsyncFd::register(file) }?)
}

/// Lets go of the pages of the program and its libraries that nobody can write to.
pub(crate) fn forget_program() {
    // SAFETY: `forget` takes what it is given here: descriptions of what is loaded, and nothing of ours.
    unsafe { libc::dl_iterate_phdr(Some(forget), std::ptr::null_mut()) };
}

/// One loaded file, while nobody loads or unloads any.
unsafe extern "C" fn forget(loaded: *mut libc::dl_phdr_info, _: usize, _: *mut c_void) -> c_int {
    // SAFETY: the loader, which holds its lock meanwhile, lends both the description and its headers.
    let (loaded, headers) = unsafe {
        let loaded = &*loaded;
        (loaded, std::slice::from_raw_parts(loaded.dlpi_phdr, loaded.dlpi_phnum.into()))
    };
    let unwritable =
        headers.iter().filter(|it| it.p_type == libc::PT_LOAD && it.p_flags & libc::PF_W == 0);
    for header in unwritable {
        // Pages at the edges may be shared with what can be written to.
        let page = rustix::param::page_size();
        let start = (loaded.dlpi_addr + header.p_vaddr) as usize;
        let end = (start + header.p_memsz as usize) / page * page;
        let start = start.next_multiple_of(page);
        // SAFETY: it stays loaded, as the loader holds its lock. What cannot be written to is as it is in
        // the file, where whoever reads it next finds it; what is changed while loading is in segments
        // that can be written to. If nothing is given back, nothing was changed.
        unsafe {
            let begin = std::ptr::with_exposed_provenance_mut(start);
            libc::madvise(begin, end.saturating_sub(start), libc::MADV_DONTNEED);
        }
    }
    0
}

/// Limits the heaps of all threads to one, where that can be said.
pub(crate) fn share_heap() {
    #[cfg(target_env = "gnu")]
    // SAFETY: both set a number in the allocator, under the allocator's own lock. If it cannot, nothing changes.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
        // Small pieces that are kept apart would be put together again whenever a large one is needed.
        libc::mallopt(libc::M_MXFAST, 0);
    }
}

fn check(result: c_long) -> io::Result<()> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
