//! `apply_patch` through the pipeline.

use std::os::unix::fs::PermissionsExt;

use haft_runtime::permission::Reply;
use serde_json::{Value, json};

use crate::world::{World, tree_hash};
use crate::write::ALLOW_ALL;

fn args(patch: &str) -> Value {
    json!({ "patch": patch })
}

const CODE: &str = "fn one() {\n    let a = 1;\n}\n\nfn two() {\n    let a = 1;\n}\n";

#[tokio::test]
async fn files_are_added_changed_moved_and_deleted_in_one_go() {
    let world = World::ruled(ALLOW_ALL, Reply::Unattended).await;
    world.put("x.rs", CODE);
    world.put("old.sh", "#!/bin/sh\necho old\n");
    world.put("gone", "x\n");
    let script = world.workspace().join("old.sh");
    fs_err::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
    let before = tree_hash(&world.workspace());
    let patch = "*** Begin Patch\n*** Update File: x.rs\n@@ fn two() {\n-    let a = 1;\n+    let a = 2;\n\
                 *** Update File: old.sh\n*** Move to: bin/new.sh\n@@\n-echo old\n+echo new\n\
                 *** Add File: doc/read.me\n+one\n+two\n*** Delete File: gone\n*** End Patch\n";
    let answer = world.call("apply_patch", args(patch)).await;
    let text = answer["output"].as_str().unwrap();
    for line in [
        "- changed x.rs (+1 -1)",
        "- created bin/new.sh",
        "- deleted old.sh",
        "- created doc/read.me (+2 -0)",
        "- deleted gone",
    ] {
        assert!(text.contains(line), "{line} in {answer}");
    }
    assert_eq!(
        world.get("x.rs"),
        CODE.replacen("a = 1", "a = 2", 2).replacen("a = 2", "a = 1", 1).as_bytes()
    );
    assert_eq!(world.get("bin/new.sh"), b"#!/bin/sh\necho new\n");
    let mode = fs_err::metadata(world.workspace().join("bin/new.sh")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755);
    assert_eq!(world.get("doc/read.me"), b"one\ntwo\n");
    assert!(!world.workspace().join("gone").exists() && !script.exists());
    world.text("undo", json!({})).await;
    assert_eq!(tree_hash(&world.workspace()), before);
}

#[tokio::test]
async fn nothing_is_applied_if_one_part_does_not_fit() {
    let world = World::ruled(ALLOW_ALL, Reply::Unattended).await;
    world.put("x.rs", CODE);
    let before = tree_hash(&world.workspace());
    let head = "*** Begin Patch\n*** Add File: new\n+x\n";
    for (part, says) in [
        ("*** Update File: x.rs\n@@\n-    let z = 9;\n+    let z = 8;\n", "x.rs"),
        ("*** Update File: x.rs\n@@\n-    let a = 1;\n+    let a = 2;\n", "x.rs"),
        ("*** Update File: missing.rs\n@@\n-a\n+b\n", "does not exist"),
        ("*** Delete File: missing.rs\n", "does not exist"),
        ("*** Add File: a.txt\n+x\n", "a.txt exists already"),
        ("*** Add File: ./new\n+y\n", "already named"),
        (
            "*** Update File: x.rs\n*** Move to: a.txt\n@@ fn two() {\n-    let a = 1;\n+    b\n",
            "a.txt exists",
        ),
        ("*** Frobnicate File: x.rs\n", "Frobnicate"),
    ] {
        let patch = format!("{head}{part}*** End Patch\n");
        let said = world.error("apply_patch", args(&patch), "failed").await;
        assert!(said.contains(says), "{part}: {said}");
        assert_eq!(tree_hash(&world.workspace()), before, "{part}");
    }
    let said = world.error("apply_patch", args(head), "failed").await;
    assert!(said.contains("End Patch"), "{said}");
}

#[tokio::test]
async fn unified_diffs_fences_and_heredocs_are_taken() {
    let world = World::ruled(ALLOW_ALL, Reply::Unattended).await;
    world.put("x.rs", CODE);
    let unified = "--- a/x.rs\n+++ b/x.rs\n@@ -4,4 +4,4 @@\n \n fn two() {\n-    let a = 1;\n+    let a = 2;\n }\n";
    world.text("apply_patch", args(unified)).await;
    let fenced = "```diff\n*** Begin Patch\n*** Update File: x.rs\n@@\n-    let a = 2;\n+    let a = 3;\n*** End Patch\n```";
    world.text("apply_patch", args(fenced)).await;
    let heredoc = "apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: x.rs\n@@\n-    let a = 3;\n+    let a = 4;\n*** End Patch\nEOF";
    world.text("apply_patch", json!({ "input": heredoc })).await;
    assert!(String::from_utf8(world.get("x.rs")).unwrap().ends_with("let a = 4;\n}\n"));
    let new = "diff --git a/run b/run\nnew file mode 100755\n--- /dev/null\n+++ b/run\n@@ -0,0 +1 @@\n+#!/bin/sh\n";
    world.text("apply_patch", args(new)).await;
    let mode = fs_err::metadata(world.workspace().join("run")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755);
}

#[tokio::test]
async fn a_pure_move_works_and_a_move_onto_itself_loses_nothing() {
    let world = World::ruled(ALLOW_ALL, Reply::Unattended).await;
    world.put("blob", [0_u8, 159, 146, 150]);
    let patch = "*** Begin Patch\n*** Update File: blob\n*** Move to: moved/blob\n*** End Patch";
    world.text("apply_patch", args(patch)).await;
    assert_eq!(world.get("moved/blob"), [0_u8, 159, 146, 150]);
    let patch = "*** Begin Patch\n*** Update File: a.txt\n*** Move to: ./a.txt\n@@\n-alpha\n+beta\n*** End Patch";
    world.text("apply_patch", args(patch)).await;
    assert_eq!(world.get("a.txt"), b"beta\n");
}

#[tokio::test]
async fn both_ends_of_a_move_and_every_file_are_asked_with_all_diffs() {
    let world = World::ruled(crate::every_tool::ASK_ALL, Reply::Once).await;
    let patch = "*** Begin Patch\n*** Update File: a.txt\n*** Move to: ../out.txt\n@@\n-alpha\n+beta\n\
                 *** Add File: n\n+new\n*** End Patch";
    let explained =
        world.toolset.explain(&world.prepare("apply_patch", args(patch))).await.unwrap();
    world.text("apply_patch", args(patch)).await;
    let asked = world.asked_effects();
    let pairs: Vec<Value> = asked.iter().map(|it| json!([it.key, it.kind])).collect();
    assert_eq!(
        pairs,
        [
            json!(["external_directory", "external"]),
            json!(["edit", "write"]),
            json!(["read", "read"]),
            json!(["edit", "delete"]),
            json!(["edit", "write"]),
        ]
    );
    let explained: Vec<_> = explained.effects.iter().map(|it| (it.kind, &it.value)).collect();
    assert_eq!(explained, asked.iter().map(|it| (it.kind, &it.value)).collect::<Vec<_>>());
    let diff = world.host.asked.lock().unwrap()[0].ask.metadata["diff"].clone();
    for part in ["+beta\n", "-alpha\n", "+new\n"] {
        assert!(diff.as_str().unwrap().contains(part), "{diff}");
    }
}
