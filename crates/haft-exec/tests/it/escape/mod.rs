//! Ways out of the sandbox: each is tried for real, and nothing outside may have changed or been read.

mod calls;
mod outside;
mod scripts;

use std::net::IpAddr;
use std::sync::Arc;

use haft_exec::sandbox::{Demand, Kind, Protected};
use haft_exec::{Command, Confinement, Host, Hosts, Keeper, Sandbox};

use crate::world::{keeper, run};
use outside::Outside;

/// Lets every name through that leads to the machine itself, but not there.
#[derive(Debug)]
struct AnyName;

impl Hosts for AnyName {
    fn allows(&self, host: &Host, _: u16) -> bool {
        host.is_loopback()
    }

    fn allows_local(&self, _: &Host, _: IpAddr, _: u16) -> bool {
        false
    }

    fn hint(&self, _: &Host, _: u16) -> String {
        String::new()
    }
}

/// What is tried: a script, or a part of this binary that makes system calls.
struct Probe {
    name: String,
    command: Command,
}

#[tokio::test]
async fn no_probe_has_an_effect_outside() {
    let Some(_) = crate::sandbox::full("no_probe_has_an_effect_outside").await else { return };
    let keeper = keeper();
    let count = scripts::ALL.len() + calls::ALL.len();
    assert!(count >= 100, "{count}");
    let mut escaped = Vec::new();
    for index in 0..count {
        // A new world each: what one leaves in the workspace must not stop another.
        let outside = Outside::new();
        let probe = probes(&outside).swap_remove(index);
        escaped.extend(attempt(&keeper, &outside, &probe).await);
    }
    assert!(escaped.is_empty(), "{} of {count} escaped: {escaped:#?}", escaped.len());
}

/// The same oracle, without the sandbox: it must see what the probes do, or it proves nothing.
#[tokio::test]
async fn the_oracle_sees_what_happens_without_the_sandbox() {
    let keeper = keeper();
    let seen = ["write a new file", "read a secret", "tcp by bash", "change a mode", "write hooks"];
    for name in seen {
        let outside = Outside::new();
        let mut probe = probes(&outside).into_iter().find(|probe| probe.name == name).unwrap();
        probe.command.sandbox = Sandbox::Off;
        let found = attempt(&keeper, &outside, &probe).await;
        assert!(found.is_some(), "{name} was not seen");
    }
}

async fn attempt(keeper: &Keeper, outside: &Outside, probe: &Probe) -> Option<String> {
    let before = outside.look();
    let done = run(keeper, &probe.command).await;
    let after = outside.look();
    let name = &probe.name;
    if before != after {
        let new: Vec<_> = after.iter().filter(|entry| !before.contains(entry)).collect();
        let gone: Vec<_> = before.iter().filter(|entry| !after.contains(entry)).collect();
        return Some(format!("{name}: now {new:?}, before {gone:?}: {}", done.said));
    }
    let told = done.said.contains(outside::SECRET) || done.said.contains("ESCAPED");
    if told || outside.heard() > 0 {
        return Some(format!("{name}: heard {}, said {}", outside.heard(), done.said));
    }
    None
}

fn probes(outside: &Outside) -> Vec<Probe> {
    let confinement = confinement(outside);
    let with = |name: &str, mut command: Command| {
        command.env = outside.environment();
        command.sandbox = Sandbox::Confined(confinement.clone());
        // The proxy at its widest: any name, and no address of the machine.
        command.hosts = Some(Arc::new(AnyName));
        Probe { name: name.to_owned(), command }
    };
    let shell = |script: &str| {
        Command::new("/bin/bash", outside.work()).args(["-c", &format!("cd \"$W\"; {script}")])
    };
    let exe = std::env::current_exe().unwrap();
    let call = |name: &str| {
        let args = ["--exact", "escape::calls::a_call", "--nocapture", "--test-threads=1"];
        let mut command = Command::new(&exe, outside.work()).args(args);
        command.args.push(format!("--skip={name}").into());
        command
    };
    let scripts = scripts::ALL.iter().map(|(name, script)| with(name, shell(script)));
    let calls = calls::ALL.iter().map(|(name, _)| with(name, call(name)));
    scripts.chain(calls).collect()
}

fn confinement(outside: &Outside) -> Confinement {
    let work = outside.work();
    let protected = |name: &str, kind| Protected { path: work.join(name), kind };
    Confinement {
        protected: vec![
            protected(".git/config", Kind::File),
            protected(".git/hooks", Kind::Folder),
            protected("haft.toml", Kind::File),
            protected(".haft", Kind::Folder),
            protected("deep/er/config", Kind::File),
            protected("linked.toml", Kind::File),
        ],
        hidden: outside.hidden(),
        // Also where it lies below /tmp, which is private: there must be something to harm.
        visible: vec![outside.at(""), crate::world::built()],
        // A network that all of them share, each after the other.
        peers: Some("probes".to_owned()),
        demand: Demand::Everything,
        ..Confinement::workspace([work])
    }
}
