//! `edit` through the pipeline.

use std::sync::Arc;

use haft_runtime::permission::Reply;
use haft_workspace::text::Encoding;
use serde_json::{Value, json};

use crate::world::{World, tree_hash};
use crate::write::ALLOW_ALL;

fn args(path: &str, old: &str, new: &str) -> Value {
    json!({ "file_path": path, "old_string": old, "new_string": new })
}

const CODE: &str = "fn one() {\n    let a = 1;\n    call(a);\n}\n\nfn two() {\n    let b = 2;\n}\n";

#[tokio::test]
async fn one_place_is_changed_and_nothing_else() {
    let world = World::ruled(ALLOW_ALL, Reply::Unattended).await;
    world.put("x.rs", CODE);
    let answer = world.call("edit", args("x.rs", "let a = 1;", "let a = 10;")).await;
    assert_eq!(
        answer["output"],
        "Edited x.rs, line 2.\n1   fn one() {\n2 -     let a = 1;\n2 +     let a = 10;\n3       call(a);\n4   }"
    );
    let metadata = &answer["metadata"];
    assert_eq!((&metadata["additions"], &metadata["deletions"]), (&json!(1), &json!(1)));
    assert_eq!(metadata["first_changed_line"], 2);
    assert_eq!(metadata["matched"], json!([{ "edit": 0, "lines": [2, 2], "tier": "Exact" }]));
    assert_eq!(world.get("x.rs"), CODE.replace("a = 1", "a = 10").as_bytes());
}

#[tokio::test]
async fn the_peers_names_of_the_parameters_are_taken() {
    let world = World::ruled(ALLOW_ALL, Reply::Unattended).await;
    for (tool, args) in [
        ("edit", json!({ "filePath": "a.txt", "oldString": "alpha", "newString": "beta" })),
        ("replace", json!({ "path": "a.txt", "old_str": "beta", "new_str": "gamma" })),
        ("Edit", json!({ "path": "a.txt", "edits": [{ "oldText": "gamma", "newText": "delta" }] })),
        (
            "MultiEdit",
            json!({ "file_path": "a.txt", "edits": "[{\"old_string\":\"delta\",\"new_string\":\"end\"}]" }),
        ),
    ] {
        world.text(tool, args).await;
    }
    assert_eq!(world.get("a.txt"), b"end\n");
}

#[tokio::test]
async fn a_slip_is_put_right_and_told() {
    let world = World::ruled(ALLOW_ALL, Reply::Unattended).await;
    world.put("x.rs", CODE);
    let text =
        world.text("edit", args("x.rs", "let a = 1;\ncall(a);", "let a = 1;\ncall(a + 1);")).await;
    assert!(text.starts_with("Edited x.rs, line"), "{text}");
    assert!(text.contains("matched except for indentation"), "{text}");
    assert_eq!(world.get("x.rs"), CODE.replace("call(a)", "call(a + 1)").as_bytes());
}

#[tokio::test]
async fn several_edits_are_matched_on_the_original_all_or_none() {
    let world = World::ruled(ALLOW_ALL, Reply::Unattended).await;
    world.put("x.rs", CODE);
    let one = |old: &str, new: &str| json!({ "old_string": old, "new_string": new });
    let edits = [one("one", "two"), one("two", "three")];
    let text = world.text("edit", json!({ "file_path": "x.rs", "edits": edits })).await;
    assert!(text.starts_with("Edited x.rs in 2 places.\n"), "{text}");
    let now = CODE.replace("two", "three").replace("one", "two");
    assert_eq!(world.get("x.rs"), now.as_bytes());
    let edits = [one("let b = 2;", "let b = 3;"), one("not there at all", "x")];
    let said = world.error("edit", json!({ "file_path": "x.rs", "edits": edits }), "failed").await;
    assert!(said.contains("Edit 2 of 2"), "{said}");
    let edits = [one("let b = 2;\n}", "x"), one("}\n", "y")];
    world.error("edit", json!({ "file_path": "x.rs", "edits": edits }), "failed").await;
    assert_eq!(world.get("x.rs"), now.as_bytes());
}

#[tokio::test]
async fn what_is_ambiguous_or_missing_is_refused_and_explained() {
    let world = World::ruled(ALLOW_ALL, Reply::Unattended).await;
    world.put("x.rs", "a();\nb();\na();\n");
    let said = world.error("edit", args("x.rs", "a();", "c();"), "failed").await;
    assert!(said.contains('1') && said.contains('3'), "{said}");
    let mut all = args("x.rs", "a();", "c();");
    all["replace_all"] = json!(true);
    world.text("edit", all).await;
    assert_eq!(world.get("x.rs"), b"c();\nb();\nc();\n");
    let said = world.error("edit", args("x.rs", "d();", "e();"), "failed").await;
    assert!(said.len() < 2_500, "{said}");
    let said = world.error("edit", args("y.rs", "d();", "e();"), "failed").await;
    assert!(said.contains("does not exist; did you mean x.rs?"), "{said}");
    let said = world.error("edit", args("x.rs", "b();", "b();"), "failed").await;
    assert!(said.contains("same"), "{said}");
}

#[tokio::test]
async fn an_empty_old_text_creates_and_only_creates() {
    let world = World::ruled(ALLOW_ALL, Reply::Unattended).await;
    let text = world.text("edit", args("new/file.rs", "", "fn main() {}\n")).await;
    assert_eq!(text, "Created new/file.rs (1 line).");
    let said = world.error("edit", args("new/file.rs", "", "other"), "failed").await;
    assert!(said.contains("exists already, and an empty old_string only creates"), "{said}");
    world.put("empty", "");
    world.text("edit", args("empty", "", "filled\n")).await;
    assert_eq!(world.get("empty"), b"filled\n");
    // It wrote the file, so it has seen it.
    let write = json!({ "file_path": "new/file.rs", "content": "x" });
    world.text("write", write).await;
}

#[tokio::test]
async fn wrong_combinations_of_parameters_are_named() {
    let world = World::ruled(ALLOW_ALL, Reply::Unattended).await;
    let one = json!([{ "old_string": "a", "new_string": "b" }]);
    for (args, says) in [
        (json!({ "file_path": "a.txt" }), "got neither"),
        (json!({ "file_path": "a.txt", "old_string": "a" }), "new_string"),
        (json!({ "file_path": "a.txt", "new_string": "a" }), "old_string"),
        (json!({ "file_path": "a.txt", "edits": [] }), "at least one"),
        (
            json!({ "file_path": "a.txt", "old_string": "a", "new_string": "b", "edits": one }),
            "both",
        ),
    ] {
        let said = world.error("edit", args, "invalid_params").await;
        assert!(said.contains(says), "{said}");
    }
}

#[tokio::test]
async fn a_file_changed_since_it_was_read_is_edited_where_it_is_unchanged() {
    let world = World::ruled(ALLOW_ALL, Reply::Unattended).await;
    world.put("x.rs", CODE);
    world.text("read", json!({ "file_path": "x.rs" })).await;
    let theirs = CODE.replace("fn two", "fn deux");
    world.put("x.rs", &theirs);
    world.text("edit", args("x.rs", "let a = 1;", "let a = 3;")).await;
    let now = theirs.replace("a = 1", "a = 3");
    assert_eq!(world.get("x.rs"), now.as_bytes());

    world.text("read", json!({ "file_path": "x.rs" })).await;
    let theirs = now.replace("    let b = 2;\n", "        let b = 2;\n");
    world.put("x.rs", &theirs);
    let old = "fn deux() {\n    let b = 2;\n}";
    let said = world.error("edit", args("x.rs", old, "fn deux() {}"), "failed").await;
    assert!(said.contains("changed since it was read"), "{said}");
    assert_eq!(world.get("x.rs"), theirs.as_bytes());
}

#[tokio::test]
async fn a_text_that_stands_in_another_file_is_pointed_at() {
    let world = World::ruled(ALLOW_ALL, Reply::Unattended).await;
    world.put("x.rs", CODE);
    world.put("other.rs", "nothing of the kind\n");
    world.text("read", json!({ "file_path": "x.rs" })).await;
    let said = world.error("edit", args("other.rs", "let a = 1;", "let a = 2;"), "failed").await;
    assert!(said.contains("The text stands in x.rs, which was read"), "{said}");
}

#[tokio::test]
async fn a_miss_shows_nothing_of_a_file_that_may_not_be_read() {
    let rules = "[permission]\n\"*\" = \"allow\"\n[permission.read]\n\"*.env\" = \"deny\"\n";
    let world = World::ruled(rules, Reply::Unattended).await;
    world.put(".env", "TOKEN=secret-of-mine\n");
    let said = world.error("edit", args(".env", "TOKEN=secret", "TOKEN="), "denied").await;
    assert!(!said.contains("mine"), "{said}");
    let said = world.error("edit", args(".env", "TOKN=secret-of-min", "TOKEN="), "denied").await;
    assert!(!said.contains("mine"), "{said}");
    assert_eq!(world.get(".env"), b"TOKEN=secret-of-mine\n");
}

#[tokio::test]
async fn only_the_bytes_of_the_span_change_in_any_encoding() {
    let world = World::ruled(ALLOW_ALL, Reply::Unattended).await;
    let cases = [
        ("utf-8-bom", "Größe = alt\r\nzweite\nohne Ende"),
        ("utf-16le", "Größe = alt\r\nzweite\r\n"),
        ("utf-16be", "Größe = alt\nzweite\n"),
        ("utf-32le", "Größe = alt\nzweite\n"),
        ("windows-1252", "Größe = alt\r\nfür später, schöne Grüße über Straßen\n"),
        ("shift_jis", "これは日本語のテキストです。\r\nalt の値を変える。設定ファイル\n"),
        ("gbk", "这是一个中文文本文件,用于测试。\r\nalt 的值需要修改,请注意编码\n"),
    ];
    for (name, text) in cases {
        let encoding = Encoding::for_name(name).unwrap();
        let bytes = encoding.encode(text).unwrap();
        world.put("f", &bytes);
        let changed = world.text("edit", args("f", "alt", "neu!")).await;
        assert!(changed.contains("neu!"), "{name}: {changed}");
        assert_eq!(
            world.get("f"),
            encoding.encode(&text.replace("alt", "neu!")).unwrap(),
            "{name}"
        );
    }
    world.put("latin", b"caf\xE9, na\xEFve, d\xE9j\xE0 vu, cr\xE8me br\xFBl\xE9e\n");
    let said = world.error("edit", args("latin", "déjà", "日本"), "failed").await;
    assert!(said.contains("cannot be written in windows-1252"), "{said}");
}

#[tokio::test]
async fn whoever_is_asked_sees_the_diff_before_anything_is_written() {
    let no = World::ruled(crate::every_tool::ASK_ALL, Reply::Reject { feedback: None }).await;
    let before = tree_hash(&no.workspace());
    no.error("edit", args("a.txt", "alpha", "beta"), "denied").await;
    assert_eq!(tree_hash(&no.workspace()), before);
    let asked = no.host.asked.lock().unwrap();
    assert_eq!(asked.len(), 1);
    assert!(asked[0].ask.metadata["diff"].as_str().unwrap().contains("-alpha\n+beta\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn eight_at_once_lose_no_edit() {
    let rules = "[permission]\n\"*\" = \"allow\"\n";
    let world = Arc::new(World::ruled(rules, Reply::Unattended).await);
    let slots: String = (0..8).map(|slot| format!("slot {slot}: 0\n")).collect();
    world.put("slots", &slots);
    let tasks: Vec<_> = (0..8)
        .map(|slot| {
            let world = Arc::clone(&world);
            tokio::spawn(async move {
                for n in 0..25 {
                    let old = format!("slot {slot}: {n}\n");
                    let new = format!("slot {slot}: {}\n", n + 1);
                    world.text("edit", args("slots", &old, &new)).await;
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let done: String = (0..8).map(|slot| format!("slot {slot}: 25\n")).collect();
    assert_eq!(world.get("slots"), done.as_bytes());
}

#[tokio::test]
async fn undo_takes_an_edit_back_to_the_byte() {
    let world = World::ruled(ALLOW_ALL, Reply::Unattended).await;
    world.put("x.rs", CODE.replace('\n', "\r\n"));
    let before = tree_hash(&world.workspace());
    world.text("edit", args("x.rs", "let a = 1;\n    call(a);", "gone();")).await;
    assert!(world.get("x.rs").windows(9).any(|part| part == b"gone();\r\n"));
    world.text("undo", json!({})).await;
    assert_eq!(tree_hash(&world.workspace()), before);
}
