//! The last steps of a warden's child before it becomes the command.

use std::ffi::{CString, OsStr};
use std::io;
use std::os::unix::ffi::OsStrExt;

use rustix::process::{Resource, Rlimit, Signal};

use super::door::Door;
use super::watch::Files;
use super::{Doing, Failure};
use crate::command::Limits;
use crate::sandbox::layers::Layers;
use crate::sandbox::{Sandbox, enter, seccomp};
use crate::sys;
use crate::wire::Request;

/// Starts the command and returns its number once it runs.
pub(super) fn start(
    request: &Request,
    files: &Files,
    filters: &seccomp::Filters,
    layers: &mut Layers,
    proxy: Option<&Door>,
) -> Result<i32, Failure> {
    let program = c_string(request.program.as_os_str())?;
    let args = [request.program.as_os_str()].into_iter().chain(request.args.iter().map(|a| &**a));
    let args = args.map(c_string).collect::<Result<Vec<_>, _>>()?;
    let env = environment(request, proxy)?;
    // The child writes it into our memory; if it becomes the command, there is nothing to write.
    let mut failure = None;
    let child = sys::fork_sharing(0, &mut || {
        failure = Some(match prepare(request, files, filters, layers) {
            Ok(()) => {
                let error = sys::exec(&program, &args, &env);
                Failure::of(format!("run {}", request.program.display()), &error)
            }
            Err(failure) => failure,
        });
        127
    });
    let pid = child.doing(|| "make a process".into())?;
    match failure {
        Some(failure) => Err(failure),
        None => Ok(pid.as_raw_nonzero().get()),
    }
}

/// Closes this process's copies of the command's input and output.
pub(super) fn release_output(files: &Files) -> io::Result<()> {
    let nothing = rustix::fs::open("/dev/null", rustix::fs::OFlags::RDWR, 0.into())?;
    for file in [&files.input, &files.output, &files.errors] {
        // Replaced rather than closed: the owner of the number closes it later.
        sys::replace(file, &nothing)?;
    }
    Ok(())
}

/// Everything between fork and exec. Nothing of the warden is left after it.
fn prepare(
    request: &Request,
    files: &Files,
    filters: &seccomp::Filters,
    layers: &mut Layers,
) -> Result<(), Failure> {
    rustix::process::setsid().doing(|| "make a session".into())?;
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .doing(|| "follow the warden".into())?;
    if request.terminal.is_some() {
        rustix::process::ioctl_tiocsctty(&files.output).doing(|| "take the terminal".into())?;
    }
    let io = |result: rustix::io::Result<()>| result.doing(|| "set input and output".into());
    io(rustix::stdio::dup2_stdin(&files.input))?;
    io(rustix::stdio::dup2_stdout(&files.output))?;
    io(rustix::stdio::dup2_stderr(&files.errors))?;
    let cwd = &request.cwd;
    rustix::process::chdir(cwd).doing(|| format!("enter {}", cwd.display()))?;
    sys::close_from_on_exec(3).doing(|| "close files".into())?;
    sys::reset_signals();
    limit(&request.limits)?;
    if let Sandbox::Confined(confinement) = &request.sandbox {
        enter::confine(confinement, filters, layers)?;
    }
    Ok(())
}

fn limit(limits: &Limits) -> Result<(), Failure> {
    let wanted = [
        (Resource::Core, Some(0)),
        (Resource::Cpu, limits.cpu_seconds),
        (Resource::Fsize, limits.file_bytes),
        (Resource::As, limits.memory_bytes),
        (Resource::Nproc, limits.processes),
    ];
    for (resource, limit) in wanted {
        let Some(limit) = limit else { continue };
        let already = rustix::process::getrlimit(resource);
        let limit = already.maximum.map_or(limit, |maximum| maximum.min(limit));
        let both = Rlimit { current: Some(limit), maximum: Some(limit) };
        rustix::process::setrlimit(resource, both).doing(|| format!("limit {resource:?}"))?;
    }
    Ok(())
}

fn environment(request: &Request, proxy: Option<&Door>) -> Result<Vec<CString>, Failure> {
    let proxies = proxy.map(Door::variables).unwrap_or_default();
    let is_ours = |name: &OsStr| proxies.iter().any(|(own, _)| name == *own);
    let given = request.env.iter().filter(|(name, _)| !is_ours(name));
    let given = given.map(|(name, value)| (name.as_os_str(), value.as_os_str()));
    let ours = proxies.iter().map(|(name, value)| (OsStr::new(name), OsStr::new(value)));
    let lines = given.chain(ours).map(|(name, value)| {
        c_string(OsStr::from_bytes(&[name.as_bytes(), b"=", value.as_bytes()].concat()))
    });
    lines.collect()
}

fn c_string(text: &OsStr) -> Result<CString, Failure> {
    CString::new(text.as_bytes())
        .map_err(|_| Failure { what: "pass on a text that holds a zero byte".into(), errno: 0 })
}
