//! The web from the command line: what the config and the environment say of it, and what it costs.

use std::io::Write;
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::bombs::{gzip, zstd_bomb};
use crate::site::{Site, answer, ok, send};
use crate::world::World;

/// Above what a small page takes.
const MOST_MEMORY: u64 = 64 << 20;

fn local(site: &Site) -> String {
    format!("127.0.0.1:{}", site.port)
}

fn fetch(world: &World, site: &Site, path: &str, code: i32) -> Value {
    let url = format!("http://{}{path}", local(site));
    world.call("webfetch", &json!({ "url": url }), &["--allow-all"]).coded(code).json()
}

#[test]
fn a_host_of_this_machine_is_fetched_only_if_the_user_names_it() {
    let site = Site::saying(ok("text/html", "<h1>Dev server</h1>"));
    let world = World::new();
    let refused = fetch(&world, &site, "/", 1);
    assert!(refused["error"]["message"].as_str().unwrap().contains("private_hosts"), "{refused}");
    assert_eq!(site.hits(), 0);
    world.user_config(&format!("[web]\nprivate_hosts = [\"{}\"]\n", local(&site)));
    let fetched = fetch(&world, &site, "/", 0);
    assert!(fetched["output"].as_str().unwrap().contains("\n# Dev server\n"), "{fetched}");
}

#[test]
fn what_a_project_says_of_the_web_counts_once_it_is_trusted() {
    let site = Site::saying(ok("text/plain", "hello"));
    let world = World::new();
    world.project_config(&format!(
        "[web]\nprivate_hosts = [\"{}\"]\n[web.search]\nprovider = \"exa-mcp\"\nbase_url = \"http://{}\"\n",
        local(&site),
        local(&site)
    ));
    let ran = world.haft(&["tools"]).run().done();
    assert!(ran.stderr.contains("[web]") && ran.stderr.contains("not trusted"), "{}", ran.stderr);
    assert!(ran.stdout.contains("websearch: not offered"), "{}", ran.stdout);
    fetch(&world, &site, "/", 1);
    assert_eq!(site.hits(), 0);
    world.haft(&["trust", "give"]).run().done();
    fetch(&world, &site, "/", 0);
    assert!(!world.haft(&["tools"]).run().done().stdout.contains("websearch: not offered"));
}

#[test]
fn a_search_needs_a_key_which_nobody_sees() {
    let world = World::new();
    let left_out = world.haft(&["tools", "--json"]).run().done().json()["left_out"].clone();
    let searches = left_out
        .as_array()
        .unwrap()
        .iter()
        .filter(|it| it["id"].as_str().unwrap().ends_with("search"));
    let searches = searches.filter(|it| it["id"] != "tool_search");
    let reasons: Vec<&str> = searches.map(|it| it["reason"].as_str().unwrap()).collect();
    assert!(
        reasons.len() == 2 && reasons.iter().all(|it| it.contains("EXA_API_KEY")),
        "{reasons:?}"
    );

    let found = json!({ "results": [{ "title": "T", "url": "https://a.test/", "text": "x" }] });
    let site = Site::saying(ok("application/json", found.to_string()));
    let config =
        format!("[web.search]\nbase_url = \"http://{}\"\nkey_env = \"MY_KEY\"\n", local(&site));
    world.user_config(&config);
    let key = "k-0123456789";
    let args =
        ["call", "websearch", r#"{"query":"words"}"#, "--json", "--allow-all", "--session", "s"];
    let ran = world.haft(&args).env("MY_KEY", key).run().done();
    assert!(ran.stdout.contains("https://a.test/"), "{}", ran.stdout);
    assert_eq!(site.requests()[0].header("x-api-key"), Some(key));
    world.user_config(&format!("{config}key = \"{key}\"\n"));
    world.haft(&args).run().done();
    assert_eq!(site.requests()[1].header("x-api-key"), Some(key));
    let shown = [
        vec!["config", "show", "--json"],
        vec!["doctor", "--json"],
        vec!["tools", "--json"],
        vec!["sessions", "show", "s", "--events"],
    ];
    for args in shown {
        let ran = world.haft(&args).run().done();
        assert!(!format!("{}{}", ran.stdout, ran.stderr).contains(key), "{args:?}");
    }
}

#[test]
fn a_wrong_config_of_the_web_names_its_line() {
    let world = World::new();
    world.user_config("[web.search]\nprovider = \"bing\"\n");
    let ran = world.haft(&["tools"]).run().coded(2);
    assert!(ran.stderr.contains("bing") && ran.stderr.contains("config.toml"), "{}", ran.stderr);
}

#[test]
fn the_usual_variables_name_the_proxy() {
    let proxy = Site::saying(ok("text/plain", "by proxy"));
    let world = World::new();
    let fetch = |variables: &[(&str, &str)], code: i32| {
        let args = json!({ "url": "http://docs.invalid/x", "timeout": 20 }).to_string();
        let mut run = world.haft(&["call", "webfetch", &args, "--json", "--allow-all"]);
        for (name, value) in variables {
            run = run.env(name, value);
        }
        run.run().coded(code)
    };
    let address = format!("http://{}", local(&proxy));
    fetch(&[("HTTP_PROXY", &address)], 0);
    fetch(&[("ALL_PROXY", &address)], 0);
    assert!(proxy.requests().iter().all(|asked| asked.path() == "http://docs.invalid/x"));
    let before = proxy.hits();
    fetch(&[("HTTP_PROXY", &address), ("NO_PROXY", ".invalid")], 1);
    world.user_config("[web]\nproxy = \"none\"\n");
    fetch(&[("HTTP_PROXY", &address)], 1);
    assert_eq!(proxy.hits(), before);
}

/// The peak memory of a process that fetches `path`.
fn peak(world: &World, site: &Site, path: &str) -> u64 {
    let args =
        json!({ "url": format!("http://{}{path}", local(site)), "timeout": 100 }).to_string();
    let haft = env!("CARGO_BIN_EXE_haft");
    let command = format!("{haft} call webfetch '{args}' --json --allow-all > answer.json; true");
    let flags = ["--allow-all", "--sandbox", "off"];
    let ran = world
        .call("bash", &json!({ "command": command, "timeout": 120_000 }), &flags)
        .done()
        .json();
    let answer = fs_err::read_to_string(world.path("work/answer.json")).unwrap();
    assert!(answer.contains("\"state\":\""), "{path}: {answer} {ran}");
    ran["metadata"]["peak_memory"].as_u64().unwrap_or_else(|| panic!("{ran}"))
}

/// Writes the same again and again, as long as somebody listens.
fn endless(stream: &mut TcpStream, bytes: &[u8]) {
    while stream.write_all(bytes).is_ok() {}
}

#[test]
fn no_server_makes_us_take_much_memory() {
    let site = Site::new(|asked, stream| {
        let encoded = |encoding: &str, body: &[u8]| {
            answer(
                "200 OK",
                &format!("content-type: text/html\r\ncontent-encoding: {encoding}\r\n"),
                body,
            )
        };
        let full_of = |part: &str| ok("text/html", part.repeat(5_000_000 / part.len()));
        match asked.path() {
            "/small" => send(stream, &ok("text/html", "<p>small</p>")),
            "/br" => {
                send(stream, &encoded("br", include_bytes!("../../../haft-web/tests/it/bomb.br")));
            }
            "/gzip" => send(stream, &encoded("gzip", &gzip(&vec![0; 200 << 20]))),
            "/zstd" => send(stream, &encoded("zstd", &zstd_bomb(8_192))),
            "/boxes" => send(stream, &full_of("<div>")),
            "/paragraphs" => send(stream, &full_of("<p>x")),
            "/rows" => send(stream, &full_of("<table><tr><td colspan=9 rowspan=9>x")),
            "/formatting" => send(stream, &full_of("<b><i><a href=x>x<p>")),
            "/text" => send(stream, &ok("text/plain; charset=shift_jis", vec![0x93; 5_000_000])),
            "/deep" => {
                let (open, close) = ("[".repeat(120), "]".repeat(120));
                let text = format!("{open}{}1{close}", "1,".repeat(2_400_000));
                send(stream, &ok("application/json", text));
            }
            "/garbled" => send(stream, &ok("text/html; charset=utf-8", vec![0xFE; 5_000_000])),
            "/ruins" => send(stream, &encoded("gzip", &vec![0x1F; 5_000_000])),
            "/unknown" => send(stream, &encoded("lzma", &vec![b'x'; 5_000_000])),
            "/layers" => send(stream, &encoded(&["gzip"; 500].join(","), &gzip(b"x"))),
            "/too-short" => {
                send(stream, b"HTTP/1.1 200 OK\r\ncontent-length: 18446744073709551615\r\n\r\nx");
            }
            "/too-long" => {
                send(stream, b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n");
                endless(stream, &[b'x'; 0x10000]);
            }
            "/head" => {
                send(stream, b"HTTP/1.1 200 OK\r\n");
                endless(stream, b"x-more: and more of it, and more, and more\r\n");
            }
            "/line" => {
                send(stream, b"HTTP/1.1 200 OK\r\nx-long: ");
                endless(stream, &[b'x'; 0x10000]);
            }
            _ => {
                send(stream, b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
                endless(stream, &[b"10000\r\n".as_slice(), &[b'x'; 0x10000], b"\r\n"].concat());
            }
        }
    });
    let world = World::new();
    world.user_config(&format!("[web]\nprivate_hosts = [\"{}\"]\n", local(&site)));
    let idle = peak(&world, &site, "/small");
    for path in [
        "/br",
        "/gzip",
        "/zstd",
        "/boxes",
        "/paragraphs",
        "/rows",
        "/formatting",
        "/text",
        "/deep",
        "/garbled",
        "/ruins",
        "/unknown",
        "/layers",
        "/too-short",
        "/too-long",
        "/head",
        "/line",
        "/endless",
    ] {
        let more = peak(&world, &site, path).saturating_sub(idle);
        assert!(more <= MOST_MEMORY, "{path}: {} MiB more than a small page", more >> 20);
    }
}
