//! Against bash itself: no program ever runs that the analysis did not name or doubt.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

use haft_shell::{Analysis, Setting, analyse};

use crate::scripts::{MARKERS, script};

/// Real programs that scripts may use to run others.
const WRAPPERS: [&str; 13] = [
    "env", "nice", "timeout", "nohup", "xargs", "stdbuf", "find", "sh", "bash", "cat", "time",
    "script", "tr",
];

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
        let programs = folder.path().join("programs");
        let work = folder.path().join("work");
        let log = folder.path().join("log");
        fs_err::create_dir_all(&programs).unwrap();
        fs_err::create_dir_all(work.join("sub")).unwrap();
        for marker in MARKERS {
            let fails = i32::from(marker == "beta");
            // One write for all, with marks of its own between the arguments.
            let log = log.display();
            let text = format!(
                "#!/bin/sh\nIFS='\u{1f}'\n[ $# -eq 0 ] || set -- '' \"$@\"\nprintf '%s\\036' \"{marker}$*\" >> {log}\nexit {fails}\n"
            );
            let path = programs.join(marker);
            fs_err::write(&path, text).unwrap();
            fs_err::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        for wrapper in WRAPPERS {
            let real = ["/usr/bin", "/bin"].iter().map(|folder| Path::new(folder).join(wrapper));
            if let Some(real) = real.into_iter().find(|real| real.exists()) {
                symlink(real, programs.join(wrapper)).unwrap();
            }
        }
        for marker in MARKERS {
            symlink(programs.join(marker), work.join(marker)).unwrap();
        }
        Self { folder, programs, log, work }
    }

    /// The commands that ran, each as its words.
    fn run(&self, script: &str) -> Vec<Vec<String>> {
        fs_err::write(&self.log, "").unwrap();
        let output = Command::new("timeout")
            .args(["-s", "KILL", "3", "bash", "--norc", "-c", script])
            .current_dir(&self.work)
            .env_clear()
            .env("PATH", &self.programs)
            .env("HOME", self.folder.path())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        // Waiting for both ends of the output is waiting for everything in the background.
        drop(output);
        let log = String::from_utf8_lossy(&fs_err::read(&self.log).unwrap()).into_owned();
        let commands = log.split('\u{1e}').filter(|command| !command.is_empty());
        commands.map(|command| command.split('\u{1f}').map(str::to_owned).collect()).collect()
    }

    fn analysed(&self, script: &str) -> Analysis {
        let setting = Setting { cwd: &self.work, home: Some(self.folder.path()), variables: &[] };
        analyse(script, &setting)
    }
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

fn wanted() -> u64 {
    #[expect(
        clippy::disallowed_methods,
        reason = "how many scripts are tried is said from outside"
    )]
    let asked = std::env::var("HAFT_SCRIPTS");
    asked.ok().and_then(|count| count.parse().ok()).unwrap_or(4_000)
}

#[test]
fn no_program_runs_that_was_not_named_or_doubted() {
    let count = wanted();
    let (next, proven, ran) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let reasons = std::sync::Mutex::new(std::collections::BTreeMap::new());
    let threads = std::thread::available_parallelism().map_or(2, usize::from).min(8);
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let work = || {
            let ground = Ground::new();
            let mut wrong = Vec::new();
            loop {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if seed >= count {
                    return wrong;
                }
                let script = script(seed);
                let analysis = ground.analysed(&script);
                if let Some(doubt) = analysis.doubts.first() {
                    *reasons.lock().unwrap().entry(doubt.reason.clone()).or_insert(0_u32) += 1;
                    continue;
                }
                proven.fetch_add(1, Ordering::Relaxed);
                let commands = ground.run(&script);
                ran.fetch_add(commands.len() as u64, Ordering::Relaxed);
                if commands.iter().all(|command| names(&analysis, command)) {
                    continue;
                }
                // It may be what an earlier script left behind: only what happens on new ground counts.
                let fresh = Ground::new();
                let analysis = fresh.analysed(&script);
                for command in fresh.run(&script) {
                    if !names(&analysis, &command) {
                        let runs: Vec<_> = analysis.runs().map(|run| &run.text).collect();
                        wrong.push(format!(
                            "seed {seed}: {command:?} is not among {runs:?}\n{script}\n"
                        ));
                    }
                }
            }
        };
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let (proven, ran) = (proven.into_inner(), ran.into_inner());
    let mut reasons: Vec<_> = reasons.into_inner().unwrap().into_iter().collect();
    reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    for (reason, count) in reasons.iter().take(12) {
        eprintln!("{count:6} doubted: {reason}");
    }
    eprintln!("{count} scripts, {proven} proven, {ran} programs ran, {} not named", wrong.len());
    assert!(
        wrong.is_empty(),
        "{} of {ran}:\n{}",
        wrong.len(),
        wrong.iter().take(12).cloned().collect::<String>()
    );
    assert!(proven * 10 >= count * 4, "only {proven} of {count} were proven");
    assert!(ran > proven, "only {ran} programs ran");
}
