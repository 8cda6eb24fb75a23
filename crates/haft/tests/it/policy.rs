//! Rules: which one decides, what a broken file does, what an agent may.

use serde_json::json;

use crate::world::{Ran, TOOLS, World, todos};

/// Writes a list under these rules.
fn write(world: &World, rules: &str, flags: &[&str]) -> Ran {
    let policy = world.policy(rules);
    let mut all = vec!["--policy", &policy];
    all.extend(flags);
    world.call("todowrite", &todos(&["x"]), &all)
}

#[test]
fn a_policy_file_allows_asks_and_denies() {
    let world = World::new();
    for (rule, code) in [("\"*\" = \"allow\"", 0), ("\"*\" = \"ask\"", 3), ("\"?\" = \"deny\"", 3)]
    {
        write(&world, &format!("[permission.todowrite]\n{rule}\n"), &[]).coded(code);
    }
}

#[test]
fn in_one_file_the_last_match_wins() {
    let world = World::new();
    let rules = "[permission.todowrite]\n\"?\" = \"deny\"\n\"*\" = \"allow\"\n";
    write(&world, rules, &[]).done();
    let rules = "[permission.todowrite]\n\"*\" = \"allow\"\n\"?\" = \"deny\"\n";
    assert_eq!(write(&world, rules, &[]).coded(3).kind(), "denied");
    // Also across tables, and for keys with wildcards.
    let rules = "[permission]\ntodowrite = \"allow\"\n\"todo*\" = \"ask\"\n";
    write(&world, rules, &[]).coded(3);
    let rules = "[permission]\n\"todo*\" = \"ask\"\ntodowrite = \"allow\"\n";
    write(&world, rules, &[]).done();
}

#[test]
fn a_deny_of_the_user_beats_every_allow_of_the_command_line() {
    let world = World::new();
    world.user_config("[permission.todowrite]\n\"?\" = \"deny\"\n");
    let allow = "[permission]\ntodowrite = \"allow\"\n";
    for flags in [&[][..], &["--allow-all"], &["--allow-edits", "--allow-all"]] {
        let ran = write(&world, allow, flags).coded(3);
        let denial = ran.json()["error"]["denial"].clone();
        assert_eq!(denial["by"], "rule");
        assert!(denial["rule"]["source"].as_str().unwrap().ends_with("config.toml:2"));
    }
}

#[test]
fn an_ask_of_the_user_yields_to_the_command_line() {
    let world = World::new();
    world.user_config("[permission]\ntodowrite = \"ask\"\n");
    world.call("todowrite", &todos(&["x"]), &[]).coded(3);
    world.call("todowrite", &todos(&["x"]), &["--allow-all"]).done();
    world.call("todowrite", &todos(&["x"]), &["--allow-edits"]).coded(3);
    // What the file says in more words overrules the flag.
    write(&world, "[permission]\ntodowrite = \"ask\"\n", &["--allow-all"]).coded(3);
}

#[test]
fn a_broken_rules_file_names_the_line_and_nothing_runs() {
    let broken = [
        ("[permission.bash]\n\"a\" = \"allow\"\n\"b\" = \"alow\"\n", 3),
        ("[permission\n", 1),
        ("\n\n[permission]\nbash = 3\n", 4),
        ("[permission.bash]\n\"ls *\" = { action = \"allow\", match = [\"rm x\"] }\n", 2),
        ("[permission.bash]\n\"ls *\" = { action = \"allow\", not_match = [\"ls x\"] }\n", 2),
        ("[permission.bash]\n\"a\" = { action = \"allow\", becuase = \"x\" }\n", 2),
        ("[permission.bash]\n\"a\" = \"allow\"\n\"a\" = \"deny\"\n", 3),
    ];
    for (rules, line) in broken {
        let world = World::new();
        let policy = world.policy(rules);
        let list = todos(&["x"]).to_string();
        let args = ["call", "todowrite", &list, "--session", "s", "--json", "--policy", &policy];
        let ran = world.haft(&args).run().coded(2);
        assert_eq!(ran.stdout, "", "{rules}");
        assert!(ran.stderr.contains(&format!("{policy}:{line}: ")), "{rules}\n{}", ran.stderr);
        assert_eq!(world.sessions(), 0, "{rules}");
        // The same text is no better as the user's or the project's config.
        world.user_config(rules);
        let ran = world.haft(&["tools"]).run().coded(2);
        assert!(ran.stderr.contains(&format!("config.toml:{line}: ")), "{}", ran.stderr);
    }
}

#[test]
fn examples_that_hold_are_no_hindrance() {
    let rules = "[permission.bash]\n\"git *\" = { action = \"allow\", reason = \"r\", \
                 match = [\"git\", \"git log\"], not_match = [\"gitk\"] }\n";
    write(&World::new(), rules, &[]).done();
}

#[test]
fn a_policy_file_with_a_misspelt_table_is_not_silently_empty() {
    let world = World::new();
    let ran = write(&world, "[permision]\ntodowrite = \"deny\"\n", &[]).done();
    assert!(ran.stderr.contains("unknown key `permision`"), "{}", ran.stderr);
    let ran = write(&world, "[agent.build.permission]\ntodowrite = \"deny\"\n", &[]).done();
    assert!(ran.stderr.contains("ignored: [agent.build]"), "{}", ran.stderr);
}

#[test]
fn a_whole_deny_hides_the_tool_and_says_why() {
    let world = World::new();
    let policy = world.policy("[permission]\ntodowrite = \"deny\"\n");
    let others: Vec<&str> = TOOLS.into_iter().filter(|tool| *tool != "todowrite").collect();
    let shown = world.haft(&["tools", "--json", "--policy", &policy]).run().done().json();
    let ids: Vec<_> = shown["tools"].as_array().unwrap().iter().map(|tool| &tool["id"]).collect();
    assert_eq!(ids, others);
    let mut left_out = shown["left_out"].as_array().unwrap().iter();
    let hidden = left_out.find(|tool| tool["id"] == "todowrite").unwrap();
    let reason = hidden["reason"].as_str().unwrap();
    assert!(reason.contains(&format!("{policy}:2")), "{reason}");
    let text = world.haft(&["tools", "--policy", &policy]).run().done().stdout;
    assert!(text.contains("todowrite: not offered: denied by the rule"), "{text}");

    let flags = ["--policy", &policy, "--session", "s"];
    let ran = world.call("todowrite", &todos(&["x"]), &flags).coded(3);
    assert!(ran.message().contains(&format!("{policy}:2")), "{}", ran.message());
    assert_eq!(world.todos("s"), Vec::<String>::new());
    let schema = world.haft(&["schema", "--policy", &policy, "--json"]).run().done().json();
    let names: Vec<_> = schema.as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, others);
}

const REVIEWER: &str = "
[agent.reviewer]
description = \"looks, and touches nothing\"
[agent.reviewer.permission]
todowrite = \"ask\"
[agent.writer.permission]
todowrite = \"allow\"
";

#[test]
fn an_agents_rules_hold_for_it_alone() {
    let world = World::new();
    world.user_config(REVIEWER);
    let list = todos(&["x"]);
    world.call("todowrite", &list, &[]).done();
    let ran = world.call("todowrite", &list, &["--agent", "reviewer"]).coded(3);
    assert!(ran.message().contains("config.toml:5"), "{}", ran.message());
    world.call("todoread", &json!({}), &["--agent", "reviewer"]).done();
}

#[test]
fn an_agents_allow_does_not_beat_a_deny() {
    let world = World::new();
    world.user_config(&format!("[permission.todowrite]\n\"?\" = \"deny\"\n{REVIEWER}"));
    world.call("todowrite", &todos(&["x"]), &["--agent", "writer"]).coded(3);
    world.user_config(&format!("[permission]\ntodowrite = \"ask\"\n{REVIEWER}"));
    world.call("todowrite", &todos(&["x"]), &["--agent", "writer"]).done();
    world.call("todowrite", &todos(&["x"]), &[]).coded(3);
}

#[test]
fn the_users_deny_for_an_agent_beats_the_projects_word_for_the_same_agent() {
    let world = World::new();
    world.user_config("[agent.writer.permission.todowrite]\n\"?\" = \"deny\"\n");
    for action in ["ask", "allow"] {
        world.project_config(&format!("[agent.writer.permission]\ntodowrite = \"{action}\"\n"));
        world.haft(&["trust", "give"]).run().done();
        let ran = world.call("todowrite", &todos(&["x"]), &["--agent", "writer"]).coded(3);
        assert_eq!(ran.json()["error"]["denial"]["by"], "rule", "{action}");
    }
}

#[test]
fn an_agents_rules_are_checked_and_shown_with_the_others() {
    let world = World::new();
    world.user_config("[agent.writer.permission.bash]\n\"git *\" = \"allow\"\n\"*\" = \"ask\"\n");
    world.haft(&["policy", "check"]).run().done();
    let ran = world.haft(&["policy", "check", "--agent", "writer"]).run().coded(1);
    assert!(ran.stdout.contains("config.toml:2"), "{}", ran.stdout);
    let text = world.haft(&["config", "show", "--agent", "writer"]).run().done().stdout;
    assert!(text.contains("`bash git * = allow`"), "{text}");
    world.haft(&["policy", "check", "--agent", "nobody"]).run().coded(2);
}

#[test]
fn a_denied_call_names_the_rules_that_together_allow_it() {
    let world = World::new();
    let args = json!({ "command": "echo 1; touch new.txt; touch new.txt" });
    let said = world.call("bash", &args, &[]).coded(3).message();
    let rules = said.split('`').filter(|part| part.starts_with("[permission."));
    // As keys with dots: a table may stand in a file only once.
    let rules: Vec<String> =
        rules.map(|rule| rule.replacen('[', "", 1).replacen("] ", ".", 1)).collect();
    assert!(rules.len() > 1, "{said}");
    let policy = world.policy(&rules.join("\n"));
    world.call("bash", &args, &["--policy", &policy]).done();
    // Each of them is needed.
    for left_out in 0..rules.len() {
        let mut some = rules.clone();
        some.remove(left_out);
        world.call("bash", &args, &["--policy", &world.policy(&some.join("\n"))]).coded(3);
    }
    let many: String = (0..30).map(|number| format!("echo {number}; ")).collect();
    let said = world.call("bash", &json!({ "command": many }), &[]).coded(3).message();
    assert!(said.contains("`echo 7` and 22 more need permission"), "{said}");
}

#[test]
fn an_unknown_agent_is_a_usage_error() {
    let world = World::new();
    world.user_config(REVIEWER);
    let ran = world.haft(&["call", "todoread", "--agent", "reviwer", "--json"]).run().coded(2);
    assert_eq!(ran.stdout, "");
    assert!(ran.stderr.contains("no agent `reviwer`"), "{}", ran.stderr);
    assert_eq!(world.sessions(), 0);
}

#[test]
fn what_is_protected_is_opened_by_the_rule_that_the_refusal_names() {
    let world = World::new();
    let write = |path: &str| {
        world.call("write", &json!({ "file_path": path, "content": "# x" }), &["--allow-all"])
    };
    for path in [".git/config", ".git/hooks/pre-commit", "sub/.git/config", "haft.toml"] {
        world.user_config("");
        let message = write(path).coded(3).message();
        let rule = message.rsplit_once("the rule `").expect(&message).1.trim_end_matches('`');
        let (table, rule) = rule.split_once(' ').expect(rule);
        world.user_config(&format!("{table}\n{rule}\n"));
        write(path).done();
    }
    world.user_config("[permission.edit]\n\".git/config\" = \"allow\"\n\"*\" = \"allow\"\n");
    write("other/.git/config").coded(3);
    write(".git/hooks/post-commit").coded(3);
}
