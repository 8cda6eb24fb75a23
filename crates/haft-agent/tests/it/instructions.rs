//! What a project asks of agents, and what is no such thing.

use std::path::Path;

use haft_agent::{Instructions, Surroundings};
use haft_runtime::permission::rules_file::{self, Expand};
use haft_runtime::permission::{LayerKind, Policy};
use haft_workspace::Workspace;

struct Project {
    dir: tempfile::TempDir,
    policy: Policy,
}

impl Project {
    fn new(files: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = dir.path().join(name);
            fs_err::create_dir_all(path.parent().unwrap()).unwrap();
            fs_err::write(path, text).unwrap();
        }
        let rules = haft_tools::DEFAULT_RULES;
        let layer = rules_file::parse(rules, LayerKind::BuiltIn, "rules", &Expand::nothing());
        Self { dir, policy: Policy::new(vec![layer.unwrap()]) }
    }

    /// What is found from a folder, and what the model is told.
    fn found(&self, folder: &str) -> (Vec<String>, String) {
        let workspace = Workspace::open(self.dir.path(), None).unwrap();
        let folder = workspace.root().join(folder);
        let around = Surroundings {
            workspace: &workspace,
            folder: Path::new(&folder),
            policy: &self.policy,
            today: "2026-11-15".into(),
            system: "linux",
        };
        let found = Instructions::find(&around);
        let names = found.found.iter().map(|found| found.from.clone()).collect();
        (names, found.system(&around))
    }
}

#[test]
fn the_nearest_instructions_come_first() {
    let project = Project::new(&[
        ("AGENTS.md", "root rules"),
        ("CLAUDE.md", "not read beside the other"),
        ("part/CLAUDE.md", "part rules"),
        ("part/deep/x", ""),
    ]);
    let (names, told) = project.found("part/deep");
    assert_eq!(names, ["part/CLAUDE.md", "AGENTS.md"]);
    assert!(told.find("part rules") < told.find("root rules"));
    assert!(told.contains("Today: 2026-11-15") && !told.contains("not read"), "{told}");
    assert_eq!(project.found("/elsewhere").0, ["AGENTS.md"]);
}

#[test]
fn long_instructions_are_cut_and_it_is_said() {
    let project = Project::new(&[("AGENTS.md", &"é".repeat(30_000))]);
    let (_, told) = project.found("");
    assert!(told.len() < 40_000 && told.contains("[27232 more bytes; read"), "{}", told.len());
    // What was read before takes its share of the room.
    let project = Project::new(&[("a/AGENTS.md", "abc"), ("AGENTS.md", &"x".repeat(3_000_000))]);
    let (_, told) = project.found("a");
    assert!(told.contains("[2967235 more bytes; read"), "{}", told.get(30_000..).unwrap());
}

#[test]
fn a_link_to_a_secret_or_out_of_the_workspace_is_no_instruction() {
    let outside = tempfile::tempdir().unwrap();
    fs_err::write(outside.path().join("x"), "outside").unwrap();
    for target in [outside.path().join("x"), ".env".into(), "/dev/zero".into()] {
        let project = Project::new(&[(".env", "TOKEN=1")]);
        fs_err::os::unix::fs::symlink(target, project.dir.path().join("AGENTS.md")).unwrap();
        assert_eq!(project.found("").0, Vec::<String>::new());
    }
    let project = Project::new(&[("README.md", "read me")]);
    fs_err::os::unix::fs::symlink("README.md", project.dir.path().join("AGENTS.md")).unwrap();
    assert_eq!(project.found("").0, ["README.md"], "a link within the project is fine");
}
