//! Parts that need a process of their own: this test binary again, told by a variable which part it is.

use std::future::pending;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use haft_exec::{Keeper, Patience};

use crate::world::{capture, finish, keeper, patience, run, script, times};

pub(crate) const PART: &str = "HAFT_EXEC_PART";

/// How this binary is started for a part.
pub(crate) const ARGS: [&str; 4] =
    ["--exact", "rooms::a_room_of_its_own", "--nocapture", "--test-threads=1"];

/// Does nothing in an ordinary run; in a process started by [`start`] it is that process's work.
#[tokio::test]
async fn a_room_of_its_own() {
    match std::env::var(PART).unwrap_or_default().split_once(' ') {
        Some(("killed", mark)) => be_killed(mark).await,
        Some(("calls", _)) => make_many_calls().await,
        Some(("flood", bytes)) => be_flooded(bytes.parse().unwrap()).await,
        Some(("degraded", folder)) => be_without_namespaces(Path::new(folder)).await,
        Some(("serve", name)) => crate::network::serve_inside(name),
        Some(("network", work)) => crate::network::hold_a_network(Path::new(work)).await,
        Some(("networks", _)) => crate::network::use_many_networks().await,
        Some((part, _)) => panic!("no part {part}"),
        None => {}
    }
}

/// Starts this binary again for one part.
pub(crate) fn start(part: &str) -> Child {
    std::process::Command::new(std::env::current_exe().unwrap())
        .args(ARGS)
        .env(PART, part)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Runs a part to its end; what it says is shown if it fails.
pub(crate) fn through(part: &str) -> String {
    let output = start(part).wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{said}");
    said
}

/// A runtime with commands of several shapes, until it is killed.
async fn be_killed(mark: &str) {
    let keeper = keeper();
    let shapes = [
        "sleep 1000",
        "setsid sleep 1000 & wait",
        "trap '' TERM HUP INT; while :; do sleep 1; done",
        "(setsid bash -c 'trap \"\" TERM; sleep 1000; sleep 1000' & ) ; sleep 1000",
        "nohup sleep 1000 > /dev/null & exit",
    ];
    let mut processes = Vec::new();
    for shape in shapes {
        let mut command = script(&format!("{shape} # {mark}"));
        command.env.push(("MARK".into(), mark.into()));
        processes.push(keeper.spawn(&command).await.unwrap());
    }
    let mut last = processes.pop().unwrap();
    finish(&mut last, Patience::default()).await;
    // Whoever started us knows by this that everything runs.
    fs_err::write(Path::new("/proc/self/fd/1"), format!("{mark} is ready\n")).unwrap();
    pending::<()>().await;
}

/// Files, threads, zombies and memory of this process and its keeper.
#[derive(Debug)]
struct Usage {
    files: usize,
    threads: usize,
    zombies: usize,
    children: usize,
    memory_kib: u64,
}

/// The children of a process, whichever of its threads made them.
pub(crate) fn children(pid: u32) -> Vec<u32> {
    // Whoever is gone meanwhile has none.
    let threads = fs_err::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = threads.filter_map(|it| fs_err::read_to_string(it.path().join("children")).ok());
    let pids = |list: String| -> Vec<u32> {
        list.split_ascii_whitespace().map(|pid| pid.parse().unwrap()).collect()
    };
    lists.flat_map(pids).collect()
}

/// What runs below our keepers.
fn below() -> Vec<u32> {
    children(std::process::id()).into_iter().flat_map(children).collect()
}

fn usage() -> Usage {
    let me = std::process::id();
    let all = [vec![me], children(me)].concat();
    let count = |what: &str| -> usize {
        all.iter().map(|pid| fs_err::read_dir(format!("/proc/{pid}/{what}")).unwrap().count()).sum()
    };
    let below = below();
    let is_zombie = |pid: &&u32| crate::world::state(pid.cast_signed()) == Some('Z');
    let memory = |pid: &u32| -> u64 {
        let status = fs_err::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
        line.split_ascii_whitespace().nth(1).unwrap().parse().unwrap()
    };
    Usage {
        files: count("fd"),
        threads: count("task"),
        zombies: below.iter().filter(is_zombie).count(),
        children: below.len(),
        memory_kib: all.iter().map(memory).sum(),
    }
}

/// Calls of every kind, and nothing left of them.
async fn make_many_calls() {
    let keeper = keeper();
    mixed(&keeper, 60).await;
    settle(&keeper).await;
    let before = usage();
    mixed(&keeper, times("HAFT_CALLS", 300)).await;
    settle(&keeper).await;
    let after = usage();
    assert_eq!(
        (after.files, after.threads, after.zombies, after.children),
        (before.files, before.threads, 0, before.children),
        "{before:?} {after:?}"
    );
    assert!(after.memory_kib < before.memory_kib + 2048, "{before:?} {after:?}");
}

/// Waits until the keeper has taken away everyone that is on the way out, and has a new spare in place of
/// the one that ran the last command.
async fn settle(keeper: &Keeper) {
    let before = below();
    run(keeper, &script("true")).await;
    let is_over = || matches!(below().as_slice(), [spare] if !before.contains(spare));
    assert!(
        crate::world::within(Duration::from_secs(5), is_over).await,
        "{before:?} {:?}",
        usage()
    );
}

async fn mixed(keeper: &Keeper, count: usize) {
    let work = tempfile::tempdir().unwrap();
    for index in 0..count {
        let mut command = script(match index % 10 {
            0 => "true",
            1 => "exit 3",
            2 => "seq 20000",
            3 => "sleep 100 & echo left",
            4 => "setsid sleep 100 >/dev/null 2>&1 & true",
            5 => "sleep 100",
            6 => "cat >&2",
            7 => "kill -9 $$",
            8 => "stty size; echo hi",
            _ => "echo confined > file; cat file",
        });
        match index % 10 {
            6 => command.stdin = haft_exec::Stdin::Bytes(vec![b'x'; 10_000]),
            8 => command.terminal = Some(haft_exec::Size { columns: 80, rows: 24 }),
            9 => {
                command.cwd = work.path().into();
                command.hosts = Some(std::sync::Arc::new(crate::proxy::Allowed::default()));
                let confinement = haft_exec::Confinement::workspace([work.path().into()]);
                command.sandbox = haft_exec::Sandbox::Confined(haft_exec::Confinement {
                    demand: haft_exec::sandbox::Demand::WhatThereIs,
                    peers: Some("calls".to_owned()),
                    ..confinement
                });
            }
            _ => {}
        }
        let mut process = keeper.spawn(&command).await.unwrap();
        finish(
            &mut process,
            patience(Duration::from_millis(if index % 10 == 5 { 5 } else { 20_000 })),
        )
        .await;
        if index % 20 == 3 {
            process.end(Duration::from_millis(50)).await.unwrap();
        }
    }
    let mut missing = script("true");
    missing.program = "/no/such".into();
    keeper.spawn(&missing).await.unwrap_err();
}

/// A keeper where no namespaces are to be had: inside of a sandbox.
async fn be_without_namespaces(folder: &Path) {
    use haft_exec::sandbox::layers::Layer;
    use haft_exec::sandbox::{Confinement, Demand, Sandbox};
    let keeper = keeper();
    let (work, secret) = (folder.join("inner"), folder.join("secret"));
    fs_err::create_dir(&work).unwrap();
    fs_err::write(&secret, "hidden words").unwrap();
    let text = format!(
        "echo in > in; echo out > {0}/out; cat {0}/secret; cat /etc/hostname > /dev/null && echo read; \
         (: > /dev/tcp/127.0.0.1/9) 2>&1; kill -0 $PPID && echo signalled",
        folder.display()
    );
    let mut command = crate::world::script_in(&text, &work);
    let mut confinement = Confinement::workspace([work.clone()]);
    confinement.hidden = vec![secret];
    command.sandbox = Sandbox::Confined(confinement.clone());
    let error = keeper.spawn(&command).await.unwrap_err().to_string();
    assert!(
        error.starts_with("could not confine the command: the layer `mounts` is missing"),
        "{error}"
    );
    confinement.demand = Demand::WhatThereIs;
    command.sandbox = Sandbox::Confined(confinement);
    let mut process = keeper.spawn(&command).await.unwrap();
    let layers = process.layers().clone();
    let missing: Vec<Layer> = layers.missing().map(|(layer, _)| layer).collect();
    assert_eq!(missing, [Layer::Mounts, Layer::Processes, Layer::Network], "{layers}");
    assert!(
        [Layer::Landlock, Layer::Seccomp, Layer::Privileges].iter().all(|one| layers.has(*one))
    );
    let done = finish(&mut process, Patience::default()).await;
    assert_eq!(fs_err::read_to_string(work.join("in")).unwrap(), "in\n", "{}", done.said);
    assert!(!folder.join("out").exists());
    assert!(
        !done.said.contains("hidden words") && !done.said.contains("signalled"),
        "{}",
        done.said
    );
    assert!(done.said.contains("read\n") && done.said.contains("ot permitted"), "{}", done.said);
    assert_eq!(keeper.layers().await.unwrap(), layers);
}

/// A flood of output: all of it in a file, little of it in memory, the ends exact.
async fn be_flooded(bytes: u64) {
    let keeper = keeper();
    run(&keeper, &script("true")).await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("spill");
    let reference = folder.path().join("reference");
    let lines = bytes / 100;
    // A hundred bytes a line, each line another, so that a lost or doubled one shows.
    let text = format!("seq -f '%099.0f' {lines}");
    let status = std::process::Command::new("bash")
        .args(["-c", &format!("{text} | tee {} | tail -n 1", reference.display())])
        .stdout(Stdio::null())
        .status();
    assert!(status.unwrap().success());
    let before = usage().memory_kib;
    let mut process = keeper.spawn(&script(&text)).await.unwrap();
    let mut capture = capture().spilling(std::fs::File::create(&path).unwrap(), u64::MAX);
    let mut peak = 0;
    let mut pieces = 0_u32;
    let take = |stream, piece: &[u8]| {
        pieces += 1;
        if pieces.is_multiple_of(64) {
            peak = peak.max(usage().memory_kib);
        }
        capture.push(stream, piece)
    };
    process.run(take, Patience::default(), pending()).await.unwrap();
    assert!(peak < before + 16 * 1024, "{before} KiB, then {peak} KiB");
    assert_eq!(capture.total(), lines * 100);
    assert_eq!(capture.newlines(), lines);
    assert_eq!(capture.unkept(), 0);
    let line = |number: u64| format!("{number:099}\n");
    let head: String = (1..=700).map(line).collect();
    assert!(head.as_bytes().starts_with(capture.first()), "the head is exact");
    let tail: String = (lines - 700..=lines).map(line).collect();
    assert!(tail.as_bytes().ends_with(capture.last()), "the tail is exact");
    assert_eq!((capture.first().len(), capture.last().len()), (65_536, 65_536));
    assert_eq!(hash(&path), hash(&reference));
}

fn hash(path: &Path) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(std::fs::File::open(path).unwrap()).unwrap();
    hasher.finalize()
}
