//! Tools that are deferred to save context: found by what they do, and shown from then on.

use std::sync::Arc;
use std::time::Duration;

use haft_custom::{CustomTool, Origin, ToolSearch, find_tools};
use haft_runtime::permission::Reply;
use haft_runtime::{Delivery, EventKind};
use serde_json::json;

use crate::world::{Ground, World};

const TOOLS: [(&str, &str); 6] = [
    ("github_create_issue", "Open a new issue in a repository."),
    ("github_list_pulls", "List the pull requests of a repository."),
    ("mail_send", "Send a message to somebody by e-mail."),
    ("calendar_add", "Put an appointment into the calendar."),
    ("weather_today", "Say what the weather is like."),
    ("secret_keys", "Read keys from the vault."),
];

async fn world(room: usize, rules: &str) -> World {
    let ground = Ground::new();
    ground.program(
        "config/tools/run",
        "#!/bin/sh\necho \"{\\\"type\\\":\\\"result\\\",\\\"output\\\":\\\"$HAFT_TOOL\\\"}\"\n",
    );
    for (name, description) in TOOLS {
        let text = format!(
            "description = \"{description}\"\ncommand = [\"./run\"]\n[parameters.properties.to]\ntype = \"string\"\ndescription = \"Whom.\"\n"
        );
        ground.put(&format!("config/tools/{name}.toml"), text);
    }
    let folder = ground.path("config/tools");
    let mut tools = Vec::new();
    let mut world = World::new(ground, rules, Reply::Unattended, |builder, programs, _| {
        let found = find_tools(&folder, Origin::User, &programs);
        assert_eq!(found.broken, []);
        let make = |manifest| CustomTool::new(manifest, None, programs.clone());
        tools.extend(found.manifests.into_iter().map(make));
        builder.tool_room(room)
    })
    .await;
    for tool in tools {
        world.runtime.add_tool(Arc::new(tool)).unwrap();
    }
    world.runtime.add_tool(Arc::new(ToolSearch)).unwrap();
    world.refresh().await;
    world
}

fn rules() -> String {
    let allowed = TOOLS.map(|(name, _)| format!("{name} = \"allow\"\n")).concat();
    haft_tools::DEFAULT_RULES.replace(
        "[permission]\n\"*\" = \"ask\"\n",
        &format!("[permission]\n\"*\" = \"ask\"\n{allowed}"),
    )
}

#[tokio::test]
async fn where_there_is_room_every_tool_is_shown_and_there_is_nothing_to_search() {
    let world = world(usize::MAX, &rules()).await;
    let names = world.toolset.names();
    assert!(TOOLS.iter().all(|(name, _)| names.contains(&(*name).to_owned())), "{names:?}");
    assert!(!names.contains(&"tool_search".to_owned()));
    assert!(world.toolset.left_out().iter().any(|it| it.id == "tool_search"));
}

#[tokio::test]
async fn what_has_no_room_is_found_by_what_it_does_and_shown_from_then_on() {
    let mut world = world(0, &rules()).await;
    let names = world.toolset.names();
    assert!(names.contains(&"tool_search".to_owned()) && names.contains(&"read".to_owned()));
    assert!(TOOLS.iter().all(|(name, _)| !names.contains(&(*name).to_owned())), "{names:?}");
    let mut events = world.runtime.events(None);
    for (query, best) in [
        ("open an issue", "github_create_issue"),
        ("listing pull requests", "github_list_pulls"),
        ("sending mails", "mail_send"),
        ("weather_today", "weather_today"),
        ("Appointments", "calendar_add"),
    ] {
        let answer = world.call("tool_search", json!({ "query": query, "limit": 1 })).await;
        assert_eq!(answer["metadata"]["loaded"], json!([best]), "{query}: {answer}");
        let text = answer["output"].as_str().unwrap();
        assert!(text.contains("\"description\":\"Whom.\""), "{text}");
        world.refresh().await;
        assert!(world.toolset.names().contains(&best.to_owned()), "{best}");
        assert_eq!(world.text(best, json!({ "to": "x" })).await, best);
    }
    // Hosts are told each time that the list has changed, once that is kept.
    let mut told = 0;
    while told < 5 {
        let next = tokio::time::timeout(Duration::from_secs(10), events.next()).await;
        let delivery = next.unwrap_or_else(|_| panic!("only {told} were told"));
        if let Some(Delivery::Event(event)) = delivery {
            told += usize::from(matches!(*event.kind, EventKind::ToolsChanged { .. }));
        }
    }
}

#[tokio::test]
async fn what_fits_nothing_names_what_there_is_and_what_is_denied_is_not_there() {
    let denying = format!("{}secret_keys = \"deny\"\n", "[permission]\n\"*\" = \"allow\"\n");
    let world = world(0, &denying).await;
    let text = world.text("tool_search", json!({ "query": "zebra" })).await;
    assert!(text.contains("mail_send") && !text.contains("secret_keys"), "{text}");
    let text = world.text("tool_search", json!({ "query": "read keys from the vault" })).await;
    assert!(!text.contains("secret_keys"), "{text}");
    world.error("tool_search", json!({ "query": "" }), "invalid_params").await;
}

#[tokio::test]
async fn the_first_tools_have_room_and_one_that_is_called_by_name_answers() {
    let world = world(400, &rules()).await;
    let names = world.toolset.names();
    assert!(names.contains(&"calendar_add".to_owned()), "{names:?}");
    assert!(!names.contains(&"weather_today".to_owned()), "{names:?}");
    assert_eq!(world.text("weather_today", json!({})).await, "weather_today");
}
