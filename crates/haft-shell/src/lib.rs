//! What a shell script would do, told without running it.
//!
//! [`analyse`] reads a script as bash reads it and answers with [`Effect`]s: the programs that would run,
//! the files and hosts that would be touched. What it cannot tell is a [`Doubt`] with a reason. It proves
//! or it doubts; it never guesses. It opens no file and starts nothing.
//!
//! ```
//! use std::path::Path;
//! use haft_shell::{Setting, analyse};
//!
//! let setting = Setting::new(Path::new("/project"));
//! let analysis = analyse("cd src && env FOO=1 'r'm -f build/*.o > log", &setting);
//! let runs: Vec<_> = analysis.runs().map(|run| run.text.as_str()).collect();
//! assert!(runs.contains(&"rm -f build/*.o"));
//! assert!(analysis.is_proven());
//! ```

mod effect;
mod programs;
mod suggest;
mod syntax;
mod walk;

pub use effect::{
    Action, Analysis, Certainty, Changes, Doubt, Effect, Extent, Place, Run, Scripts, Setting,
    Settlement, Shell, Standing,
};
pub use suggest::suggest;

/// The longest script that is looked at, in bytes. The system passes no longer argument to a program.
pub const LONGEST: usize = 128 * 1024;

/// Works out what `script` would do if bash ran it in `setting`.
#[must_use]
pub fn analyse(script: &str, setting: &Setting<'_>) -> Analysis {
    walk::analyse(script, setting)
}
