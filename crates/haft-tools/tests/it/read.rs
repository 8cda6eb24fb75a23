//! `read` through the pipeline.

use std::io::Write;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use haft_runtime::permission::Reply;
use serde_json::{Value, json};

use crate::world::World;

/// A red dot.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==";

fn path(path: &str) -> Value {
    json!({ "file_path": path })
}

fn numbered(count: usize) -> String {
    (1..=count).map(|number| format!("line {number}\n")).collect()
}

#[tokio::test]
async fn lines_come_with_their_numbers_and_a_footer() {
    let world = World::new().await;
    world.put("f", "alpha\n\tbeta\r\ngamma");
    let answer = world.call("read", path("f")).await;
    assert_eq!(answer["output"], "    1→alpha\n    2→\tbeta\n    3→gamma\n\n(all 3 lines)");
    assert_eq!(answer["title"], "f");
    assert_eq!(answer["metadata"]["total_lines"], 3);
}

#[tokio::test]
async fn a_long_file_is_read_page_by_page() {
    let world = World::new().await;
    world.put("f", numbered(5_000));
    let answer = world.call("read", json!({ "file_path": "f", "limit": 3, "offset": 4_000 })).await;
    let text = " 4000→line 4000\n 4001→line 4001\n 4002→line 4002\n\n(lines 4000 to 4002 of 5000; continue with offset 4003)";
    assert_eq!(answer["output"], text);
    assert_eq!(answer["metadata"]["truncated"], true);
    let first = world.text("read", path("f")).await;
    assert!(first.starts_with("    1→line 1\n"), "{first}");
    assert!(
        first.ends_with(" 2000→line 2000\n\n(lines 1 to 2000 of 5000; continue with offset 2001)")
    );
    let last = world.text("read", json!({ "file_path": "f", "offset": "4999" })).await;
    assert_eq!(
        last,
        " 4999→line 4999\n 5000→line 5000\n\n(lines 4999 to 5000 of 5000; this is the end)"
    );
    let message = world.error("read", json!({ "file_path": "f", "offset": 5_001 }), "failed").await;
    assert_eq!(message, "f has 5000 lines; offset 5001 is past its end");
}

#[tokio::test]
async fn following_the_footer_shows_every_line_once_however_long_they_are() {
    let world = World::new().await;
    let lines: Vec<String> =
        (0..400).map(|number| format!("{number} {}", "x".repeat(number * 4))).collect();
    world.put("f", lines.join("\n"));
    let (mut seen, mut offset) = (Vec::new(), 1);
    loop {
        let text = world.text("read", json!({ "file_path": "f", "offset": offset })).await;
        assert!(text.len() <= 50 * 1024, "{}", text.len());
        seen.extend(
            text.lines().filter_map(|line| line.split_once('→')).map(|(_, line)| line.to_owned()),
        );
        match text.rsplit_once("continue with offset ") {
            Some((_, next)) => offset = next.trim_end_matches(')').parse().unwrap(),
            None => break,
        }
    }
    assert_eq!(seen, lines);
}

#[tokio::test]
async fn a_very_long_line_is_cut_with_a_mark() {
    let world = World::new().await;
    world.put("f", format!("{}\nshort\n", "é".repeat(5_000)));
    let text = world.text("read", path("f")).await;
    assert!(text.contains(&format!("{}… [3000 more characters]\n    2→short", "é".repeat(2_000))));
}

#[tokio::test]
async fn a_folder_is_paged_like_a_file() {
    let world = World::new().await;
    for name in ["d/b", "d/a", "d/sub/x"] {
        world.put(name, "");
    }
    assert_eq!(world.text("read", path("d")).await, "sub/\na\nb\n\n(3 entries)");
    let text = world.text("read", json!({ "file_path": "d", "offset": 2, "limit": 1 })).await;
    assert_eq!(text, "a\n\n(entries 2 to 2 of 3; continue with offset 3)");
    world.error("read", json!({ "file_path": "d", "offset": 9 }), "failed").await;
}

#[tokio::test]
async fn encodings_are_found_and_named() {
    let world = World::new().await;
    let utf16: Vec<u8> = [0xff, 0xfe]
        .into_iter()
        .chain("grün\nrot\n".encode_utf16().flat_map(u16::to_le_bytes))
        .collect();
    world.put("utf16", utf16);
    world.put("latin", b"Gr\xfc\xdfe aus K\xf6ln, sch\xf6ne Gr\xfc\xdfe\n");
    world.put("bom", b"\xef\xbb\xbfhello\n");
    let utf16 = world.call("read", path("utf16")).await;
    assert_eq!(utf16["output"], "    1→grün\n    2→rot\n\n(all 2 lines)");
    assert_eq!(utf16["metadata"]["encoding"], "utf-16le");
    let latin = world.call("read", path("latin")).await;
    assert!(latin["output"].as_str().unwrap().contains("Grüße aus Köln"), "{latin}");
    assert_eq!(latin["metadata"]["encoding"], "windows-1252");
    assert_eq!(world.text("read", path("bom")).await, "    1→hello\n\n(all 1 line)");
}

#[tokio::test]
async fn pictures_and_documents_are_attached_by_what_they_are_not_by_their_names() {
    let world = World::new().await;
    world.put("picture.txt", STANDARD.decode(PNG).unwrap());
    world.put("paper", b"%PDF-1.7\n...");
    world.put("drawing.svg", "<svg xmlns=\"http://www.w3.org/2000/svg\"/>\n");
    let picture = world.call("read", path("picture.txt")).await;
    assert_eq!(picture["output"], "picture.txt: a picture of 1×1.");
    assert_eq!(
        picture["attachments"][0],
        json!({ "mime": "image/png", "name": "picture.txt", "data": PNG })
    );
    let paper = world.call("read", path("paper")).await;
    assert_eq!(paper["attachments"][0]["mime"], "application/pdf");
    assert!(world.text("read", path("drawing.svg")).await.contains("<svg"));
}

#[tokio::test]
async fn binary_files_are_refused_with_their_type_and_size() {
    let world = World::new().await;
    world.put("program", b"\x7fELF\x02\x01\x01\0\0\0\0\0");
    world.put("noise", [0u8; 100]);
    let message = world.error("read", path("program"), "failed").await;
    assert!(
        message.contains("program is binary (")
            && message.contains("ELF")
            && message.contains("12 bytes"),
        "{message}"
    );
    assert!(world.error("read", path("noise"), "failed").await.contains("100 bytes"));
    world.put("nothing", "");
    assert_eq!(world.text("read", path("nothing")).await, "(the file is empty)");
}

#[tokio::test]
async fn what_is_no_file_is_refused_at_once() {
    let allow = "[permission]\n\"*\" = \"allow\"\n";
    let world = World::ruled(allow, Reply::Unattended).await;
    let pipe = world.workspace().join("pipe");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(world.workspace().join("socket")).unwrap();
    for special in ["pipe", "socket", "/dev/zero", "/dev/null"] {
        let message = world.error("read", path(special), "failed").await;
        assert!(
            message.contains("only files and folders") || message.contains("cannot be opened"),
            "{message}"
        );
    }
    assert!(world.text("read", path("/proc/cpuinfo")).await.contains("without a known length"));
}

#[tokio::test]
async fn a_missing_file_names_those_that_may_be_meant() {
    let world = World::new().await;
    world.put("src/main.rs", "");
    world.put("src/mian.rs", "");
    let message = world.error("read", path("src/mainn.rs"), "failed").await;
    assert!(
        message.ends_with("does not exist; did you mean src/main.rs, src/mian.rs?"),
        "{message}"
    );
    assert!(world.error("read", path("zzz"), "failed").await.ends_with("zzz does not exist"));
}

#[tokio::test]
async fn secrets_and_what_lies_outside_are_asked_about_by_their_real_names() {
    let world = World::ruled(haft_tools::DEFAULT_RULES, Reply::Reject { feedback: None }).await;
    let outside = fs_err::canonicalize(world.workspace().parent().unwrap()).unwrap().join("secret");
    fs_err::write(&outside, "token").unwrap();
    symlink(&outside, world.workspace().join("link")).unwrap();
    world.put(".env", "KEY=1");
    for (given, key, value) in [
        ("link", "external_directory", outside.to_str().unwrap()),
        ("../secret", "external_directory", outside.to_str().unwrap()),
        (".env", "read", ".env"),
    ] {
        world.host.asked.lock().unwrap().clear();
        let message = world.error("read", path(given), "denied").await;
        assert!(!message.contains("token"));
        let asked = world.asked_effects();
        assert_eq!((asked[0].key.as_ref(), asked[0].value.as_str()), (key, value), "{given}");
    }
}

#[tokio::test]
async fn a_kept_output_is_read_without_another_ask() {
    let world = World::ruled(haft_tools::DEFAULT_RULES, Reply::Reject { feedback: None }).await;
    let content = "x".repeat(1_900);
    let todos: Vec<Value> =
        (0..90).map(|_| json!({ "content": content, "status": "pending" })).collect();
    world.text("todowrite", json!({ "todos": todos })).await;
    let cut = world.call("todoread", json!({})).await;
    let kept = cut["metadata"]["output_path"].as_str().unwrap();
    let text = world.text("read", json!({ "file_path": kept, "limit": 2 })).await;
    assert!(text.contains("of 90; continue with offset 3"), "{text}");
    assert!(world.host.asked.lock().unwrap().is_empty());
}

/// While names are swapped for links to the outside and back, what is outside is never returned.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_the_outside_is_read_through_a_link_that_comes_and_goes() {
    // Asked again and again, the same call would be stopped for going in circles.
    let rules = "[permission]\n\"*\" = \"ask\"\nread = \"allow\"\ndoom_loop = \"allow\"\n";
    let world = World::ruled(rules, Reply::Unattended).await;
    let base = world.workspace();
    let outside = base.parent().unwrap().join("outside");
    fs_err::create_dir(&outside).unwrap();
    fs_err::write(outside.join("f"), "SECRET").unwrap();
    world.put("d/f", "public");
    symlink(&outside, base.join("e")).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|threads| {
        // Also when an assertion fails: the other thread is waited for.
        let _stop = Stop(&stop);
        threads.spawn(|| {
            let dir =
                rustix::fs::open(&base, rustix::fs::OFlags::DIRECTORY, rustix::fs::Mode::empty())
                    .unwrap();
            while !stop.load(Ordering::SeqCst) {
                let flags = rustix::fs::RenameFlags::EXCHANGE;
                rustix::fs::renameat_with(&dir, "d", &dir, "e", flags).unwrap();
            }
        });
        tokio::task::block_in_place(|| {
            tokio::runtime::Handle::current().block_on(async {
                let mut public = 0;
                for _ in 0..2_000 {
                    let answer = world.call("read", path("d/f")).await.to_string();
                    assert!(!answer.contains("SECRET"), "{answer}");
                    public += usize::from(answer.contains("public"));
                }
                assert!(public > 0, "it was there now and then");
            });
        });
    });
}

struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[tokio::test]
async fn the_end_of_a_huge_file_and_a_huge_line_are_shown_in_bounds() {
    let world = World::new().await;
    let mut head = fs_err::File::create(world.workspace().join("line")).unwrap();
    let chunk = "y".repeat(1024 * 1024);
    for _ in 0..64 {
        head.write_all(chunk.as_bytes()).unwrap();
    }
    drop(head);
    let text = world.text("read", path("line")).await;
    assert!(text.ends_with("more characters]\n\n(all 1 line)"));
    let long: String = numbered(200_000);
    world.put("long", &long);
    let text = world.text("read", json!({ "file_path": "long", "offset": 199_999 })).await;
    assert_eq!(
        text,
        "199999→line 199999\n200000→line 200000\n\n(lines 199999 to 200000 of 200000; this is the end)"
    );
}

#[tokio::test]
async fn the_block_around_a_line_is_shown_with_what_encloses_it() {
    let world = World::new().await;
    world.put("f.py", "import os\n\nclass A:\n    def one(self):\n        return 1\n\n    def two(self):\n        x = 2\n        return x\n\ndef other():\n    pass\n");
    let args = json!({ "file_path": "f.py", "mode": "indentation", "anchor_line": 8 });
    let text = world.text("read", args).await;
    for line in [
        "    3→class A:",
        "    7→    def two(self):",
        "    8→        x = 2",
        "    9→        return x",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert!(!text.contains("def one") && !text.contains("def other"), "{text}");
    assert!(text.contains("(the block around line 8:"), "{text}");
    let args = json!({ "file_path": "f.py", "mode": "indentation", "anchor_line": 99 });
    assert!(world.error("read", args, "failed").await.contains("has 12 lines"));
}

#[tokio::test]
async fn a_footer_is_not_one_of_the_lines_and_is_never_cut() {
    let world = World::new().await;
    world.put("f", numbered(2_000));
    let text = world.text("read", path("f")).await;
    assert_eq!(text.lines().filter(|line| line.contains('→')).count(), 2_000);
    assert!(text.ends_with("\n\n(all 2000 lines)"));
    world.put("wide", format!("{}\n", "x".repeat(1_990)).repeat(100));
    let answer = world.call("read", path("wide")).await;
    let text = answer["output"].as_str().unwrap();
    assert!(text.len() <= 50 * 1024 && text.contains("continue with offset "), "{}", text.len());
    assert!(answer["metadata"].get("output_path").is_none(), "a page is not cut a second time");
}
