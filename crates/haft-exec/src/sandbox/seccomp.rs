//! System calls that no build needs and that escapes are made of.

use std::collections::BTreeMap;

use libc::c_long;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter, sock_filter,
};

use super::{Confinement, UnixSockets};
use crate::warden::Failure;

/// Refused as if the kernel did not have them: programs then take another way.
const UNKNOWN: &[c_long] = &[
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // Their flags are in memory, where a filter cannot look. Both have older forms that can be seen.
    libc::SYS_clone3,
    libc::SYS_openat2,
];

/// Refused as not permitted.
const FORBIDDEN: &[c_long] = &[
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // The file system's shape, and files by number instead of name.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_fanotify_init,
    // Namespaces.
    libc::SYS_unshare,
    libc::SYS_setns,
    // Keys, programs and events inside the kernel.
    libc::SYS_bpf,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_userfaultfd,
    libc::SYS_perf_event_open,
    libc::SYS_lookup_dcookie,
    // The machine.
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_syslog,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_vhangup,
];

/// Calls with a mode, and which argument it is: none may make a program that changes user.
const WITH_MODE: &[(c_long, u8)] = &[
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (SYS_FCHMODAT2, 2),
    (libc::SYS_openat, 3),
    (libc::SYS_mknodat, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, 1),
];

/// The same number on every architecture, and newer than some C libraries.
const SYS_FCHMODAT2: c_long = 452;

/// The oldest form of a raw socket, which the C library tells nobody to use.
const SOCK_PACKET: i32 = 10;

/// Numbers from here on are another set of the same calls on x86-64, which no filter below looks at.
const X32: u32 = 0x4000_0000;

/// Compiled filters. The keeper compiles them once; its copies apply them.
#[derive(Default)]
pub(crate) struct Filters(Vec<(UnixSockets, bool, Vec<BpfProgram>)>);

impl Filters {
    /// Compiles what `confinement` needs, if that has not been done.
    pub(crate) fn prepare(&mut self, confinement: &Confinement) {
        let unix = confinement.unix_sockets;
        for offline in [false, true] {
            if self.find(unix, offline).is_none()
                && let Ok(programs) = compile(unix, offline)
            {
                self.0.push((unix, offline, programs));
            }
        }
    }

    /// Applies the filters to this process for good. `offline` forbids every socket of the internet,
    /// where there is no network of its own to be offline in.
    pub(super) fn apply(&self, confinement: &Confinement, offline: bool) -> Result<(), Failure> {
        let failed =
            |why: String| Failure { what: format!("filter system calls: {why}"), errno: 0 };
        let programs = self.find(confinement.unix_sockets, offline);
        for program in programs.ok_or_else(|| failed("no filter for this processor".into()))? {
            apply_filter(program).map_err(|error| failed(error.to_string()))?;
        }
        Ok(())
    }

    fn find(&self, unix: UnixSockets, offline: bool) -> Option<&[BpfProgram]> {
        let found = self.0.iter().find(|(one, off, _)| *one == unix && *off == offline);
        found.map(|(_, _, programs)| programs.as_slice())
    }
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;
type Compiled<T> = Result<T, Box<dyn std::error::Error>>;

fn compile(unix: UnixSockets, offline: bool) -> Compiled<Vec<BpfProgram>> {
    let unknown: Rules = UNKNOWN.iter().map(|call| (*call, Vec::new())).collect();
    let mut forbidden: Rules = FORBIDDEN.iter().map(|call| (*call, Vec::new())).collect();
    forbidden.insert(libc::SYS_socket, sockets(unix, offline)?);
    forbidden.insert(libc::SYS_socketpair, vec![rule([(0, is_not(libc::AF_UNIX))])?]);
    forbidden.insert(libc::SYS_clone, new_namespaces()?);
    forbidden.insert(libc::SYS_ioctl, terminal_input()?);
    // Limits of another process: the warden has the same user.
    forbidden.insert(libc::SYS_prlimit64, vec![rule([(0, is_not(0))])?]);
    for (call, argument) in WITH_MODE {
        let bits = [0o4000_u64, 0o2000];
        let rules = bits.map(|bit| rule([(*argument, (SeccompCmpOp::MaskedEq(bit), bit))]));
        forbidden.insert(*call, rules.into_iter().collect::<Compiled<_>>()?);
    }
    Ok(vec![program(unknown, libc::ENOSYS)?, program(forbidden, libc::EPERM)?])
}

/// Families other than these are refused, and raw and multipath sockets of the internet.
fn sockets(unix: UnixSockets, offline: bool) -> Compiled<Vec<SeccompRule>> {
    let mut families = vec![libc::AF_NETLINK];
    if !offline {
        families.extend([libc::AF_INET, libc::AF_INET6]);
    }
    if unix == UnixSockets::Allowed {
        families.push(libc::AF_UNIX);
    }
    let mut rules = vec![rule(families.iter().map(|family| (0, is_not(*family))))?];
    for family in [libc::AF_INET, libc::AF_INET6] {
        for kind in [libc::SOCK_RAW, SOCK_PACKET] {
            let kind = (SeccompCmpOp::MaskedEq(0xf), kind.unsigned_abs().into());
            rules.push(rule([(0, is(family)), (1, kind)])?);
        }
        rules.push(rule([(0, is(family)), (2, is(libc::IPPROTO_MPTCP))])?);
    }
    Ok(rules)
}

fn new_namespaces() -> Compiled<Vec<SeccompRule>> {
    let flags = [
        libc::CLONE_NEWUSER,
        libc::CLONE_NEWNS,
        libc::CLONE_NEWPID,
        libc::CLONE_NEWNET,
        libc::CLONE_NEWIPC,
        libc::CLONE_NEWUTS,
        libc::CLONE_NEWCGROUP,
    ];
    let with = |flag: i32| {
        let bit = u64::from(flag.unsigned_abs());
        rule([(0, (SeccompCmpOp::MaskedEq(bit), bit))])
    };
    flags.into_iter().map(with).collect()
}

/// Typing into a terminal as if the user did.
fn terminal_input() -> Compiled<Vec<SeccompRule>> {
    [libc::TIOCSTI, libc::TIOCLINUX, libc::TIOCSETD]
        .into_iter()
        .map(|request| rule([(1, (SeccompCmpOp::Eq, u64::from(request as u32)))]))
        .collect()
}

type Test = (SeccompCmpOp, u64);

fn is(value: i32) -> Test {
    (SeccompCmpOp::Eq, value.unsigned_abs().into())
}

fn is_not(value: i32) -> Test {
    (SeccompCmpOp::Ne, value.unsigned_abs().into())
}

/// True where every test of an argument is. The kernel looks at the lower half of each, and so do we.
fn rule(tests: impl IntoIterator<Item = (u8, Test)>) -> Compiled<SeccompRule> {
    let conditions = tests.into_iter().map(|(argument, (operator, value))| {
        SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
    });
    Ok(SeccompRule::new(conditions.collect::<Result<_, _>>()?)?)
}

fn program(rules: Rules, errno: i32) -> Compiled<BpfProgram> {
    let arch: TargetArch = std::env::consts::ARCH.try_into()?;
    let refuse = SeccompAction::Errno(errno.unsigned_abs());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch)?;
    let filter: BpfProgram = filter.try_into()?;
    let x32 = if cfg!(target_arch = "x86_64") { refuse_x32().to_vec() } else { Vec::new() };
    Ok(x32.into_iter().chain(filter).collect())
}

/// Three instructions before the filter: the number of the call, is it high, then it is unknown.
fn refuse_x32() -> [sock_filter; 3] {
    let instruction = |code: u32, jt, jf, k| sock_filter { code: code as u16, jt, jf, k };
    let unknown = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.unsigned_abs();
    [
        instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        instruction(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, 0, 1, X32),
        instruction(libc::BPF_RET | libc::BPF_K, 0, 0, unknown),
    ]
}
