//! Servers over HTTP, with their headers and certificates.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use super::failing::crooked_tools_are_left_out;
use crate::mcp::{self, Client, Era, Forms};
use crate::world::World;

#[test]
fn a_tool_that_does_not_fit_the_protocol_spoils_no_other_over_http_either() {
    let world = World::new();
    let http = Http::start(&world, "http-crooked", None);
    world.user_config(&format!(
        "[mcp.srv]\nurl = \"{}\"\nheaders = {{ X-Key = \"open sesame\" }}\n",
        http.1
    ));
    crooked_tools_are_left_out(&world);
}

/// A server over HTTP, ended with the test.
struct Http(Child, String);

impl Http {
    fn start(world: &World, mode: &str, certificate: Option<&str>) -> Self {
        let mut command = Command::new("python3");
        command.arg(world.server()).arg(mode).args(certificate).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut port = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut port).unwrap();
        let scheme = if certificate.is_some() { "https" } else { "http" };
        Self(child, format!("{scheme}://localhost:{}/mcp", port.trim()))
    }
}

impl Drop for Http {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

#[test]
fn servers_over_http_are_reached_with_their_headers() {
    let world = World::new();
    let http = Http::start(&world, "http", None);
    let config = |key: &str| {
        format!(
            "[mcp.web]\nurl = \"{}\"\nheaders = {{ X-Key = \"{key}\" }}\nstart_timeout = 4\n",
            http.1
        )
    };
    world.user_config(&config("open ${WORD}"));
    let args = ["call", "web_echo", "{\"text\":\"far\"}", "--json", "--allow-all"];
    let ran = world.haft(&args).env("WORD", "sesame").run().done().json();
    assert_eq!(ran["output"], "far");
    world.user_config(&config("wrong"));
    let report = world.report();
    assert_eq!(report["state"], "broken");
    assert!(report["why"].as_str().unwrap().contains("HTTP 401"), "{report}");
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    world.user_config(&format!("[mcp.web]\nurl = \"http://{nobody}/mcp\"\n"));
    let report = world.report();
    assert!(report["why"].as_str().unwrap().contains("refused"), "{report}");
}

#[test]
fn a_server_that_has_forgotten_the_session_is_greeted_again() {
    let world = World::new();
    let http = Http::start(&world, "http-sessions", None);
    world.user_config(&format!(
        "[mcp.web]\nurl = \"{}\"\nheaders = {{ X-Key = \"open sesame\" }}\n",
        http.1
    ));
    let client = || Client::start(&world, Era::Old, Forms::Unknown, &["--allow-all"]);
    let said = |client: &mut Client, tool: &str, args: Value| {
        mcp::text(&client.call(tool, &args)).to_owned()
    };
    let mut calling = client();
    assert_eq!(said(&mut calling, "web_forget", json!({})), "forgot 1");
    // The call was refused and did nothing, so it is made again.
    assert_eq!(said(&mut calling, "web_echo", json!({ "text": "again" })), "again");
    assert_eq!(calling.close(), 0);
    let mut reading = client();
    said(&mut reading, "web_forget", json!({}));
    let told = said(&mut reading, "web_resource", json!({}));
    assert!(told.contains("has forgotten the session"), "{told}");
    assert!(said(&mut reading, "web_resource", json!({})).contains("note://one"));
    assert_eq!(reading.close(), 0);
}

#[test]
fn a_server_over_https_has_to_prove_who_it_is() {
    let world = World::new();
    let file = world.path("server.pem");
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"])
        .args(["-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE"])
        .arg("-keyout")
        .arg(&file)
        .arg("-out")
        .arg(world.path("certificate.pem"))
        .output();
    if !made.is_ok_and(|output| output.status.success()) {
        eprintln!("SKIP a_server_over_https_has_to_prove_who_it_is: no openssl");
        return;
    }
    let certificate = fs_err::read_to_string(world.path("certificate.pem")).unwrap();
    let key = fs_err::read_to_string(&file).unwrap();
    let https = Http::start(&world, "http", Some(&world.put("server.pem", key + &certificate)));
    world.user_config(&format!(
        "[mcp.web]\nurl = \"{}\"\nheaders = {{ X-Key = \"open sesame\" }}\nstart_timeout = 4\n",
        https.1
    ));
    let args = ["call", "web_echo", "{\"text\":\"safe\"}", "--json", "--allow-all"];
    let trusting = world.haft(&args).env("SSL_CERT_FILE", world.path("certificate.pem"));
    assert_eq!(trusting.run().done().json()["output"], "safe");
    let report = world.report();
    assert_eq!(report["state"], "broken", "{report}");
    assert!(report["why"].as_str().unwrap().contains("certificate"), "{report}");
}
