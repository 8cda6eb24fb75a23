//! What the official conformance suite expects of a server, made of tools of our own contract, so that
//! the real adapter is what is tested. Prints its address and serves until it is killed.
//!
//! What haft has no counterpart of (prompts, completions, logging, sampling, roots, resources of other
//! kinds than kept outputs) is not here; `conformance.yml` beside the tests lists what fails for it.

#![expect(clippy::print_stdout, reason = "the address is what whoever starts this needs")]

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use haft_mcp::server::http::Listener;
use haft_mcp::server::{AskMode, Asks, Elicited, Server, Settings, elicit};
use haft_runtime::permission::{Action, Effect, Layer, LayerKind, Policy};
use haft_runtime::{
    AgentId, Attachment, BoxFuture, Context, DynTool, Output, Runtime, Schema, ToolError, Traits,
};
use serde_json::{Value, json};

/// A picture of one pixel.
const PICTURE: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==";
/// A sound of no length.
const SOUND: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=";

/// The runtime, for the tool that changes the list of tools.
static RUNTIME: OnceLock<Runtime> = OnceLock::new();

type Work = fn(Value, &Context) -> BoxFuture<'_, Result<Output, ToolError>>;

/// A tool that is data and a function.
struct Fixture {
    id: &'static str,
    description: &'static str,
    schema: Value,
    work: Work,
}

impl DynTool for Fixture {
    fn id(&self) -> &str {
        self.id
    }

    fn description(&self) -> Cow<'_, str> {
        self.description.into()
    }

    fn schema(&self) -> Result<Schema, String> {
        Schema::from_value(self.schema.clone())
    }

    fn traits(&self) -> Traits {
        Traits { idempotent: false, ..Traits::READ_ONLY }
    }

    fn effects<'a>(
        &'a self,
        _args: Value,
        _cx: &'a Context,
    ) -> BoxFuture<'a, Result<Vec<Effect>, ToolError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn prepare<'a>(
        &'a self,
        args: Value,
        cx: &'a Context,
    ) -> Result<BoxFuture<'a, Result<Output, ToolError>>, ToolError> {
        Ok((self.work)(args, cx))
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(serve())
}

async fn serve() -> Result<(), Box<dyn std::error::Error>> {
    // The suite makes the same call again and again.
    let rules = Layer::new(LayerKind::User, "suite").rule("doom_loop", "*", Action::Allow);
    let runtime = Runtime::builder("/conformance")
        .policy(Policy::new(vec![rules]))
        .host(Asks::new(AskMode::Auto))
        .build();
    for tool in fixtures() {
        runtime.add_tool(Arc::new(tool))?;
    }
    let runtime = RUNTIME.get_or_init(|| runtime).clone();
    let server = Server::new(runtime, Settings::new("/conformance", AgentId::parse("build")?));
    let listener = Listener::bind("127.0.0.1:0".parse()?).await?;
    println!("{}", listener.url());
    server.serve_http(listener, None).await;
    Ok(())
}

fn fixtures() -> Vec<Fixture> {
    let mut all = vec![
        tool("test_simple_text", "Answers with a text.", |_, _| {
            Box::pin(async { Ok(Output::new("", "This is a simple text response for testing.")) })
        }),
        tool("test_image_content", "Answers with a picture.", |_, _| {
            Box::pin(async { Ok(with(Output::default(), &[file("image/png", "p.png", PICTURE)])) })
        }),
        tool("test_audio_content", "Answers with a sound.", |_, _| {
            Box::pin(async { Ok(with(Output::default(), &[file("audio/wav", "s.wav", SOUND)])) })
        }),
        tool("test_embedded_resource", "Answers with a file.", |_, _| {
            Box::pin(async {
                let text = "VGhpcyBpcyBhbiBlbWJlZGRlZCByZXNvdXJjZSBjb250ZW50Lg==";
                Ok(with(Output::default(), &[file("text/plain", "t.txt", text)]))
            })
        }),
        tool("test_multiple_content_types", "Answers with all of them.", |_, _| {
            Box::pin(async {
                let json = "eyJ0ZXN0IjoiZGF0YSIsInZhbHVlIjoxMjN9";
                let files =
                    [file("image/png", "p.png", PICTURE), file("application/json", "d.json", json)];
                Ok(with(Output::new("", "Multiple content types test:"), &files))
            })
        }),
        tool("test_error_handling", "Fails.", |_, _| {
            Box::pin(async {
                Err(ToolError::failed("This tool intentionally returns an error for testing"))
            })
        }),
        tool("test_tool_with_progress", "Tells how far it is.", |_, cx| {
            Box::pin(async move {
                for done in [0, 50, 100] {
                    cx.metadata("working", json!({ "progress": done, "total": 100 }));
                    // Ten a second are told, and no more.
                    tokio::time::sleep(Duration::from_millis(130)).await;
                }
                Ok(Output::new("", "done"))
            })
        }),
        tool("test_trigger_tool_change", "Adds a tool, and takes it away.", |_, _| {
            Box::pin(async {
                let runtime = RUNTIME.get().ok_or_else(|| ToolError::failed("too early"))?;
                let id = "test_passing";
                if runtime.remove_tool(id) {
                    return Ok(Output::new("", "gone"));
                }
                let passing = tool(id, "Comes and goes.", |_, _| {
                    Box::pin(async { Ok(Output::new("", "here")) })
                });
                let added = runtime.add_tool(Arc::new(passing));
                added.map_err(|error| ToolError::failed(error.to_string()))?;
                Ok(Output::new("", "here"))
            })
        }),
    ];
    all.extend(forms());
    all
}

/// Tools that ask the user.
fn forms() -> Vec<Fixture> {
    vec![
        Fixture {
            schema: json!({
                "type": "object",
                "properties": { "message": { "type": "string", "description": "What to say." } },
                "required": ["message"],
            }),
            ..tool("test_elicitation", "Asks for a name and an address.", |args, _| {
                Box::pin(async move {
                    let message = args.get("message").and_then(Value::as_str).unwrap_or_default();
                    let text = |says| json!({ "type": "string", "description": says });
                    let properties = json!({
                        "username": text("User's response"), "email": text("User's email address")
                    });
                    told("User response", form("user", message, properties).await)
                })
            })
        },
        tool("test_elicitation_sep1034_defaults", "Asks with defaults.", |_, _| {
            Box::pin(async {
                let status = json!(["active", "inactive", "pending"]);
                let properties = json!({
                    "name": { "type": "string", "default": "John Doe" },
                    "age": { "type": "integer", "default": 30 },
                    "score": { "type": "number", "default": 95.5 },
                    "status": { "type": "string", "enum": status, "default": "active" },
                    "verified": { "type": "boolean", "default": true },
                });
                let schema = json!({ "type": "object", "properties": properties });
                told("Elicitation completed", elicit("defaults", "Please check", schema).await)
            })
        }),
        tool("test_elicitation_sep1330_enums", "Asks with every kind of choice.", |_, _| {
            Box::pin(async {
                let plain = json!(["option1", "option2", "option3"]);
                let titled = |word: &str| {
                    json!([
                        { "const": "value1", "title": format!("First {word}") },
                        { "const": "value2", "title": format!("Second {word}") },
                        { "const": "value3", "title": format!("Third {word}") },
                    ])
                };
                let names = json!(["Option One", "Option Two", "Option Three"]);
                let legacy = json!(["opt1", "opt2", "opt3"]);
                let properties = json!({
                    "untitledSingle": { "type": "string", "enum": plain },
                    "titledSingle": { "type": "string", "oneOf": titled("Option") },
                    "legacyEnum": { "type": "string", "enum": legacy, "enumNames": names },
                    "untitledMulti": { "type": "array", "items": { "type": "string", "enum": plain } },
                    "titledMulti": { "type": "array", "items": { "anyOf": titled("Choice") } },
                });
                let schema = json!({ "type": "object", "properties": properties });
                told("Elicitation completed", elicit("choices", "Please choose", schema).await)
            })
        }),
        tool("test_streaming_elicitation", "Asks while it streams.", |_, _| {
            Box::pin(async { told("User response", form("ok", "Go on?", ok()).await) })
        }),
        tool("test_input_required_result_elicitation", "Asks for a name.", |_, _| {
            Box::pin(async {
                let answer = form("user_name", "What is your name?", name()).await;
                Ok(Output::new("", format!("Hello, {}!", field(&answer, "name"))))
            })
        }),
        tool("test_input_required_result_request_state", "Asks to confirm.", |_, _| {
            Box::pin(async {
                let answer = form("confirm", "Please confirm", ok()).await;
                // It got here because the sealed ticket was the right one.
                Ok(Output::new("", format!("state-ok: {}", field(&answer, "ok"))))
            })
        }),
        tool("test_input_required_result_tampered_state", "Asks to confirm.", |_, _| {
            Box::pin(async { told("Confirmed", form("confirm", "Please confirm", ok()).await) })
        }),
        tool("test_input_required_result_multi_round", "Asks twice.", |_, _| {
            Box::pin(async {
                let first = form("step1", "Step 1: What is your name?", name()).await;
                let colour = json!({ "color": { "type": "string" } });
                let second = form("step2", "Step 2: What is your favorite color?", colour).await;
                let (name, colour) = (field(&first, "name"), field(&second, "color"));
                Ok(Output::new("", format!("{name} likes {colour}")))
            })
        }),
    ]
}

fn tool(id: &'static str, description: &'static str, work: Work) -> Fixture {
    Fixture { id, description, schema: json!({ "type": "object", "properties": {} }), work }
}

/// Asks with a form all of whose fields are needed.
async fn form(key: &str, message: &str, properties: Value) -> Option<Elicited> {
    let required: Vec<&String> =
        properties.as_object().into_iter().flat_map(serde_json::Map::keys).collect();
    let schema = json!({ "type": "object", "properties": properties, "required": required });
    elicit(key, message, schema).await
}

fn name() -> Value {
    json!({ "name": { "type": "string" } })
}

fn ok() -> Value {
    json!({ "ok": { "type": "boolean" } })
}

fn field(answer: &Option<Elicited>, name: &str) -> String {
    match answer {
        Some(Elicited::Accepted(content)) => match content.get(name) {
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
            None => "nobody".to_owned(),
        },
        _ => "nobody".to_owned(),
    }
}

fn told(what: &str, answer: Option<Elicited>) -> Result<Output, ToolError> {
    let (action, content) = match answer {
        None => return Err(ToolError::failed("this client cannot show forms")),
        Some(Elicited::Accepted(content)) => ("accept", content),
        Some(Elicited::Declined) => ("decline", json!({})),
        Some(Elicited::Cancelled) => ("cancel", json!({})),
    };
    Ok(Output::new("", format!("{what}: action={action}, content={content}")))
}

fn with(mut output: Output, files: &[Attachment]) -> Output {
    output.attachments = files.to_vec();
    output
}

fn file(mime: &str, name: &str, data: &str) -> Attachment {
    Attachment { mime: mime.to_owned(), name: Some(name.to_owned()), data: data.to_owned() }
}
