//! Agents and skills, at the command line.

use serde_json::{Value, json};

use crate::world::World;

fn offered(world: &World, agent: &str) -> (Vec<String>, Value) {
    let shown = world.haft(&["tools", "--json", "--agent", agent]).run().done().json();
    let names = shown["tools"].as_array().unwrap().iter();
    (names.map(|it| it["id"].as_str().unwrap().to_owned()).collect(), shown["left_out"].clone())
}

#[test]
fn an_agent_that_plans_is_not_offered_what_changes_files_and_is_told_why() {
    let world = World::new();
    for agent in ["plan", "explore"] {
        let (names, left_out) = offered(&world, agent);
        for tool in ["write", "edit", "apply_patch"] {
            assert!(!names.contains(&tool.to_owned()), "{agent}: {names:?}");
            let all = left_out.as_array().unwrap();
            let why = all.iter().find(|it| it["id"] == tool).unwrap()["reason"].as_str().unwrap();
            assert!(why.contains("edit * = deny"), "{why}");
        }
        assert!(!names.contains(&"undo".to_owned()), "{agent}: {names:?}");
        assert!(names.contains(&"read".to_owned()) && names.contains(&"bash".to_owned()));
    }
    for agent in ["build", "general"] {
        assert!(offered(&world, agent).0.contains(&"write".to_owned()));
    }
    let ran = world.haft(&["tools", "--agent", "nobody"]).run().coded(2);
    assert!(ran.stderr.contains("build, plan, explore, general"), "{}", ran.stderr);
}

#[test]
fn agents_that_look_cannot_write_by_any_command_nor_read_secrets() {
    let world = World::new();
    world.put("work/a.txt", "alpha\n");
    world.put("work/.env", "TOKEN=hush\n");
    let before = world.tree("work");
    let bash = |agent: &str, script: &str| {
        let args = json!({ "command": script });
        world.call("bash", &args, &["--agent", agent, "--allow-all"])
    };
    assert!(bash("explore", "cat a.txt | wc -l").done().stdout.contains('1'));
    let scripts = [
        "echo x > a.txt",
        "rm a.txt",
        "touch b",
        "sed -i s/a/b/ a.txt",
        "find . -name a.txt -delete",
        "sort -o a.txt a.txt",
        "git diff --output=b",
        "python3 -c 'open(\"b\",\"w\")'",
        "x=touch; $x b",
        "eval 'touch b'",
        "cp a.txt b",
        "tee b < a.txt",
    ];
    for script in scripts {
        for agent in ["explore", "plan"] {
            let ran = bash(agent, script);
            assert_eq!(world.tree("work"), before, "{agent}: {script}: {ran:#?}");
        }
    }
    for script in ["cat .env", "grep -r TOKEN .", "cat .e*", "head -1 ./.env"] {
        let ran = bash("explore", script);
        assert!(!ran.stdout.contains("hush"), "{script}: {ran:#?}");
    }
    let read = json!({ "file_path": ".env" });
    world.call("read", &read, &["--agent", "explore", "--allow-all"]).coded(3);
}

#[test]
fn a_users_agent_is_a_file_with_its_rules_and_its_tools() {
    let world = World::new();
    let text = "---\ndescription: Reviews.\nmodel: openai/gpt-5\nmode: subagent\ntools: [read, Grep]\npermission:\n  read:\n    \"*.md\": deny\n---\nBe kind.";
    world.put("config/haft/agents/review.md", text);
    world.put("work/a.md", "x");
    world.put("work/a.txt", "x");
    let (names, left_out) = offered(&world, "review");
    assert_eq!(names, ["read", "grep"]);
    assert!(left_out.to_string().contains("review.md"), "{left_out}");
    let read = |file: &str| json!({ "file_path": file });
    world.call("read", &read("a.txt"), &["--agent", "review"]).done();
    world.call("read", &read("a.md"), &["--agent", "review", "--allow-all"]).coded(3);
    world.call("list", &json!({}), &["--agent", "review", "--allow-all"]).coded(3);
    world.put("config/haft/agents/wrong.md", "---\ndescription: x\nmode: [oops\n---\nGo.\n");
    let warned = world.haft(&["tools"]).run().done().stderr;
    assert!(
        warned.contains("wrong.md is ignored: its settings: error: line 3 column 7"),
        "{warned}"
    );
    assert!(warned.contains("\n    3 | mode: [oops\n") && !warned.contains("\\n"), "{warned}");
    world.put("config/haft/agents/broken.md", "no settings");
    let ran = world.haft(&["tools"]).run().done();
    assert!(ran.stderr.contains("broken.md"), "{}", ran.stderr);
}

#[test]
fn skills_are_offered_by_name_loaded_when_asked_and_the_nearest_wins() {
    let world = World::new();
    assert!(!offered(&world, "build").0.contains(&"skill".to_owned()));
    let skill = |body: &str| {
        format!(
            "---\nname: greet\ndescription: How to greet people.\nallowed-tools: Read, Bash\nlicense: MIT\n---\n{body}\n"
        )
    };
    world.put("config/haft/skills/greet/SKILL.md", skill("the user's words"));
    world.put("work/.claude/skills/greet/SKILL.md", skill("the project's words"));
    world.put("work/.claude/skills/greet/names.txt", "Ada");
    world.put("work/sub/.agents/skills/greet/SKILL.md", skill("the nearest words"));
    let shown = world.haft(&["schema", "skill"]).run().done().stdout;
    assert!(shown.contains("greet: How to greet people."), "{shown}");
    let name = json!({ "name": "greet" });
    let ran = world.call("skill", &name, &[]).coded(3);
    assert!(ran.message().contains("[permission.skill]"), "{}", ran.message());
    let text = world.call("skill", &name, &["--allow-all"]).done().json()["output"].to_string();
    assert!(text.contains("the project's words") && text.contains("names.txt"), "{text}");
    let args = name.to_string();
    let near = world.haft(&["call", "skill", &args, "--allow-all", "--dir", ".."]);
    let near = near.dir(world.path("work/sub")).run().done();
    assert!(near.stdout.contains("the nearest words"), "{}", near.stdout);
    let ran = world.call("skill", &json!({ "name": "../../etc" }), &["--allow-all"]).coded(1);
    assert!(ran.message().contains("there are: greet"), "{}", ran.message());
}

#[test]
fn a_projects_skill_with_scripts_waits_for_trust_and_loses_it_with_a_change() {
    let world = World::new();
    world.put(
        "work/.haft/skills/lint/SKILL.md",
        "---\nname: lint\ndescription: Lints.\n---\nRun it.",
    );
    world.put("work/.haft/skills/lint/run.py", "print(1)");
    let load = |world: &World| world.call("skill", &json!({ "name": "lint" }), &["--allow-all"]);
    assert!(!load(&world).stdout.contains("Run it."));
    let shown = world.haft(&["trust"]).run().done().stdout;
    assert!(shown.contains("the skill `lint`, with run.py"), "{shown}");
    world.haft(&["trust", "give"]).run().done();
    assert!(load(&world).done().stdout.contains("Run it."));
    world.put("work/.haft/skills/lint/run.py", "print(2)");
    assert!(!load(&world).stdout.contains("Run it."));
}

#[test]
fn skills_that_rules_deny_are_not_told_of() {
    let world = World::new();
    for name in ["good", "better"] {
        let text = format!("---\nname: {name}\ndescription: Does {name}.\n---\nWords.");
        world.put(&format!("work/.haft/skills/{name}/SKILL.md"), text);
    }
    world.user_config("[permission.skill]\n\"good\" = \"deny\"\n");
    // Words alone need no trust.
    let shown = world.haft(&["schema", "skill"]).run().done().stdout;
    assert!(shown.contains("Does better.") && !shown.contains("good"), "{shown}");
    let denied = world.call("skill", &json!({ "name": "good" }), &["--allow-all"]).coded(3);
    assert!(denied.message().contains("by the rule `skill good = deny`"), "{}", denied.message());
    let unknown = world.call("skill", &json!({ "name": "best" }), &["--allow-all"]).coded(1);
    assert!(unknown.message().ends_with("there are: better"), "{}", unknown.message());
    let left_out = world.haft(&["tools"]).run().done().stdout;
    assert!(left_out.contains("good: not offered: denied by the rule"), "{left_out}");
    world.user_config("[permission.skill]\n\"*\" = \"deny\"\n");
    assert!(!offered(&world, "build").0.contains(&"skill".to_owned()));
}
