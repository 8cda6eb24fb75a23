//! What would hang or fill up a careless reader: folders without end, files that grow.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use haft_runtime::CancellationToken;
use rustix::fs::{AtFlags, Mode, OFlags};
use serde_json::json;

use crate::world::World;

/// Most names that one file may have on the file systems that are common.
const LINKS: usize = 60_000;

/// Many names in a folder; links, because they are made faster than files.
fn fill(folder: &std::path::Path, count: usize) {
    fs_err::create_dir(folder).unwrap();
    let dir = fs_err::File::open(folder).unwrap();
    let mut source = String::new();
    for number in 0..count {
        let name = format!("{number:07}");
        if number % LINKS == 0 {
            let flags = OFlags::CREATE | OFlags::WRONLY;
            rustix::fs::openat(&dir, &name, flags, Mode::RUSR).unwrap();
            source = name;
        } else {
            rustix::fs::linkat(&dir, &source, &dir, &name, AtFlags::empty()).unwrap();
        }
    }
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "a test is told by its caller how much to do")]
async fn a_folder_with_very_many_names_is_counted_and_shown_in_parts() {
    let count = std::env::var("HAFT_ENTRIES").map_or(100_000, |count| count.parse().unwrap());
    let world = World::new().await;
    fill(&world.workspace().join("many"), count);
    let text = world.text("read", json!({ "file_path": "many" })).await;
    let footer = format!("(entries 1 to 2000 of {count}; continue with offset 2001)");
    assert!(text.starts_with("0000000\n0000001\n") && text.ends_with(&footer), "{footer}");
    let last = json!({ "file_path": "many", "offset": count - 1 });
    let text = world.text("read", last).await;
    assert!(text.starts_with(&format!("{:07}\n{:07}\n", count - 2, count - 1)), "{text}");
    let text = world.text("list", json!({ "path": "many" })).await;
    assert!(text.contains(&format!("… {} more", count - 1_000)), "{count}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_grows_while_it_is_read_is_read_as_it_was() {
    let world = World::new().await;
    world.put("log", "line\n".repeat(100_000));
    let path = world.workspace().join("log");
    let stop = Arc::new(AtomicBool::new(false));
    let writer = {
        let stop = Arc::clone(&stop);
        std::thread::spawn(move || {
            let mut file = fs_err::OpenOptions::new().append(true).open(path).unwrap();
            let more = "another line\n".repeat(10_000);
            // Enough to outrun any reader, and an end even if the test fails.
            for _ in 0..500 {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                file.write_all(more.as_bytes()).unwrap();
            }
        })
    };
    for limit in 2..7 {
        let args = json!({ "file_path": "log", "offset": 99_999, "limit": limit });
        let answer = world.call("read", args).await;
        assert!(answer["output"].as_str().unwrap().starts_with("99999→line\n100000→line\n"));
        assert!(answer["metadata"]["total_lines"].as_u64().unwrap() >= 100_000);
    }
    stop.store(true, Ordering::Relaxed);
    writer.join().unwrap();
}

#[tokio::test]
async fn reading_much_ends_when_it_is_cancelled() {
    let world = World::new().await;
    let file = fs_err::File::create(world.workspace().join("huge")).unwrap();
    // A hole: sixteen gigabytes that take no room.
    file.set_len(1 << 34).unwrap();
    let (mut start, end) = ("text\n".repeat(20_000), "the end\n");
    start.push_str(end);
    std::os::unix::fs::FileExt::write_at(file.file(), start.as_bytes(), 0).unwrap();
    let cancel = CancellationToken::new();
    let call = world.prepare("read", json!({ "file_path": "huge", "offset": 1_000_000 }));
    let read = world.toolset.execute(call, cancel.clone());
    let (settled, ()) = tokio::join!(read, async { cancel.cancel() });
    assert_eq!(settled.to_json()["error"]["kind"], "cancelled", "{}", settled.to_json());
}
