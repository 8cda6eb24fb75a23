//! Whatever file calls are made, one after the other: undo restores every tree, and spans stay spans.

use haft_runtime::permission::Reply;
use haft_workspace::text::Encoding;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use crate::world::{World, tree_hash};

/// The same call may come three times, and that is no loop here.
const ALLOW: &str = "[permission]\n\"*\" = \"allow\"\n";

fn run<T: std::fmt::Debug>(
    cases: u32,
    strategy: impl Strategy<Value = T>,
    check: impl Fn(&World, T) -> futures_util::future::LocalBoxFuture<'_, ()>,
) {
    let threads = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut runner = TestRunner::new(ProptestConfig { cases, ..ProptestConfig::default() });
    let run = runner.run(&strategy, |case| {
        threads.block_on(async {
            let world = World::ruled(ALLOW, Reply::Unattended).await;
            check(&world, case).await;
        });
        Ok(())
    });
    assert!(run.is_ok(), "{}", run.unwrap_err());
}

/// A random file call: what it does may fail, and then it must have done nothing.
fn call() -> impl Strategy<Value = (&'static str, Value)> {
    let name = proptest::sample::select(vec!["a.txt", "b", "deep/c", "deep/er/d", "ü.md"]);
    let text = "[abc \n]{0,24}";
    prop_oneof![
        (name.clone(), text)
            .prop_map(|(name, text)| { ("write", json!({ "file_path": name, "content": text })) }),
        (name.clone(), "[abc]{1,2}", text, any::<bool>()).prop_map(|(name, old, new, all)| {
            let args = json!({
                "file_path": name, "old_string": old, "new_string": new, "replace_all": all,
            });
            ("edit", args)
        }),
        (name.clone(), name.clone(), 0..3).prop_map(|(one, other, kind)| {
            let part = match kind {
                0 => format!("*** Delete File: {one}\n"),
                1 => format!("*** Update File: {one}\n*** Move to: {other}\n"),
                _ => format!("*** Add File: {one}\n+a\n+b\n*** Delete File: {other}\n"),
            };
            ("apply_patch", json!({ "patch": format!("*** Begin Patch\n{part}*** End Patch\n") }))
        }),
    ]
}

#[test]
fn undoing_any_sequence_of_file_calls_restores_every_tree_on_the_way() {
    run(40, proptest::collection::vec(call(), 1..10), |world, calls| {
        Box::pin(async move {
            let mut trees = vec![tree_hash(&world.workspace())];
            for (tool, args) in calls {
                if let Some(path) = args["file_path"].as_str() {
                    // So that what is there may be overwritten.
                    world.call("read", json!({ "file_path": path, "limit": 1000 })).await;
                }
                let answer = world.call(tool, args).await;
                let tree = tree_hash(&world.workspace());
                if answer["state"] == "error" {
                    assert_eq!(Some(&tree), trees.last(), "{answer}");
                } else if Some(&tree) != trees.last() {
                    trees.push(tree);
                }
            }
            let (first, later) = trees.split_first().unwrap();
            for tree in later.iter().rev().skip(1).chain([first]).take(later.len()) {
                world.text("undo", json!({})).await;
                assert_eq!(tree_hash(&world.workspace()), *tree);
            }
            world.error("undo", json!({}), "failed").await;
            for tree in later {
                world.text("undo", json!({ "redo": true })).await;
                assert_eq!(tree_hash(&world.workspace()), *tree);
            }
        })
    });
}

#[test]
fn an_edit_of_a_unique_span_changes_those_bytes_and_no_others_in_any_encoding() {
    let encodings = [
        ("utf-8", "äß→日本 "),
        ("utf-8-bom", "äß→日本 "),
        ("utf-16le", "äß→日本𝄞 "),
        ("utf-16be", "äß→日本𝄞 "),
        ("utf-32le", "äß→日本𝄞 "),
        ("utf-32be", "äß→日本𝄞 "),
        ("windows-1252", "äöüßéàç "),
        ("shift_jis", "日本語テキスト "),
        ("gbk", "中文文本测试 "),
    ];
    let line = ("[a-z ]{0,12}", 0_usize..6, proptest::sample::select(vec!["\n", "\r\n", "\n\n"]));
    let strategy = (
        0..encodings.len(),
        proptest::collection::vec(line, 2..8),
        "[a-z{}();]{0,12}(\n[a-z]{0,8})?",
        any::<bool>(),
    );
    run(120, strategy, move |world, (which, lines, new, last_end)| {
        let (name, letters) = encodings[which];
        Box::pin(async move {
            let letters: Vec<char> = letters.chars().collect();
            let mut text = String::new();
            for (index, (words, letter, end)) in lines.iter().enumerate() {
                let strange: String = letters.iter().cycle().skip(*letter).take(9).collect();
                text.push_str(&format!("{words}{strange}{end}"));
                if index == 0 {
                    text.push_str(&format!("the one place {strange} to change{end}"));
                }
            }
            if !last_end {
                text.truncate(text.trim_end_matches(['\r', '\n']).len());
            }
            let encoding = Encoding::for_name(name).unwrap();
            let bytes = encoding.encode(&text).unwrap();
            // What is detected is what read shows; a guess that differs is not under test here.
            if Encoding::detect(&bytes, true) != encoding {
                return;
            }
            world.put("f", &bytes);
            let args = json!({ "file_path": "f", "old_string": "one place", "new_string": new });
            world.text("edit", args).await;
            let (head, tail) = text.split_once("one place").unwrap();
            let now = world.get("f");
            let (head, tail) =
                (encoding.encode(head).unwrap(), encoding.encode_part(tail).unwrap());
            assert!(now.starts_with(&head) && now.ends_with(&tail), "{name}");
            let middle = &now[head.len()..now.len() - tail.len()];
            let middle = encoding.decode_part(middle).text.replace("\r\n", "\n");
            assert_eq!(middle, new, "{name}");
        })
    });
}
