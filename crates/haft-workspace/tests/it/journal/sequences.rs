//! Undoing, redoing, and what stands in their way.

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use haft_workspace::journal::{
    ChangeError, Changed, Content, Journal, Options, State, Step, Way, Which,
};
use proptest::prelude::*;

use super::world::{World, file, label};

impl World {
    fn reverse(&self, way: Way) -> Result<(), ChangeError> {
        self.reverse_which(way, &Which::default())
    }

    fn reverse_which(&self, way: Way, which: &Which) -> Result<(), ChangeError> {
        let reversal = self.journal.reversal(&self.workspace, way, which)?;
        self.journal.reverse(&self.workspace, label("undo"), &reversal).map(drop)
    }
}

#[test]
fn what_was_done_is_undone_and_redone_step_by_step() {
    let world = World::new();
    world.put("a", "1");
    let trees = [("2", "x"), ("3", "y")].map(|(a, b)| {
        let before = world.tree();
        world.change(&[("a", Some(a)), ("new/folder/b", Some(b))]).unwrap();
        before
    });
    let last = world.tree();
    world.reverse(Way::Undo).unwrap();
    assert_eq!(world.tree(), trees[1]);
    world.reverse(Way::Undo).unwrap();
    assert_eq!(world.tree(), trees[0]);
    let nothing = world.reverse(Way::Undo).unwrap_err();
    assert_eq!(nothing.to_string(), "there is no change that can be undone");
    world.reverse(Way::Redo).unwrap();
    assert_eq!(world.tree(), trees[1]);
    world.reverse(Way::Redo).unwrap();
    assert_eq!(world.tree(), last);
    assert!(matches!(world.reverse(Way::Redo), Err(ChangeError::Nothing(_))));
    // And back again: what was redone can be undone.
    world.reverse(Way::Undo).unwrap();
    assert_eq!(world.tree(), trees[1]);
    let all = Which { all: true, ..Which::default() };
    world.reverse_which(Way::Undo, &all).unwrap();
    assert_eq!(world.tree(), trees[0]);
}

#[test]
fn a_file_that_somebody_changed_since_is_a_conflict_and_nothing_is_touched() {
    let world = World::new();
    world.put("a", "1");
    world.put("b", "1");
    world.change(&[("a", Some("2")), ("b", Some("2")), ("c", Some("2"))]).unwrap();
    world.put("b", "mine");
    fs_err::remove_file(world.path("c")).unwrap();
    let before = world.tree();
    let conflicts = match world.reverse(Way::Undo).unwrap_err() {
        ChangeError::Conflicts(conflicts) => conflicts,
        other => panic!("{other}"),
    };
    // That the new file is gone is what undoing would have come to.
    assert_eq!(conflicts.len(), 1, "{conflicts:?}");
    assert_eq!(conflicts[0].path, world.path("b"));
    assert_eq!(conflicts[0].why, "was changed by somebody else");
    assert_eq!(world.tree(), before);
    world.put("b", "2");
    world.reverse(Way::Undo).unwrap();
    assert_eq!((world.get("a"), world.get("b")), (Some("1".into()), Some("1".into())));
}

#[test]
fn a_foreign_change_between_two_of_ours_is_not_undone_over() {
    let world = World::new();
    world.put("a", "1");
    world.change(&[("a", Some("2"))]).unwrap();
    world.put("a", "theirs");
    world.change(&[("a", Some("3"))]).unwrap();
    let all = Which { all: true, ..Which::default() };
    let error = world.reverse_which(Way::Undo, &all).unwrap_err();
    assert!(error.to_string().contains("in between"), "{error}");
    world.reverse(Way::Undo).unwrap();
    assert_eq!(world.get("a").unwrap(), "theirs");
    assert!(world.reverse(Way::Undo).is_err());
    assert_eq!(world.get("a").unwrap(), "theirs");
}

#[test]
fn a_folder_that_others_use_stays_when_its_making_is_undone() {
    let world = World::new();
    world.change(&[("new/deep/a", Some("1"))]).unwrap();
    world.put("new/theirs", "x");
    let reversal = world.journal.reversal(&world.workspace, Way::Undo, &Which::default()).unwrap();
    assert_eq!(reversal.kept, [world.path("new")]);
    world.reverse(Way::Undo).unwrap();
    assert_eq!(world.get("new/deep/a"), None);
    assert!(!world.path("new/deep").exists());
    assert_eq!(world.get("new/theirs").unwrap(), "x");
}

#[test]
fn a_change_that_cannot_be_completed_leaves_everything_as_it_was() {
    let world = World::new();
    world.put("a", "1");
    world.put("file", "in the way");
    let before = world.tree();
    for bad in ["file/below", "a"] {
        let steps = ["a", "new/b", bad].map(|name| Step {
            path: world.path(name),
            before: file(world.get(name).filter(|_| name != bad).as_deref()),
            after: file(Some("2")),
        });
        let error = world.journal.change(&world.workspace, label("call"), steps.into());
        assert!(error.is_err(), "{bad}");
        assert_eq!(world.tree(), before, "{bad}");
    }
    // Found out only when the second file is written: the first is taken back.
    fs_err::set_permissions(world.path("file"), PermissionsExt::from_mode(0o444)).unwrap();
    let before = world.tree();
    let error = world.change(&[("a", Some("2")), ("n/n", Some("")), ("file", Some("2"))]);
    assert!(error.unwrap_err().to_string().contains("read-only"));
    assert_eq!(world.tree(), before);
    assert!(world.journal.entries().unwrap().is_empty());
}

#[test]
fn what_a_command_changed_is_undone_when_it_was_taken_down() {
    let world = World::new();
    world.put("run.sh", "echo");
    world.put("gone", "old");
    fs_err::os::unix::fs::symlink("run.sh", world.path("link")).unwrap();
    fs_err::create_dir(world.path("empty")).unwrap();
    let before = world.tree();

    fs_err::set_permissions(world.path("run.sh"), PermissionsExt::from_mode(0o755)).unwrap();
    fs_err::rename(world.path("gone"), world.path("moved")).unwrap();
    fs_err::remove_file(world.path("link")).unwrap();
    fs_err::os::unix::fs::symlink("moved", world.path("link")).unwrap();
    fs_err::remove_dir(world.path("empty")).unwrap();
    world.put("empty", "a file now");

    let content = |text: &str, mode| State::File {
        content: blake3::hash(text.as_bytes()),
        bytes: text.len() as u64,
        mode: Some(mode),
    };
    let link = |target: &str| State::Link { target: target.into() };
    let changes = [
        ("run.sh", content("echo", 0o644), content("echo", 0o755)),
        ("gone", content("old", 0o644), State::Absent),
        ("moved", State::Absent, content("old", 0o644)),
        ("link", link("run.sh"), link("moved")),
        ("empty", State::Folder { mode: Some(0o755) }, content("a file now", 0o644)),
    ];
    let changes =
        changes.map(|(name, before, after)| Changed { path: world.path(name), before, after });
    let recording = world.journal.recording().unwrap();
    recording.keep(b"old").unwrap();
    recording.keep(b"echo").unwrap();
    recording.finish(label("bash"), changes.into()).unwrap();
    let after = world.tree();
    world.reverse(Way::Undo).unwrap();
    assert_eq!(world.tree(), before);
    world.reverse(Way::Redo).unwrap();
    assert_eq!(world.tree(), after);
}

#[test]
fn bits_that_were_set_since_stay_when_the_content_is_undone() {
    let world = World::new();
    world.put("a", "1");
    world.change(&[("a", Some("2"))]).unwrap();
    fs_err::set_permissions(world.path("a"), PermissionsExt::from_mode(0o755)).unwrap();
    world.reverse(Way::Undo).unwrap();
    assert_eq!(world.get("a").unwrap(), "1");
    let mode = fs_err::metadata(world.path("a")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755);
}

#[test]
fn a_call_is_undone_with_its_parts_and_a_session_by_itself() {
    let world = World::new();
    let change = |session: &str, call: &str, parent: Option<&str>, name: &str| {
        let mut label = label(call);
        (label.session, label.parent) = (session.into(), parent.map(Into::into));
        let (before, after) = (Content::Absent, file(Some("x")));
        let step = Step { path: world.path(name), before, after };
        world.journal.change(&world.workspace, label, vec![step]).unwrap();
    };
    change("s", "1", Some("batch"), "a");
    change("s", "2", Some("batch"), "b");
    change("s", "3", None, "c");
    change("t", "4", None, "d");
    let call = |call: &str| Which { call: Some(call.into()), ..Which::default() };
    world.reverse_which(Way::Undo, &call("batch")).unwrap();
    assert_eq!(world.tree().keys().collect::<Vec<_>>(), ["c", "d"]);
    assert!(world.reverse_which(Way::Undo, &call("batch")).is_err());
    let session = Which { session: Some("s".into()), ..Which::default() };
    world.reverse_which(Way::Undo, &session).unwrap();
    assert_eq!(world.tree().keys().collect::<Vec<_>>(), ["d"]);
    world.reverse_which(Way::Redo, &call("1")).unwrap();
    assert_eq!(world.tree().keys().collect::<Vec<_>>(), ["a", "b", "d"]);
    world.journal.forget("t").unwrap();
    assert!(world.reverse_which(Way::Undo, &call("4")).is_err());
    world.reverse_which(Way::Undo, &call("2")).unwrap();
    assert_eq!(world.tree().keys().collect::<Vec<_>>(), ["a", "d"]);
}

#[test]
fn the_oldest_entries_go_when_the_quota_or_their_age_is_exceeded() {
    let world = World::with(Options { bytes: 100_000, ..Options::default() });
    let text = |n: usize| -> String {
        // Not to be compressed: every line is another hash.
        let lines = (0..500).map(|line| blake3::hash(format!("{n} {line}").as_bytes()).to_hex());
        lines.map(|line| format!("{line}\n")).collect()
    };
    world.put("a", &text(0));
    for n in 1..20 {
        world.change(&[("a", Some(&text(n)))]).unwrap();
    }
    let left = world.journal.entries().unwrap().len();
    assert!((1..6).contains(&left), "{left}");
    let kept: u64 = super::world::tree(&world.state())
        .keys()
        .filter(|path| path.contains("/kept/"))
        .map(|path| fs_err::metadata(world.state().join(path)).unwrap().len())
        .sum();
    assert!(kept <= 150_000, "{kept}");
    world.reverse(Way::Undo).unwrap();
    assert_eq!(world.get("a").unwrap(), text(18));

    let old = Options { age: Duration::ZERO, ..Options::default() };
    let journal = Journal::of(world.workspace.root(), &world.state(), old);
    assert!(journal.prune().unwrap() > 0);
    assert!(journal.entries().unwrap().is_empty());
}

#[test]
fn a_content_that_is_damaged_is_reported_and_not_written() {
    let world = World::new();
    world.put("a", "1");
    world.change(&[("a", Some("2"))]).unwrap();
    let kept = super::world::tree(&world.state());
    let kept = kept.keys().find(|path| path.contains("/kept/")).unwrap();
    fs_err::write(world.state().join(kept), "rubbish").unwrap();
    assert!(world.reverse(Way::Undo).unwrap_err().to_string().contains("damaged"));
    fs_err::remove_file(world.state().join(kept)).unwrap();
    assert!(matches!(world.reverse(Way::Undo), Err(ChangeError::Lost { .. })));
    assert_eq!(world.get("a").unwrap(), "2");
}

/// What a random call does to some of six paths.
fn call() -> impl Strategy<Value = Vec<(&'static str, Option<String>)>> {
    let names = ["a", "b", "d/a", "d/e/b", "f/g/h/i", "é/ü"];
    let content = prop_oneof![
        1 => Just(None),
        3 => "[a-c\n]{0,12}".prop_map(Some),
    ];
    proptest::sample::subsequence(names.to_vec(), 1..=4).prop_flat_map(move |names| {
        let content = content.clone();
        let each: Vec<_> = names.into_iter().map(|name| (Just(name), content.clone())).collect();
        each
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn undoing_any_sequence_restores_every_tree_on_the_way(
        calls in proptest::collection::vec(call(), 1..8),
        all in any::<bool>(),
    ) {
        let world = World::new();
        world.put("a", "first");
        world.put("d/a", "second");
        let mut trees = vec![world.tree()];
        for call in &calls {
            let call: Vec<_> =
                call.iter().map(|(name, content)| (*name, content.as_deref())).collect();
            world.change(&call).unwrap();
            let tree = world.tree();
            if Some(&tree) != trees.last() {
                trees.push(tree);
            }
        }
        if all && trees.len() > 1 {
            let all = Which { all: true, ..Which::default() };
            world.reverse_which(Way::Undo, &all).unwrap();
            prop_assert_eq!(&world.tree(), &trees[0]);
        } else {
            for tree in trees.iter().rev().skip(1) {
                world.reverse(Way::Undo).unwrap();
                prop_assert_eq!(&world.tree(), tree);
            }
            for tree in trees.iter().skip(1) {
                world.reverse(Way::Redo).unwrap();
                prop_assert_eq!(&world.tree(), tree);
            }
        }
    }
}
