//! A folder, page by page.

use haft_runtime::{Output, ToolError};
use haft_workspace::Workspace;
use haft_workspace::folder::Wanted;
use haft_workspace::path::Place;

use super::View;
use crate::files::Files;
use crate::search::counted;

impl View {
    pub(super) fn folder(
        &self,
        workspace: &Workspace,
        place: &Place,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Output, ToolError> {
        let skip = usize::try_from(self.first_line() - 1).unwrap_or(usize::MAX);
        let keep = skip.saturating_add(self.limit());
        let children =
            workspace.children(place, Wanted::Everything, keep, cancelled).map_err(|error| {
                if cancelled() {
                    ToolError::cancelled()
                } else {
                    Files::explain(workspace, place, error)
                }
            })?;
        let total = children.total;
        if skip > 0 && skip >= total {
            return Err(ToolError::failed(format!(
                "{} has {}; offset {} is past its end",
                place.shown(),
                counted(total as u64, "entry"),
                skip + 1
            )));
        }
        let entries = children.entries.iter().skip(skip);
        let lines: Vec<String> = entries.map(|entry| entry.shown(&place.path)).collect();
        let last = skip + lines.len();
        let footer = if last < total {
            format!(
                "(entries {} to {last} of {total}; continue with offset {})",
                skip + 1,
                last + 1
            )
        } else {
            format!("({})", counted(total as u64, "entry"))
        };
        let output = Output::new(place.shown(), lines.join("\n"))
            .with("path", place.path.to_string_lossy())
            .with("entries", total);
        Ok(Output { truncated: last < total, footer, ..output })
    }
}
