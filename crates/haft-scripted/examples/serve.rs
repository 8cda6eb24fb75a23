//! Serves a script until its standard input ends, then prints what the model was shown, as JSON.
//!
//! `echo '[["read", {"file_path": "a.txt"}], "Done."]' > script.json`, then `serve script.json`.
#![allow(clippy::print_stdout, reason = "that is what it is for")]

use std::io::Read;

use haft_scripted::{Model, Turn};
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("which script?")?;
    let script: Vec<Value> = serde_json::from_str(&fs_err::read_to_string(path)?)?;
    let turn = |step: &Value| match step {
        Value::String(text) => Turn::say(text),
        step => {
            let tool = step.get(0).and_then(Value::as_str).unwrap_or_default();
            Turn::call(tool, step.get(1).cloned().unwrap_or_default())
        }
    };
    let model = Model::start(script.iter().map(turn).collect())?;
    println!("{}", model.url());
    std::io::stdin().read_to_end(&mut Vec::new())?;
    for request in model.requests() {
        let (path, tools) = (&request.path, request.tools());
        println!("{}", json!({ "path": path, "tools": tools, "body": request.body }));
    }
    for shown in model.results() {
        println!("{}", json!({ "call": shown.call, "text": shown.text }));
    }
    Ok(())
}
