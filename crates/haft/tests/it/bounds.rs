//! What a model reads is bounded; what is cut is kept whole.

use serde_json::{Value, json};

use crate::world::World;

/// A list whose text has far more bytes than an answer may.
fn long_list() -> Value {
    let item =
        |n: usize| json!({ "content": format!("{n} {}", "é".repeat(950)), "status": "pending" });
    json!({ "todos": (0..100).map(item).collect::<Vec<_>>() })
}

#[test]
fn a_long_answer_is_cut_and_kept_whole_for_its_owner() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    let run = world.haft(&["call", "todowrite", "-", "--json"]).stdin(long_list().to_string());
    let answer = run.run().done().json();
    let output = answer["output"].as_str().unwrap();
    assert!(output.len() <= 50 * 1024, "{} bytes", output.len());
    assert!(answer["metadata"].to_string().len() <= 30 * 1024);
    assert_eq!(answer["metadata"]["truncated"], true);
    let path = answer["metadata"]["output_path"].as_str().unwrap();
    assert!(output.contains(path), "the text says where the rest is");
    assert!(path.starts_with(world.path("state").to_str().unwrap()), "{path}");
    let whole = fs_err::read_to_string(path).unwrap();
    assert!(whole.starts_with("[ ] 1. 0 é") && whole.ends_with("100 of 100 open"));
    assert_eq!(whole.matches("[ ] ").count(), 100);
    assert_eq!(fs_err::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn the_user_may_set_the_bounds() {
    let world = World::new();
    world.user_config("[limits]\nlines = 5\n");
    let run = world.haft(&["call", "todowrite", "-", "--json"]).stdin(long_list().to_string());
    let answer = run.run().done().json();
    let items = answer["output"].as_str().unwrap().matches("[ ] ").count();
    assert!((1..=5).contains(&items), "{items} items are shown");
    assert_eq!(answer["metadata"]["truncated"], true);
}

#[test]
fn an_error_is_bounded_too() {
    let args = json!({ "todos": (0..100).map(|n| json!({ "bad": n })).collect::<Vec<_>>() });
    let message = World::new().call("todowrite", &args, &[]).coded(1).message();
    assert!(message.len() <= 8 * 1024, "{} bytes", message.len());
    assert!(message.ends_with("nothing has run."), "{message}");
}
