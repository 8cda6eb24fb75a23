//! A tool of one's own in Rust: counts the lines of a file. See `line_count.toml` beside it.

use std::io::{BufRead, Write};

use serde_json::{Value, json};

fn main() -> std::io::Result<()> {
    let mut args = String::new();
    std::io::stdin().lock().read_line(&mut args)?;
    let answer = match count(&args) {
        Ok((file, lines)) => {
            json!({ "type": "result", "title": file, "output": format!("{lines} lines") })
        }
        Err(message) => json!({ "type": "error", "message": message }),
    };
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", json!({ "type": "progress", "title": "counting" }))?;
    writeln!(out, "{answer}")
}

fn count(args: &str) -> Result<(String, usize), String> {
    let args: Value = serde_json::from_str(args).map_err(|error| error.to_string())?;
    let file = args.get("file").and_then(Value::as_str).ok_or("no file was named")?;
    let text = fs_err::read_to_string(file).map_err(|error| error.to_string())?;
    Ok((file.to_owned(), text.lines().count()))
}
