//! Searching from the command line: the user's own ignore rules hold there too.

use serde_json::json;

use crate::world::World;

#[test]
fn what_the_user_ignores_everywhere_is_left_out_and_said() {
    let world = World::new();
    world.put("config/git/ignore", "*.bak\n");
    world.put("work/.git/HEAD", "ref: refs/heads/main\n");
    world.put("work/a.txt", "needle\n");
    world.put("work/b.bak", "needle\n");
    let answer = world.call("grep", &json!({ "pattern": "needle" }), &[]).done().json();
    let text = answer["output"].as_str().unwrap();
    assert!(text.contains("a.txt") && !text.contains("b.bak"), "{text}");
    assert!(text.contains("ignored"), "{text}");
    let answer = world.call("glob", &json!({ "pattern": "*" }), &[]).done().json();
    let text = answer["output"].as_str().unwrap();
    assert!(text.contains("a.txt") && !text.contains("b.bak"), "{text}");
}
