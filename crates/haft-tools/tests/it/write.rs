//! `write` through the pipeline.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use haft_runtime::permission::rules_file::{self, Expand};
use haft_runtime::permission::{EffectKind, LayerKind, Policy, Reply};
use haft_runtime::{
    AgentId, Audience, Call, CancellationToken, Delivery, EventKind, Registry, Runtime, SessionId,
};
use haft_workspace::Workspace;
use haft_workspace::journal::{self, Journal};
use haft_workspace::text::Encoding;
use serde_json::{Value, json};

use crate::world::{World, tree_hash};

pub(crate) const ALLOW_ALL: &str = "[permission]\n\"*\" = \"allow\"\n";

fn args(path: &str, content: &str) -> Value {
    json!({ "file_path": path, "content": content })
}

#[tokio::test]
async fn a_new_file_is_made_with_its_folders() {
    let world = World::ruled(ALLOW_ALL, Reply::Unattended).await;
    let answer = world.call("write", args("src/deep/new.rs", "fn main() {}\n")).await;
    assert_eq!(answer["output"], "Created src/deep/new.rs (1 line, 13 bytes).");
    let metadata = &answer["metadata"];
    assert_eq!((&metadata["created"], &metadata["additions"]), (&json!(true), &json!(1)));
    assert!(metadata["diff"].as_str().unwrap().contains("+++ b/src/deep/new.rs\n"), "{metadata}");
    assert_eq!(world.get("src/deep/new.rs"), b"fn main() {}\n");
}

#[tokio::test]
async fn what_the_session_has_not_seen_as_it_is_is_not_overwritten() {
    let world = World::ruled(ALLOW_ALL, Reply::Unattended).await;
    let before = tree_hash(&world.workspace());
    let refused = world.error("write", args("a.txt", "mine"), "failed").await;
    assert!(
        refused.contains("a.txt exists and was not read in this session; read it"),
        "{refused}"
    );
    assert_eq!(tree_hash(&world.workspace()), before);

    world.text("read", json!({ "file_path": "a.txt" })).await;
    world.put("a.txt", "somebody else\n");
    let refused = world.error("write", args("a.txt", "mine"), "failed").await;
    assert!(refused.contains("has changed since it was read"), "{refused}");
    assert_eq!(world.get("a.txt"), b"somebody else\n");

    world.text("read", json!({ "file_path": "a.txt" })).await;
    let text = world.text("write", args("a.txt", "mine\n")).await;
    assert_eq!(text, "Replaced a.txt (5 bytes).\n1 - somebody else\n1 + mine");
    // What it wrote itself it has seen.
    world.text("write", args("a.txt", "mine again\n")).await;
    assert_eq!(world.get("a.txt"), b"mine again\n");
}

#[tokio::test]
async fn a_file_of_which_only_a_part_was_shown_is_not_overwritten() {
    let world = World::ruled(ALLOW_ALL, Reply::Unattended).await;
    let lines: String = (1..=30).map(|n| format!("line {n}\n")).collect();
    world.put("long", &lines);
    world.text("read", json!({ "file_path": "long", "limit": 10 })).await;
    let refused = world.error("write", args("long", "short"), "failed").await;
    assert!(refused.contains("only lines 1 to 10 of 30 of long were shown"), "{refused}");
    world.text("read", json!({ "file_path": "long", "offset": 21 })).await;
    let refused = world.error("write", args("long", "short"), "failed").await;
    assert!(refused.contains("lines 1 to 10, 21 to 30 of 30"), "{refused}");
    world.text("read", json!({ "file_path": "long", "offset": 11, "limit": 10 })).await;
    world.text("write", args("long", "short")).await;
    assert_eq!(world.get("long"), b"short");
}

#[tokio::test]
async fn what_another_session_read_does_not_count_and_a_new_process_remembers() {
    let world = World::ruled(ALLOW_ALL, Reply::Unattended).await;
    world.text("read", json!({ "file_path": "a.txt" })).await;
    let mut other = world.again(ALLOW_ALL).await;
    other.text("write", args("a.txt", "by the same session\n")).await;
    other.session = haft_runtime::SessionId::fresh();
    other.error("write", args("a.txt", "by another"), "failed").await;
    assert_eq!(world.get("a.txt"), b"by the same session\n");
}

#[tokio::test]
async fn encoding_mark_line_ends_and_mode_of_the_old_file_stay() {
    let world = World::ruled(ALLOW_ALL, Reply::Unattended).await;
    let text = "Größe: früher, später, für ä ö ü ß\r\nzweite Zeile\r\n";
    for name in ["utf-8", "utf-8-bom", "utf-16le", "utf-16be", "utf-32le", "windows-1252"] {
        let encoding = Encoding::for_name(name).unwrap();
        world.put("f", encoding.encode(text).unwrap());
        let path = world.workspace().join("f");
        fs_err::set_permissions(&path, PermissionsExt::from_mode(0o750)).unwrap();
        world.text("read", json!({ "file_path": "f" })).await;
        world.text("write", args("f", "kürzer\nund anders\n")).await;
        let now = world.get("f");
        assert_eq!(now, encoding.encode("kürzer\r\nund anders\r\n").unwrap(), "{name}");
        assert_eq!(fs_err::metadata(&path).unwrap().permissions().mode() & 0o777, 0o750);
    }
    let refused = world.error("write", args("f", "日本\n"), "failed").await;
    assert!(refused.contains("cannot be written in windows-1252"), "{refused}");
}

#[tokio::test]
async fn whoever_is_asked_sees_the_diff_and_no_means_untouched() {
    let world = World::ruled(crate::every_tool::ASK_ALL, Reply::Once).await;
    world.text("read", json!({ "file_path": "a.txt" })).await;
    world.text("write", args("a.txt", "beta\n")).await;
    {
        let asked = world.host.asked.lock().unwrap();
        let ask = &asked.last().unwrap().ask;
        let diff = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-alpha\n+beta\n";
        assert_eq!(ask.metadata["diff"], diff);
        let kinds: Vec<EffectKind> = ask.effects.iter().map(|effect| effect.kind).collect();
        assert_eq!(kinds, [EffectKind::Read, EffectKind::Write]);
    }
    let no = World::ruled(crate::every_tool::ASK_ALL, Reply::Reject { feedback: None }).await;
    let before = tree_hash(&no.workspace());
    no.error("write", args("new/file", "x"), "denied").await;
    assert_eq!(tree_hash(&no.workspace()), before);
}

#[tokio::test]
async fn outside_and_other_names_of_a_file_ask_for_more() {
    let world = World::ruled(crate::every_tool::ASK_ALL, Reply::Once).await;
    let outside = world.workspace().join("../outside.txt");
    world.text("write", args("../outside.txt", "x")).await;
    assert_eq!(fs_err::read(&outside).unwrap(), b"x");
    let keys = |world: &World| -> Vec<String> {
        world.asked_effects().into_iter().map(|effect| effect.key.into_owned()).collect()
    };
    assert_eq!(keys(&world), ["external_directory", "edit"]);

    fs_err::hard_link(&outside, world.workspace().join("inside")).unwrap();
    world.text("read", json!({ "file_path": "inside" })).await;
    world.host.asked.lock().unwrap().clear();
    world.text("write", args("inside", "y")).await;
    assert_eq!(keys(&world), ["external_directory", "read", "edit"]);
    // Both names lead to the new content: the link is respected.
    assert_eq!(fs_err::read(&outside).unwrap(), b"y");
}

#[tokio::test]
async fn folders_devices_and_read_only_files_are_refused_with_the_reason() {
    let world = World::ruled(ALLOW_ALL, Reply::Unattended).await;
    world.put("folder/f", "x");
    let said = world.error("write", args("folder", "x"), "failed").await;
    assert!(said.contains("folder is a folder; name a file in it"), "{said}");
    let said = world.error("write", args("a.txt/below", "x"), "failed").await;
    assert!(said.contains("not a directory"), "{said}");
    world.error("write", args("/dev/null", "x"), "failed").await;
    world.text("read", json!({ "file_path": "folder/f" })).await;
    let path = world.workspace().join("folder/f");
    fs_err::set_permissions(&path, PermissionsExt::from_mode(0o444)).unwrap();
    let said = world.error("write", args("folder/f", "y"), "failed").await;
    assert!(said.contains("read-only"), "{said}");
    assert_eq!(world.get("folder/f"), b"x");
}

#[tokio::test]
async fn the_same_content_again_changes_nothing_and_listeners_hear_of_real_changes() {
    let world = World::ruled(ALLOW_ALL, Reply::Unattended).await;
    let mut events = world.events();
    let text = world.text("write", args("a.txt", "alpha\n")).await;
    assert_eq!(text, "a.txt holds exactly that already.");
    world.text("write", args("b.txt", "beta\n")).await;
    let mut noted = Vec::new();
    while let Some(delivery) = events.try_next() {
        if let Delivery::Event(event) = delivery
            && let EventKind::Noted { name, data, .. } = &*event.kind
            && name == "file.edited"
        {
            noted.push(data.clone());
        }
    }
    let path = fs_err::canonicalize(world.workspace()).unwrap().join("b.txt");
    assert_eq!(noted, [json!({ "path": path, "kind": "created" })]);
}

#[tokio::test]
async fn without_a_store_what_one_tool_has_shown_another_may_change() {
    let dir = tempfile::tempdir().unwrap();
    fs_err::write(dir.path().join("a.txt"), "one\n").unwrap();
    let state = tempfile::tempdir().unwrap();
    let workspace = Workspace::open(dir.path(), None).unwrap();
    let journal = Journal::of(workspace.root(), state.path(), journal::Options::default());
    let mut registry = Registry::new();
    haft_tools::register(&mut registry);
    let layer = rules_file::parse(ALLOW_ALL, LayerKind::User, "rules", &Expand::nothing()).unwrap();
    let runtime = Runtime::builder(dir.path().to_string_lossy())
        .registry(registry)
        .share(Arc::new(workspace))
        .share(Arc::new(journal))
        .policy(Policy::new(vec![layer]))
        .build();
    let toolset = runtime.toolset(&Audience::of(AgentId::parse("build").unwrap())).await;
    let session = SessionId::fresh();
    let run = async |tool: &str, args: Value| {
        let call = Call::new(session.clone(), tool, args);
        toolset.execute(call, CancellationToken::new()).await.to_json()
    };
    assert_eq!(run("write", args("a.txt", "two\n")).await["state"], "error");
    assert_eq!(run("read", json!({ "file_path": "a.txt" })).await["state"], "completed");
    // The second time, all that is shown is known already.
    assert_eq!(run("read", json!({ "file_path": "a.txt" })).await["state"], "completed");
    assert_eq!(run("write", args("a.txt", "two\n")).await["state"], "completed");
    assert_eq!(fs_err::read_to_string(dir.path().join("a.txt")).unwrap(), "two\n");
}

#[tokio::test]
async fn what_is_read_again_after_a_change_and_its_undoing_may_be_overwritten() {
    let world = World::ruled(ALLOW_ALL, Reply::Unattended).await;
    let read = json!({ "file_path": "a.txt" });
    world.put("a.txt", "one\n");
    // The second time nothing has to be remembered, nor looked up in the store the third time.
    for _ in 0..3 {
        world.text("read", read.clone()).await;
    }
    let edit = json!({ "file_path": "a.txt", "old_string": "one", "new_string": "two" });
    world.text("edit", edit).await;
    world.put("a.txt", "one\n");
    let refused = world.error("write", args("a.txt", "mine"), "failed").await;
    assert!(refused.contains("changed since"), "{refused}");
    world.text("read", read).await;
    world.text("write", args("a.txt", "three\n")).await;
    assert_eq!(world.get("a.txt"), b"three\n");
}
