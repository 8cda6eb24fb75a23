//! The journal of this workspace: opened, and looked after when something was left half-done.

use std::time::Duration;

use haft_runtime::permission::LayerKind;
use haft_workspace::Workspace;
use haft_workspace::journal::{Journal, Options, Verdict};
use haft_workspace::write::Outcome;

use crate::config::Loaded;
use crate::open::Haft;
use crate::print::Printer;

impl Haft {
    /// The journal of this workspace; none where haft has no folder of its own.
    pub(crate) fn journal(&self) -> Option<Journal> {
        let state = self.environment.state_dir.as_deref()?;
        Some(Journal::of(&self.root, state, options(&self.configs)))
    }

    /// Looks after what was left half-done, before anything is changed.
    pub(crate) fn recover(&self, printer: Printer<'_>) -> anyhow::Result<()> {
        if let Some(journal) = self.journal() {
            recover(&journal, &self.workspace()?, printer);
        }
        Ok(())
    }
}

fn options(configs: &[Loaded]) -> Options {
    let mut options = Options::default();
    // As for kept outputs: a project does not decide about the user's disk.
    for config in configs.iter().filter(|config| config.kind != LayerKind::Project) {
        if let Some(days) = config.file.limits.journal_days {
            options.age = Duration::from_secs(u64::from(days) * 24 * 60 * 60);
        }
        if let Some(mib) = config.file.limits.journal_mib {
            options.bytes = u64::from(mib) * 1024 * 1024;
        }
    }
    options
}

/// Takes back, or completes, what killed processes left, and tells the person about it.
///
/// What cannot be looked after now is not lost: the next start meets it again.
pub(crate) fn recover(journal: &Journal, workspace: &Workspace, printer: Printer<'_>) {
    let (changes, rewritten) = match journal.recover(workspace) {
        Ok(recovered) => recovered,
        Err(error) => return printer.note(format!("haft: the journal cannot be read: {error}")),
    };
    for one in changes {
        let title = haft_runtime::plain(&one.entry.label.title);
        match one.verdict {
            Verdict::Completed => {}
            Verdict::TakenBack => {
                printer.note(format!("haft: `{title}` was interrupted and has been taken back"));
            }
            Verdict::Stuck(conflicts) => {
                printer.note(format!("haft: `{title}` was interrupted; left as they are:"));
                for conflict in conflicts {
                    printer.note(format!("  {}", haft_runtime::plain(&conflict.to_string())));
                }
            }
            _ => {}
        }
    }
    for one in rewritten {
        let path = haft_runtime::plain(&one.path.display().to_string());
        match one.outcome {
            Outcome::Restored => {
                printer.note(format!("haft: {path} was half-written and is as it was"));
            }
            Outcome::Kept { backup, why } => printer.note(format!(
                "haft: writing {path} was interrupted and {why}; both contents are in {}",
                backup.display()
            )),
            _ => {}
        }
    }
}
