//! Against bash itself, in the sandbox: no program ever runs that the analysis did not name or doubt.

use std::collections::BTreeMap;
use std::future::pending;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use haft_exec::sandbox::Demand;
use haft_exec::{Command, Confinement, EndedBy, Keeper, Patience, Sandbox};
use haft_shell::{Analysis, Doubt, Setting, analyse};

use crate::scripts::{MARKERS, script};

/// Real programs that scripts may use to run others.
const WRAPPERS: [&str; 13] = [
    "env", "nice", "timeout", "nohup", "xargs", "stdbuf", "find", "sh", "bash", "cat", "time",
    "script", "tr",
];

/// Runs scripts one after another. What each one says is read to its end, which is waiting for
/// everything that it has in the background.
const DRIVER: &str = r#"
while IFS= read -r -d '' script; do
    said=$(timeout -s KILL 3 bash --norc -c "$script" 2>&1 </dev/null)
    printf '\035' >> "$1"
done 2>/dev/null
"#;

/// How many scripts one sandbox runs.
const BATCH: u64 = 250;

/// A folder to run scripts in, with marker programs that write down their arguments.
struct Ground {
    folder: tempfile::TempDir,
    programs: PathBuf,
    log: PathBuf,
    work: PathBuf,
}

impl Ground {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = fs_err::canonicalize(folder.path()).unwrap();
        let (programs, work, log) = (root.join("programs"), root.join("work"), root.join("log"));
        fs_err::create_dir_all(&programs).unwrap();
        fs_err::create_dir_all(work.join("sub")).unwrap();
        for marker in MARKERS {
            compile(marker, &log, &programs.join(marker));
            fs_err::os::unix::fs::symlink(programs.join(marker), work.join(marker)).unwrap();
        }
        for wrapper in WRAPPERS {
            let real = ["/usr/bin", "/bin"].iter().map(|folder| Path::new(folder).join(wrapper));
            if let Some(real) = real.into_iter().find(|real| real.exists()) {
                fs_err::os::unix::fs::symlink(real, programs.join(wrapper)).unwrap();
            }
        }
        Self { folder, programs, log, work }
    }

    /// The commands that ran, each as its words, of each script.
    async fn run(&self, keeper: &Keeper, scripts: &[String]) -> Vec<Vec<Vec<String>>> {
        fs_err::write(&self.log, "").unwrap();
        let input: String = scripts.iter().map(|script| format!("{script}\0")).collect();
        let mut command = Command::new("/bin/bash", &self.work);
        let log = self.log.to_str().unwrap();
        command = command.args(["--norc", "-c", DRIVER, "driver", log]);
        command.env = vec![
            ("PATH".into(), self.programs.clone().into()),
            ("HOME".into(), self.folder.path().into()),
        ];
        command.stdin = haft_exec::Stdin::Bytes(input.into_bytes());
        let mut confinement = Confinement::workspace([self.work.clone(), self.log.clone()]);
        confinement.visible = vec![fs_err::canonicalize(self.folder.path()).unwrap()];
        confinement.demand = Demand::WhatThereIs;
        command.sandbox = Sandbox::Confined(confinement);
        let mut process = keeper.spawn(&command).await.unwrap();
        let ended = process.run(|_, _| Ok(()), Patience::default(), pending()).await.unwrap();
        assert_eq!(ended.by, EndedBy::Itself);
        let log = String::from_utf8_lossy(&fs_err::read(&self.log).unwrap()).into_owned();
        let mut of_each: Vec<_> = log.split('\u{1d}').map(commands).collect();
        // What runs without saying anything may come after the end; here, after the last one's.
        let late = of_each.pop().unwrap();
        assert_eq!(of_each.len(), scripts.len(), "every script was run");
        of_each.last_mut().into_iter().for_each(|last| last.extend(late.clone()));
        of_each
    }

    fn analysed(&self, script: &str) -> Analysis {
        let home = Some(self.folder.path());
        analyse(script, &Setting { home, ..Setting::new(&self.work) })
    }
}

/// Makes a marker program.
fn compile(name: &str, log: &Path, program: &Path) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/marker.c");
    let mut compiler = std::process::Command::new("cc");
    compiler.arg("-O1").arg(format!("-DNAME=\"{name}\""));
    compiler.arg(format!("-DLOG=\"{}\"", log.display()));
    let status = compiler.arg("-o").arg(program).arg(source).status().unwrap();
    assert!(status.success(), "cc made no marker program");
}

fn commands(log: &str) -> Vec<Vec<String>> {
    let commands = log.split('\u{1e}').filter(|command| !command.is_empty());
    commands.map(|command| command.split('\u{1f}').map(str::to_owned).collect()).collect()
}

/// Whether the analysis says that `command` may run, with these very arguments.
fn names(analysis: &Analysis, command: &[String]) -> bool {
    analysis.runs().any(|run| {
        let mut words = run.words.clone();
        if let Some(first) = words.first_mut() {
            *first = first.rsplit('/').next().unwrap().to_owned();
        }
        let same = words.iter().zip(command).take(run.known).all(|(word, real)| word == real);
        same && command.len() >= run.known && (!run.is_known() || command.len() == words.len())
    })
}

fn number(name: &str, otherwise: u64) -> u64 {
    #[expect(
        clippy::disallowed_methods,
        reason = "how many scripts are tried is said from outside"
    )]
    let asked = std::env::var(name);
    asked.ok().and_then(|count| count.parse().ok()).unwrap_or(otherwise)
}

/// What was counted, by all threads.
#[derive(Default)]
struct Count {
    next: AtomicU64,
    proven: AtomicU64,
    ran: AtomicU64,
    doubts: Mutex<BTreeMap<String, u32>>,
    wrong: Mutex<Vec<String>>,
}

impl Count {
    /// Takes batches until there are none left.
    async fn work(&self, from: u64, to: u64) {
        let ground = Ground::new();
        let keeper = Keeper::new(env!("CARGO_BIN_EXE_haft-tools-keeper"));
        loop {
            let begin = from + self.next.fetch_add(BATCH, Ordering::Relaxed);
            if begin >= to {
                return;
            }
            let mut proven = Vec::new();
            for seed in begin..to.min(begin + BATCH) {
                let script = script(seed);
                let analysis = ground.analysed(&script);
                // Which file is meant says nothing of which programs run.
                let of_programs = |doubt: &&Doubt| !doubt.reason.starts_with("which file ");
                match analysis.doubts.iter().find(of_programs) {
                    Some(doubt) => {
                        let mut doubts = self.doubts.lock().unwrap();
                        *doubts.entry(doubt.reason.clone()).or_default() += 1;
                    }
                    // The driver tells them apart by this.
                    None if script.contains('\0') => {}
                    None => proven.push((seed, script, analysis)),
                }
            }
            self.proven.fetch_add(proven.len() as u64, Ordering::Relaxed);
            let scripts: Vec<String> = proven.iter().map(|(_, script, _)| script.clone()).collect();
            let ran = ground.run(&keeper, &scripts).await;
            for ((seed, script, analysis), commands) in proven.iter().zip(ran) {
                self.ran.fetch_add(commands.len() as u64, Ordering::Relaxed);
                if !commands.iter().all(|command| names(analysis, command)) {
                    self.again(&keeper, *seed, script).await;
                }
            }
        }
    }

    /// It may be what an earlier script left behind: only what happens on new ground counts.
    async fn again(&self, keeper: &Keeper, seed: u64, script: &str) {
        let fresh = Ground::new();
        let analysis = fresh.analysed(script);
        for command in fresh.run(keeper, &[script.to_owned()]).await.iter().flatten() {
            if !names(&analysis, command) {
                let runs: Vec<_> = analysis.runs().map(|run| &run.text).collect();
                let wrong = format!("seed {seed}: {command:?} is not among {runs:?}\n{script}\n");
                eprintln!("{wrong}");
                self.wrong.lock().unwrap().push(wrong);
            }
        }
    }
}

#[test]
fn no_program_runs_that_was_not_named_or_doubted() {
    let (count, first) = (number("HAFT_SCRIPTS", 20_000), number("HAFT_SEED", 0));
    let found = Count::default();
    let threads = std::thread::available_parallelism().map_or(2, usize::from).min(8);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                runtime.unwrap().block_on(found.work(first, first + count));
            });
        }
    });
    let (proven, ran) = (found.proven.into_inner(), found.ran.into_inner());
    let mut doubts: Vec<_> = found.doubts.into_inner().unwrap().into_iter().collect();
    doubts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    for (reason, count) in doubts.iter().take(12) {
        eprintln!("{count:6} doubted: {reason}");
    }
    let wrong = found.wrong.into_inner().unwrap();
    eprintln!("{count} scripts, {proven} proven, {ran} programs ran, {} not named", wrong.len());
    let shown: String = wrong.iter().take(12).cloned().collect();
    assert!(wrong.is_empty(), "{} of {ran}:\n{shown}", wrong.len());
    assert!(proven * 10 >= count * 4, "only {proven} of {count} were proven");
    assert!(ran > proven, "only {ran} programs ran");
}
