//! Ways out that need a system call of their own.
#![allow(unsafe_code, reason = "an attacker does not keep to what is safe")]

use std::ffi::CString;
use std::io::Write;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

use libc::{c_long, c_void, syscall};

type Call = fn() -> bool;

/// Name and call, which says whether it got what it must not get.
pub(super) const ALL: &[(&str, Call)] = &[
    ("tcp", || std::net::TcpStream::connect(("127.0.0.1", port("TCP"))).is_ok()),
    ("udp", || {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0");
        socket.is_ok_and(|socket| {
            let _refused = socket.send_to(b"x", ("127.0.0.1", port("UDP")));
            false
        })
    }),
    ("mptcp", || socket(libc::AF_INET, libc::SOCK_STREAM, libc::IPPROTO_MPTCP)),
    ("mptcp v6", || socket(libc::AF_INET6, libc::SOCK_STREAM, libc::IPPROTO_MPTCP)),
    ("raw socket", || socket(libc::AF_INET, libc::SOCK_RAW, libc::IPPROTO_ICMP)),
    ("raw socket v6", || socket(libc::AF_INET6, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 58)),
    ("packet socket", || socket(libc::AF_PACKET, libc::SOCK_RAW, 3)),
    ("vsock", || socket(libc::AF_VSOCK, libc::SOCK_STREAM, 0)),
    ("kernel crypto socket", || socket(libc::AF_ALG, libc::SOCK_SEQPACKET, 0)),
    ("bluetooth socket", || socket(libc::AF_BLUETOOTH, libc::SOCK_RAW, 1)),
    ("high bits in a family", || {
        // The kernel looks at the lower half only; a filter must, too.
        raw(libc::SYS_socket, [(1 << 32) | i64::from(libc::AF_PACKET), 3, 3, 0, 0])
    }),
    ("unix socket outside", || UnixStream::connect(format!("{}/socket", text("O"))).is_ok()),
    ("unix socket inside", || UnixStream::connect(format!("{}/socket", text("W"))).is_ok()),
    ("abstract socket", || {
        let address = SocketAddr::from_abstract_name(text("ABSTRACT")).unwrap();
        UnixStream::connect_addr(&address).is_ok()
    }),
    ("bind a unix socket", || UnixListener::bind(format!("{}/mine", text("O"))).is_ok()),
    ("unix datagram", || std::os::unix::net::UnixDatagram::unbound().is_ok()),
    ("io_uring", || {
        let mut params = [0_u8; 256];
        raw(libc::SYS_io_uring_setup, [8, params.as_mut_ptr() as i64, 0, 0, 0])
    }),
    ("ptrace the victim", || {
        raw(libc::SYS_ptrace, [libc::PTRACE_SEIZE.into(), number("VICTIM"), 0, 0, 0])
    }),
    ("ptrace the warden", || raw(libc::SYS_ptrace, [libc::PTRACE_ATTACH.into(), 1, 0, 0, 0])),
    ("read the warden's memory", || read_memory(1)),
    ("read the runtime's memory", || read_memory(number("RUNTIME"))),
    ("write memory through proc", || {
        let file = std::fs::OpenOptions::new().write(true).open("/proc/1/mem");
        file.is_ok()
    }),
    ("take a file of the warden", || {
        let held = call(libc::SYS_pidfd_open, [1, 0, 0, 0, 0]);
        held >= 0 && (0..16).any(|fd| raw(libc::SYS_pidfd_getfd, [held, fd, 0, 0, 0]))
    }),
    ("bpf", || {
        let attributes = [0_u8; 128];
        raw(libc::SYS_bpf, [0, attributes.as_ptr() as i64, 128, 0, 0])
    }),
    ("keyctl", || raw(libc::SYS_keyctl, [0, -3, 1, 0, 0])),
    ("add a key", || {
        let (kind, name) = (c("user"), c("haft"));
        raw(
            libc::SYS_add_key,
            [kind.as_ptr() as i64, name.as_ptr() as i64, name.as_ptr() as i64, 4, -3],
        )
    }),
    ("userfaultfd", || raw(libc::SYS_userfaultfd, [0, 0, 0, 0, 0])),
    ("perf events", || {
        let mut attributes = [0_u8; 128];
        attributes[4] = 128;
        raw(libc::SYS_perf_event_open, [attributes.as_ptr() as i64, 0, -1, -1, 0])
    }),
    ("unshare users", || raw(libc::SYS_unshare, [libc::CLONE_NEWUSER.into(), 0, 0, 0, 0])),
    ("clone into users", || {
        let flags = i64::from(libc::CLONE_NEWUSER | libc::SIGCHLD);
        let child = call(libc::SYS_clone, [flags, 0, 0, 0, 0]);
        if child == 0 {
            // SAFETY: a child that must not be ends at once.
            unsafe { libc::_exit(0) };
        }
        child > 0
    }),
    ("clone3", || {
        let mut arguments = [0_u64; 11];
        arguments[0] = libc::CLONE_NEWUSER as u64;
        arguments[4] = libc::SIGCHLD as u64;
        let child = call(libc::SYS_clone3, [arguments.as_mut_ptr() as i64, 88, 0, 0, 0]);
        if child == 0 {
            // SAFETY: a child that must not be ends at once.
            unsafe { libc::_exit(0) };
        }
        child > 0
    }),
    ("enter a namespace by file", || {
        let held = call(libc::SYS_pidfd_open, [1, 0, 0, 0, 0]);
        raw(libc::SYS_setns, [held, libc::CLONE_NEWNS.into(), 0, 0, 0])
    }),
    ("mount by call", || {
        let (none, to, kind) = (c("none"), c("/mnt"), c("tmpfs"));
        raw(libc::SYS_mount, [none.as_ptr() as i64, to.as_ptr() as i64, kind.as_ptr() as i64, 0, 0])
    }),
    ("new mount calls", || {
        let (root, kind) = (c("/"), c("tmpfs"));
        raw(libc::SYS_open_tree, [-100, root.as_ptr() as i64, 1, 0, 0])
            || raw(libc::SYS_fsopen, [kind.as_ptr() as i64, 0, 0, 0, 0])
    }),
    ("make mounts writable", || {
        let root = c("/");
        let attributes: [u64; 4] = [0, libc::MOUNT_ATTR_RDONLY, 0, 0];
        let arguments = [-100, root.as_ptr() as i64, 0x8000, attributes.as_ptr() as i64, 32];
        raw(libc::SYS_mount_setattr, arguments)
    }),
    ("pivot the root", || {
        let dot = c(".");
        raw(libc::SYS_pivot_root, [dot.as_ptr() as i64, dot.as_ptr() as i64, 0, 0, 0])
    }),
    ("change the root", || {
        let root = c("/");
        raw(libc::SYS_chroot, [root.as_ptr() as i64, 0, 0, 0, 0])
    }),
    ("open by handle", || {
        let root = c("/");
        let mut handle = [0_u8; 140];
        handle[0] = 128;
        let mut mount = 0_i32;
        let arguments =
            [-100, root.as_ptr() as i64, handle.as_mut_ptr() as i64, (&raw mut mount) as i64, 0];
        raw(libc::SYS_name_to_handle_at, arguments)
            || raw(libc::SYS_open_by_handle_at, [-100, handle.as_ptr() as i64, 0, 0, 0])
    }),
    ("load a module", || raw(libc::SYS_init_module, [0, 0, 0, 0, 0])),
    ("load a kernel", || raw(libc::SYS_kexec_load, [0, 0, 0, 0, 0])),
    ("read the kernel's log", || raw(libc::SYS_syslog, [10, 0, 0, 0, 0])),
    ("set the clock", || raw(libc::SYS_clock_settime, [0, [0_i64, 0].as_ptr() as i64, 0, 0, 0])),
    ("set the host's name", || raw(libc::SYS_sethostname, [c("haft").as_ptr() as i64, 4, 0, 0, 0])),
    ("reboot", || raw(libc::SYS_reboot, [0xfee1_dead, 672_274_793, 0, 0, 0])),
    ("type into a terminal", || {
        raw(libc::SYS_ioctl, [0, libc::TIOCSTI as i64, c("x").as_ptr() as i64, 0, 0])
    }),
    ("gain capabilities", || {
        let header = [0x2008_0522_u32, 0];
        let sets = [u32::MAX; 6];
        raw(libc::SYS_capset, [header.as_ptr() as i64, sets.as_ptr() as i64, 0, 0, 0])
    }),
    ("become another user", || {
        raw(libc::SYS_setresuid, [12345, 12345, 12345, 0, 0])
            || raw(libc::SYS_setgroups, [0, 0, 0, 0, 0])
    }),
    ("kill by call", || {
        raw(libc::SYS_kill, [number("VICTIM"), 9, 0, 0, 0])
            || raw(libc::SYS_kill, [number("RUNTIME"), 0, 0, 0, 0])
    }),
    ("limit the warden", || {
        let limits = [1_u64, 1];
        raw(libc::SYS_prlimit64, [1, 7, limits.as_ptr() as i64, 0, 0])
    }),
    ("exchange what is protected", || {
        fs_err::write("mine", "mine").unwrap();
        let (from, to) = (c("mine"), c(".git/config"));
        let arguments = [-100, from.as_ptr() as i64, -100, to.as_ptr() as i64, 2];
        raw(libc::SYS_renameat2, arguments)
    }),
    ("link a file that is open", || {
        let secret = c(&text("SECRET_FILE"));
        let open =
            call(libc::SYS_openat, [-100, secret.as_ptr() as i64, libc::O_PATH.into(), 0, 0]);
        let (from, to) = (c(&format!("/proc/self/fd/{open}")), c("linked"));
        let arguments = [-100, from.as_ptr() as i64, -100, to.as_ptr() as i64, 0x400];
        raw(libc::SYS_linkat, arguments)
    }),
    ("a file without a name outside", || {
        let out = c(&text("O"));
        let flags = i64::from(libc::O_TMPFILE | libc::O_RDWR);
        raw(libc::SYS_openat, [-100, out.as_ptr() as i64, flags, 0o600, 0])
    }),
    ("attributes outside", || {
        let (path, name) = (c(&format!("{}/victim", text("O"))), c("user.haft"));
        let arguments = [path.as_ptr() as i64, name.as_ptr() as i64, name.as_ptr() as i64, 4, 0];
        raw(libc::SYS_setxattr, arguments)
    }),
    ("mode by the new call", || {
        let path = c(&format!("{}/victim", text("O")));
        raw(452, [-100, path.as_ptr() as i64, 0o777, 0, 0])
    }),
    ("set-user-id on making", || {
        let path = c("setuid");
        let flags = i64::from(libc::O_CREAT | libc::O_WRONLY);
        raw(libc::SYS_openat, [-100, path.as_ptr() as i64, flags, 0o4755, 0])
    }),
    ("openat2", || {
        let (path, how) = (c("setuid2"), [libc::O_CREAT as u64 | 1, 0o4755, 0]);
        raw(libc::SYS_openat2, [-100, path.as_ptr() as i64, how.as_ptr() as i64, 24, 0])
    }),
    ("a device node", || {
        let path = c("node");
        raw(
            libc::SYS_mknodat,
            [-100, path.as_ptr() as i64, i64::from(libc::S_IFBLK | 0o600), 0xfe00, 0],
        )
    }),
    ("another set of calls", || {
        // The numbers of x32: what a filter for one set does not look at.
        raw(0x4000_0000 | libc::SYS_socket, [libc::AF_PACKET.into(), 3, 3, 0, 0])
    }),
    ("quotas and accounting", || raw(libc::SYS_acct, [0, 0, 0, 0, 0])),
    ("watch the file system", || raw(libc::SYS_fanotify_init, [0, 0, 0, 0, 0])),
];

/// Does nothing in an ordinary run; confined, it makes the one call it is named for.
#[test]
fn a_call() {
    let name = std::env::args().find_map(|arg| arg.strip_prefix("--skip=").map(str::to_owned));
    if std::env::var_os("VICTIM").is_none() {
        return;
    }
    let (name, call) = ALL.iter().find(|(one, _)| Some(*one) == name.as_deref()).unwrap();
    if call() {
        std::io::stdout().write_all(format!("ESCAPED by {name}\n").as_bytes()).unwrap();
    }
}

fn call(number: c_long, [a, b, c, d, e]: [i64; 5]) -> i64 {
    // SAFETY: every pointer among the arguments is to something that the caller keeps, as large as the
    // call expects; where it is not, the kernel refuses, which is what is tried.
    unsafe { syscall(number, a, b, c, d, e) }
}

fn raw(number: c_long, arguments: [i64; 5]) -> bool {
    call(number, arguments) >= 0
}

fn socket(family: i32, kind: i32, protocol: i32) -> bool {
    raw(libc::SYS_socket, [family.into(), kind.into(), protocol.into(), 0, 0])
}

fn read_memory(pid: i64) -> bool {
    let mut byte = 0_u8;
    let local = libc::iovec { iov_base: (&raw mut byte).cast::<c_void>(), iov_len: 1 };
    let remote = libc::iovec { iov_base: std::ptr::without_provenance_mut(0x40_0000), iov_len: 1 };
    let arguments = [pid, (&raw const local) as i64, 1, (&raw const remote) as i64, 1];
    // Not there is as telling as read: only "not permitted" and "no such process" are right.
    let result = call(libc::SYS_process_vm_readv, arguments);
    let refused = std::io::Error::last_os_error().raw_os_error();
    result >= 0 || !matches!(refused, Some(libc::EPERM | libc::ESRCH))
}

fn c(text: &str) -> CString {
    CString::new(text).unwrap()
}

fn text(name: &str) -> String {
    std::env::var(name).unwrap()
}

fn number(name: &str) -> i64 {
    text(name).parse().unwrap()
}

fn port(name: &str) -> u16 {
    text(name).parse().unwrap()
}
