//! Bounds an answer and keeps the whole of what was cut.

use std::sync::Arc;

use crate::bound;
use crate::context::Context;
use crate::documents::blocking;
use crate::output::Output;
use crate::store::KeptOutput;

/// Brings an answer within the limits. What the model does not read is kept under a path, if there is a store.
pub(crate) async fn keep_within_limits(mut output: Output, cx: &Context) -> Output {
    bound::metadata(&mut output.metadata, cx.limits.metadata);
    bound::title(&mut output.title);
    drop_heavy_attachments(&mut output, cx.limits.attachments);
    let mut footer = std::mem::take(&mut output.footer);
    bound::title(&mut footer);
    let limits = bound::above(&cx.limits, &footer);
    if !bound::fits(&output.output, &limits) {
        let whole = Arc::new(std::mem::take(&mut output.output));
        let kept = keep(&whole, cx).await;
        let says = match &kept {
            Ok(kept) => format!("the whole text is kept at {}{}", kept.path.display(), hint(cx)),
            Err(why) => format!("it was not kept: {why}"),
        };
        if let Some(cut) = bound::cut(&whole, output.keep, &limits, &says) {
            output.output = bound::join(&cut, whole.len(), &says);
        }
        if let Ok(kept) = kept {
            let path = kept.path.to_string_lossy().into_owned();
            output.metadata.insert("output_path".to_owned(), path.into());
        }
        output.truncated = true;
    }
    append(&mut output.output, &footer);
    if output.truncated {
        output.metadata.insert("truncated".to_owned(), true.into());
    }
    output
}

/// Puts the footer below the text, with a blank line between them.
fn append(text: &mut String, footer: &str) {
    if !footer.is_empty() && !text.is_empty() {
        text.push_str(if text.ends_with('\n') { "\n" } else { "\n\n" });
    }
    text.push_str(footer);
}

async fn keep(text: &Arc<String>, cx: &Context) -> Result<KeptOutput, String> {
    let Some(store) = cx.toolset.runtime().store() else {
        return Err("there is no store".to_owned());
    };
    let (store, text) = (Arc::clone(store), Arc::clone(text));
    let (session, call) = (cx.session.clone(), cx.call.clone());
    let kept = blocking(move || store.keep(&session, &call, &text)).await;
    kept.map_err(|error| bound::sentence(error.to_string(), 200))
}

fn hint(cx: &Context) -> String {
    if cx.limits.hint.is_empty() { String::new() } else { format!("; {}", cx.limits.hint) }
}

/// Attachments beyond the limit are replaced by a line that says so.
fn drop_heavy_attachments(output: &mut Output, limit: usize) {
    let mut room = limit;
    let mut dropped = Vec::new();
    output.attachments.retain(|attachment| {
        let fits = attachment.data.len() <= room;
        if fits {
            room -= attachment.data.len();
        } else {
            dropped.push(attachment.name.clone().unwrap_or_else(|| attachment.mime.clone()));
        }
        fits
    });
    if !dropped.is_empty() {
        let names = dropped.join(", ");
        output.output.push_str(&format!("\n[attachments too large to show: {names}]"));
    }
}
