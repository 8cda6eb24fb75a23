//! The world outside of the sandbox: files, secrets, listeners, a process; and a look at all of it.

use std::ffi::OsString;
use std::io::Read;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

/// What no confined command may ever say.
pub(super) const SECRET: &str = "the-secret-that-must-not-be-read";

pub(super) struct Outside {
    top: tempfile::TempDir,
    tcp: TcpListener,
    udp: UdpSocket,
    sockets: Vec<UnixListener>,
    abstract_name: String,
    victim: Child,
}

impl Outside {
    pub(super) fn new() -> Self {
        // Not below /tmp, which is private inside and so hides everything by itself.
        let base = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let beside = tempfile::Builder::new().prefix("escape-").tempdir_in(base);
        let top = beside.or_else(|_| tempfile::tempdir()).unwrap();
        let at = |name: &str| top.path().join(name);
        for folder in ["out/sub", "work/.git/hooks", "work/deep/er", "secrets/inner", "state"] {
            fs_err::create_dir_all(at(folder)).unwrap();
        }
        for file in [
            "out/victim",
            "out/sub/other",
            "work/.git/config",
            "work/.git/hooks/sample",
            "work/deep/er/config",
            "out/target.toml",
        ] {
            fs_err::write(at(file), "as it was\n").unwrap();
        }
        for file in ["secrets/key", "secrets/inner/key", "state/db", "secret-file", "work/.env"] {
            fs_err::write(at(file), SECRET).unwrap();
        }
        fs_err::set_permissions(at("out/victim"), std::fs::Permissions::from_mode(0o644)).unwrap();
        symlink(at("out"), at("work/link")).unwrap();
        symlink(at("secret-file"), at("work/secret-link")).unwrap();
        symlink(at("out/target.toml"), at("work/linked.toml")).unwrap();
        let abstract_name = crate::world::mark("abstract");
        let address = SocketAddr::from_abstract_name(&abstract_name).unwrap();
        let sockets = vec![
            UnixListener::bind(at("out/socket")).unwrap(),
            UnixListener::bind(at("work/socket")).unwrap(),
            UnixListener::bind_addr(&address).unwrap(),
        ];
        sockets.iter().for_each(|socket| socket.set_nonblocking(true).unwrap());
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        tcp.set_nonblocking(true).unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        udp.set_nonblocking(true).unwrap();
        let victim = std::process::Command::new("sleep")
            .arg("1000")
            .env("SECRET_OF_VICTIM", SECRET)
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        Self { top, tcp, udp, sockets, abstract_name, victim }
    }

    pub(super) fn at(&self, name: &str) -> PathBuf {
        fs_err::canonicalize(self.top.path()).unwrap().join(name)
    }

    pub(super) fn work(&self) -> PathBuf {
        self.at("work")
    }

    pub(super) fn hidden(&self) -> Vec<PathBuf> {
        ["secrets", "state", "secret-file", "work/.env"].map(|name| self.at(name)).into()
    }

    /// What a probe needs to know to do harm.
    pub(super) fn environment(&self) -> Vec<(OsString, OsString)> {
        let path = |name: &str| self.at(name).into_os_string();
        let mut all: Vec<(OsString, OsString)> = vec![
            ("PATH".into(), "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".into()),
            ("O".into(), path("out")),
            ("W".into(), path("work")),
            ("TOP".into(), path("")),
            ("BUILT".into(), crate::world::built().into_os_string()),
            ("SECRETS".into(), path("secrets")),
            ("SECRET_FILE".into(), path("secret-file")),
            ("STATE".into(), path("state")),
            ("VICTIM".into(), self.victim.id().to_string().into()),
            ("RUNTIME".into(), std::process::id().to_string().into()),
            ("TCP".into(), self.tcp.local_addr().unwrap().port().to_string().into()),
            ("UDP".into(), self.udp.local_addr().unwrap().port().to_string().into()),
            ("ABSTRACT".into(), self.abstract_name.clone().into()),
        ];
        all.push(("HOME".into(), path("work")));
        all
    }

    /// Everything a probe could have changed: files with modes, times and contents, and the process.
    pub(super) fn look(&self) -> Vec<String> {
        let mut seen = Vec::new();
        let mut waiting = vec![self.at("")];
        while let Some(path) = waiting.pop() {
            let Ok(meta) = fs_err::symlink_metadata(&path) else { continue };
            let is_work = path.starts_with(self.work());
            let is_kept = [
                "work/.git/config",
                "work/.git/hooks",
                "work/haft.toml",
                "work/.haft",
                "work/deep/er/config",
                "work/.env",
            ]
            .iter()
            .any(|kept| path.starts_with(self.at(kept)));
            if meta.is_dir() {
                // What a probe copied into the workspace may be unreadable.
                let entries = fs_err::read_dir(&path).into_iter().flatten();
                waiting.extend(entries.map(|entry| entry.unwrap().path()));
            }
            // The workspace itself may change; what is protected in it may not.
            if is_work && !is_kept {
                continue;
            }
            let content =
                if meta.is_file() { fs_err::read(&path).unwrap_or_default() } else { Vec::new() };
            let time = if meta.is_file() { meta.mtime_nsec() } else { 0 };
            let (mode, uid) = (meta.mode(), meta.uid());
            let content = String::from_utf8_lossy(&content).into_owned();
            seen.push(format!("{} {mode:o} {uid} {time} {content}", path.display()));
        }
        let victim = self.victim.id();
        // Asleep or not is its own affair; stopped, dead or gone is not.
        let lives = crate::world::state(victim as i32).is_some_and(|state| "RSDI".contains(state));
        seen.push(format!("victim lives: {lives}"));
        let limits = fs_err::read_to_string(format!("/proc/{victim}/limits")).unwrap_or_default();
        seen.push(limits);
        for file in ["/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname"] {
            seen.push(fs_err::read_to_string(file).unwrap());
        }
        seen.push(fs_err::read_link("/etc/localtime").unwrap_or_default().display().to_string());
        seen.sort();
        seen
    }

    /// How many have reached one of the listeners since the last time.
    pub(super) fn heard(&self) -> usize {
        let mut buffer = [0; 16];
        let mut heard = 0;
        while self.tcp.accept().is_ok() {
            heard += 1;
        }
        while self.udp.recv(&mut buffer).is_ok() {
            heard += 1;
        }
        for socket in &self.sockets {
            while let Ok((mut stream, _)) = socket.accept() {
                heard += 1;
                stream.set_nonblocking(true).unwrap();
                let _nothing = stream.read(&mut buffer);
            }
        }
        heard
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        let _gone = self.victim.kill();
        let _gone = self.victim.wait();
    }
}
