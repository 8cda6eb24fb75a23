//! Names that a missing file may have been meant by.

use std::path::Path;

use ignore::WalkBuilder;

use crate::Workspace;
use crate::folder::shown;
use crate::path::Place;

/// Most names that are offered.
const MOST: usize = 3;
/// How many names are looked at: enough for a project's own files, quick in any folder.
const LOOKED_AT: usize = 20_000;
/// How alike two names must be, from 0 to 1.
const ALIKE: f64 = 0.6;

impl Workspace {
    /// Up to three existing files that a missing one may have been meant by, the most alike first:
    /// those with the same name elsewhere in the workspace, then those with a similar one beside it.
    #[must_use]
    pub fn similar(&self, missing: &Place, cancelled: &dyn Fn() -> bool) -> Vec<String> {
        let Some(name) = missing.path.file_name().and_then(|name| name.to_str()) else {
            return Vec::new();
        };
        let mut found = beside(self, missing, name);
        // The same name right here in another case is it; there is no need to look further.
        if missing.inside.is_some() && found.iter().all(|(alike, _)| *alike < 1.0) {
            found.extend(elsewhere(self, name, cancelled));
        }
        found.sort_by(|(a, path), (b, other)| b.total_cmp(a).then_with(|| path.cmp(other)));
        found.into_iter().take(MOST).map(|(_, path)| path).collect()
    }
}

/// Names in the same folder that are like it.
fn beside(workspace: &Workspace, missing: &Place, name: &str) -> Vec<(f64, String)> {
    let Some(folder) = missing.path.parent() else { return Vec::new() };
    let Ok(entries) = fs_err::read_dir(folder) else { return Vec::new() };
    let names = entries.take(LOOKED_AT).filter_map(Result::ok).map(|entry| entry.file_name());
    let alike = names.filter_map(|other| {
        let alike = likeness(name, other.to_str()?);
        (alike >= ALIKE).then(|| (alike, relative(workspace, folder, &folder.join(&other))))
    });
    alike.collect()
}

/// Files of the same name in other folders of the workspace.
fn elsewhere(
    workspace: &Workspace,
    name: &str,
    cancelled: &dyn Fn() -> bool,
) -> Vec<(f64, String)> {
    let walk = WalkBuilder::new(workspace.root()).hidden(false).require_git(false).build();
    let files = walk.take(LOOKED_AT).take_while(|_| !cancelled()).filter_map(Result::ok);
    let same = files.filter(|entry| entry.file_name().eq_ignore_ascii_case(name));
    same.map(|entry| {
        // The same name elsewhere is more likely meant than another name here.
        (0.99, relative(workspace, workspace.root(), entry.path()))
    })
    .collect()
}

fn likeness(a: &str, b: &str) -> f64 {
    if a.eq_ignore_ascii_case(b) {
        return 1.0;
    }
    // Names can be long, and the distance is quadratic.
    let short = |name: &str| name.to_lowercase().chars().take(100).collect::<String>();
    strsim::normalized_damerau_levenshtein(&short(a), &short(b))
}

fn relative(workspace: &Workspace, folder: &Path, path: &Path) -> String {
    let text = path.strip_prefix(workspace.root()).unwrap_or(path);
    shown(folder, text.as_os_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_name_in_another_case_or_folder_comes_before_one_that_is_only_like_it() {
        let dir = tempfile::tempdir().unwrap();
        for file in
            ["src/Config.rs", "src/confg.rs", "lib/config.rs", "src/other.rs", "deep/er/main.py"]
        {
            let path = dir.path().join(file);
            fs_err::create_dir_all(path.parent().unwrap()).unwrap();
            fs_err::write(path, "").unwrap();
        }
        let workspace = Workspace::open(dir.path(), None).unwrap();
        let similar = |path: &str| workspace.similar(&workspace.locate(path).unwrap(), &|| false);
        assert_eq!(similar("src/config.rs"), ["src/Config.rs", "src/confg.rs"]);
        assert_eq!(similar("config.rs"), ["lib/config.rs", "src/Config.rs"]);
        assert_eq!(similar("main.py"), ["deep/er/main.py"]);
        assert_eq!(similar("nothing-like-it"), Vec::<String>::new());
    }
}
