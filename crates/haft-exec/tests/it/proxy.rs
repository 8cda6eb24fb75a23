//! The proxy of a confined command: what is let through, what is refused, and what cannot be smuggled.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use haft_exec::sandbox::denial::Refused;
use haft_exec::{Command, Confinement, Host, Hosts, Keeper, Sandbox};

use crate::sandbox::full;
use crate::world::{Done, folder, keeper, run, script_in, within};

/// Hosts by name, and local addresses by number and port.
#[derive(Debug, Default)]
pub(crate) struct Allowed {
    pub(crate) names: Vec<&'static str>,
    pub(crate) local: Vec<(IpAddr, u16)>,
}

impl Hosts for Allowed {
    fn allows(&self, host: &Host, _: u16) -> bool {
        matches!(host, Host::Name(name) if self.names.contains(&name.as_str()))
    }

    fn allows_local(&self, _: &Host, address: IpAddr, port: u16) -> bool {
        self.local.contains(&(address, port))
    }

    fn hint(&self, host: &Host, port: u16) -> String {
        format!("say that {host}:{port} is fine")
    }
}

/// A server on the machine that answers every connection once, and remembers what it was told.
struct Server {
    port: u16,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let list = Arc::clone(&heard);
        std::thread::spawn(move || {
            while let Ok((mut stream, _)) = listener.accept() {
                // Whoever connects says something; whoever has said something may say more.
                stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
                let (mut all, mut buffer) = (Vec::new(), [0; 4096]);
                while let Ok(count @ 1..) = stream.read(&mut buffer) {
                    all.extend_from_slice(&buffer[..count]);
                    stream.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
                }
                let answer =
                    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nfound";
                let _gone = stream.write_all(answer.as_bytes());
                list.lock().unwrap().push(String::from_utf8_lossy(&all).into_owned());
            }
        });
        Self { port, heard }
    }

    fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }
}

const LOCAL: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

fn command(text: &str, work: &Path, hosts: Allowed) -> Command {
    let mut command = script_in(text, work);
    let mut confinement = Confinement::workspace([work.to_owned()]);
    confinement.peers = Some("ours".to_owned());
    command.sandbox = Sandbox::Confined(confinement);
    command.hosts = Some(Arc::new(hosts));
    command
}

/// Tells a shell how to talk to its proxy: `say` sends what `printf` makes of its argument, with
/// `@AUTH@` for what the proxy wants to hear, and shows what is answered.
const SAY: &str = r#"
user=${HTTP_PROXY#http://}; user=${user%@*}; port=${HTTP_PROXY##*:}
auth="Proxy-Authorization: Basic $(printf %s "$user" | base64 -w0)"
say() { exec 3<>/dev/tcp/127.0.0.1/$port; printf "${1//@AUTH@/$auth}" >&3; timeout 5 cat <&3; exec 3>&-; }
"#;

async fn say(keeper: &Keeper, work: &Path, request: &str, hosts: Allowed) -> Done {
    let mut command = command(&format!("{SAY}\nsay \"$REQUEST\""), work, hosts);
    command.env.push(("REQUEST".into(), request.into()));
    run(keeper, &command).await
}

#[tokio::test]
async fn an_allowed_host_is_reached_by_request_and_by_tunnel() {
    let Some(_) = full("an_allowed_host_is_reached").await else { return };
    let ((_guard, work), server, keeper) = (folder(), Server::start(), keeper());
    let port = server.port;
    let allowed = || Allowed { names: vec!["localhost"], local: vec![(LOCAL, port)] };
    let request = format!(
        "POST http://localhost:{port}/a?b HTTP/1.1\\r\\nHost: localhost:{port}\\r\\n@AUTH@\\r\\n\
         Content-Length: 4\\r\\n\\r\\nbody"
    );
    let done = say(&keeper, &work, &request, allowed()).await;
    assert!(
        done.said.starts_with("HTTP/1.1 200 OK") && done.said.ends_with("found"),
        "{}",
        done.said
    );
    let head = format!(
        "POST /a?b HTTP/1.1\r\nHost: localhost:{port}\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbody"
    );
    assert_eq!(server.heard(), [head]);
    let request =
        format!("CONNECT 127.0.0.1:{port} HTTP/1.1\\r\\n@AUTH@\\r\\n\\r\\nbytes of any kind");
    let done = say(&keeper, &work, &request, allowed()).await;
    assert!(
        done.said.starts_with("HTTP/1.1 200 Connection established\r\n\r\nHTTP/1.1 200 OK"),
        "{}",
        done.said
    );
    assert_eq!(server.heard()[1], "bytes of any kind");
    assert!(done.ended.denials.is_empty());
}

#[tokio::test]
async fn a_body_in_pieces_is_passed_on_whole() {
    let Some(_) = full("a_body_in_pieces").await else { return };
    let ((_guard, work), server, keeper) = (folder(), Server::start(), keeper());
    let port = server.port;
    let allowed = || Allowed { names: Vec::new(), local: vec![(LOCAL, port)] };
    let head = format!(
        "PUT http://127.0.0.1:{port}/ HTTP/1.1\\r\\n@AUTH@\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n"
    );
    let body = "3\\r\\nabc\\r\\nA\\r\\n0123456789\\r\\n0\\r\\n\\r\\n";
    let done =
        say(&keeper, &work, &format!("{head}{body}GET http://other/ HTTP/1.1"), allowed()).await;
    assert!(done.said.ends_with("found"), "{}", done.said);
    assert!(
        server.heard()[0].ends_with("3\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n"),
        "{:?}",
        server.heard()
    );
    for body in [
        "3 \\r\\nabc\\r\\n",
        "3;x=y\\r\\nabc\\r\\n",
        "-3\\r\\nabc\\r\\n",
        "3\\nabc\\r\\n",
        "0\\r\\nTrailer: x\\r\\n\\r\\n",
    ] {
        let done = say(&keeper, &work, &format!("{head}{body}"), allowed()).await;
        assert!(!done.said.contains("found"), "{body}: {}", done.said);
    }
}

#[tokio::test]
async fn curl_finds_the_proxy_and_is_told_what_it_refuses() {
    let Some(_) = full("curl_finds_the_proxy").await else { return };
    if std::process::Command::new("curl").arg("--version").output().is_err() {
        eprintln!("SKIP curl_finds_the_proxy: no curl");
        return;
    }
    let ((_guard, work), server, keeper) = (folder(), Server::start(), keeper());
    let port = server.port;
    let allowed = || Allowed { names: vec!["localhost"], local: vec![(LOCAL, port)] };
    let text = format!(
        "curl -sS --noproxy '' http://localhost:{port}/x; echo; \
         curl -sS --noproxy '' -p http://127.0.0.1:{port}/y; echo; \
         curl -sS http://other.example/; curl -sS https://secure.example/ || echo failed"
    );
    let mut all = command(&text, &work, allowed());
    all.errors = haft_exec::Errors::Joined;
    let done = run(&keeper, &all).await;
    assert!(done.said.starts_with("found\nfound\n"), "{}", done.said);
    let told = "The sandbox refused to connect to other.example:80. To allow it: say that other.example:80 is fine\n";
    assert!(done.said.contains(told) && done.said.ends_with("failed\n"), "{}", done.said);
    let what: Vec<_> = done.ended.denials.iter().map(|denial| denial.what.clone()).collect();
    let refused =
        ["other.example:80", "secure.example:443"].map(|host| Refused::Host(host.to_owned()));
    assert_eq!(what, refused);
    assert_eq!(done.ended.denials[0].hint, "say that other.example:80 is fine");
    assert_eq!(server.heard().len(), 2);
    let own = format!("curl -sS http://127.0.0.1:{port}/");
    let own = run(&keeper, &command(&own, &work, allowed())).await;
    assert!(own.said.contains("curl: (7)"), "its own loopback needs no proxy: {}", own.said);
}

#[tokio::test]
async fn nothing_is_smuggled_to_a_host_that_is_not_allowed() {
    let Some(_) = full("nothing_is_smuggled").await else { return };
    let ((_guard, work), open, shut, keeper) =
        (folder(), Server::start(), Server::start(), keeper());
    let (o, s) = (open.port, shut.port);
    let mut requests = Vec::new();
    for host in [
        "127.0.0.1",
        "localhost",
        "LOCALHOST",
        "localhost.",
        "127.1",
        "127.0.1",
        "0x7f.0.0.1",
        "0x7f000001",
        "2130706433",
        "0177.0.0.1",
        "017700000001",
        "127.0.0.01",
        "[::1]",
        "::1",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[0:0:0:0:0:ffff:7f00:1]",
        "[::127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[::1%%25lo]",
        "0.0.0.0",
        "0",
        "127.0.0.2",
        "127.255.255.254",
        "user@127.0.0.1",
        "127.0.0.1@localhost",
        "localhost\\\\t",
        "127.0.0.1%%00",
        "127。0。0。1",
        "①②⑦.0.0.1",
        "localhost%%2e",
        "local\\\\host",
        "localhost\\000",
        "localhost\\000.example",
        "127.0.0.1\\000.localhost",
    ] {
        requests.push(format!("CONNECT {host}:{s} HTTP/1.1\\r\\n@AUTH@\\r\\n\\r\\nX-SMUGGLED"));
        requests.push(format!("GET http://{host}:{s}/X-SMUGGLED HTTP/1.1\\r\\n@AUTH@\\r\\n\\r\\n"));
    }
    let first = format!("GET http://127.0.0.1:{o}/ HTTP/1.1\\r\\n@AUTH@\\r\\n");
    let second = format!(
        "GET http://127.0.0.1:{s}/X-SMUGGLED HTTP/1.1\\r\\nHost: X-SMUGGLED\\r\\n@AUTH@\\r\\n\\r\\n"
    );
    requests.extend([
        // A second request behind the first, with every way to be wrong about where the first ends.
        format!("{first}\\r\\n{second}"),
        format!("{first}Connection: keep-alive\\r\\n\\r\\n{second}"),
        format!("{first}Content-Length: 0\\r\\n\\r\\n{second}"),
        format!("{first}Content-Length: 0\\r\\nContent-Length: 400\\r\\n\\r\\n{second}"),
        format!("{first}Content-Length: 400\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n0\\r\\n\\r\\n{second}"),
        format!("{first}Transfer-Encoding: chunked\\r\\n\\r\\n0\\r\\n\\r\\n{second}"),
        format!("{first}Transfer-Encoding: xchunked\\r\\n\\r\\n0\\r\\n\\r\\n{second}"),
        format!("{first}Transfer-Encoding : chunked\\r\\n\\r\\n0\\r\\n\\r\\n{second}"),
        format!("{first}Connection: transfer-encoding\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n0\\r\\n\\r\\n{second}"),
        // Another host in another place.
        format!("{first}Host: X-SMUGGLED\\r\\n\\r\\n"),
        format!("{first}Host: 127.0.0.1:{s}\\r\\n\\r\\n"),
        format!("{first}Host: 127.0.0.1:{o}\\r\\nHost: X-SMUGGLED\\r\\n\\r\\n"),
        format!("{first}A: b\\nHost: X-SMUGGLED\\r\\n\\r\\n"),
        format!("{first}A: b\\rHost: X-SMUGGLED\\r\\n\\r\\n"),
        format!("{first} Host: X-SMUGGLED\\r\\n\\r\\n"),
        format!("GET http://127.0.0.1:{o}\\r\\nHost: X-SMUGGLED\\r\\n/ HTTP/1.1\\r\\n@AUTH@\\r\\n\\r\\n"),
        format!("GET http://127.0.0.1:{o}@127.0.0.1:{s}/X-SMUGGLED HTTP/1.1\\r\\n@AUTH@\\r\\n\\r\\n"),
        format!("GET http://127.0.0.1:{o}#@127.0.0.1:{s}/X-SMUGGLED HTTP/1.1\\r\\n@AUTH@\\r\\n\\r\\n"),
        format!("GET http://127.0.0.1:{o}:{s}/X-SMUGGLED HTTP/1.1\\r\\n@AUTH@\\r\\n\\r\\n"),
        format!("GET http://127.0.0.1:{s}/X-SMUGGLED HTTP/1.1\\r\\nHost: 127.0.0.1:{o}\\r\\n@AUTH@\\r\\n\\r\\n"),
        format!("GET /X-SMUGGLED HTTP/1.1\\r\\nHost: 127.0.0.1:{s}\\r\\n@AUTH@\\r\\n\\r\\n"),
        format!("CONNECT 127.0.0.1:{o} HTTP/1.1\\r\\nHost: 127.0.0.1:{s}\\r\\n@AUTH@\\r\\n\\r\\nX-SMUGGLED"),
        format!("CONNECT 127.0.0.1:{o}\\r\\n127.0.0.1:{s} HTTP/1.1\\r\\n@AUTH@\\r\\n\\r\\nX-SMUGGLED"),
        format!("CONNECT 127.0.0.1:{o},127.0.0.1:{s} HTTP/1.1\\r\\n@AUTH@\\r\\n\\r\\nX-SMUGGLED"),
        format!("CONNECT 127.0.0.1:{o} HTTP/1.1\\r\\nAuthorization: Basic x\\r\\n\\r\\nX-SMUGGLED"),
        format!("CONNECT 127.0.0.1:{o} HTTP/1.1\\r\\nProxy-Authorization: Basic aGFmdDo=\\r\\n\\r\\nX-SMUGGLED"),
        format!("CONNECT 127.0.0.1:{o} HTTP/1.1\\r\\nX: {}\\r\\n@AUTH@\\r\\n\\r\\nX-SMUGGLED", "x".repeat(20_000)),
        format!("{first}{}\\r\\n", "X: X-SMUGGLED\\r\\n".repeat(150)),
        "\\005\\001\\000\\005\\001\\000\\001\\177\\000\\000\\001\\000\\120".to_owned(),
    ]);
    for request in requests {
        let hosts = Allowed { names: vec!["localhost", "local"], local: vec![(LOCAL, o)] };
        let done = say(&keeper, &work, &request, hosts).await;
        assert_eq!(shut.heard(), Vec::<String>::new(), "{request}: {}", done.said);
        let told = open.heard().into_iter().find(|heard| heard.contains("X-SMUGGLED"));
        assert_eq!(told, None, "{request}: {}", done.said);
    }
    assert!(open.heard().len() >= 4, "what is in order goes through: {:?}", open.heard());
}

#[tokio::test]
async fn a_refusal_says_what_is_wrong_with_a_request() {
    let Some(_) = full("a_refusal_says").await else { return };
    let ((_guard, work), keeper) = (folder(), keeper());
    let long =
        format!("CONNECT a:1 HTTP/1.1\\r\\nX: {}\\r\\n@AUTH@\\r\\n\\r\\n", "x".repeat(20_000));
    let whole = "CONNECT a.example:1 HTTP/1.1\\r\\n@AUTH@\\r\\n\\r\\n";
    for (request, status) in [
        (long.as_str(), "HTTP/1.1 431 "),
        (whole, "HTTP/1.1 403 Refused by the sandbox\r\n"),
        ("GET / HTTP/1.1\\r\\n@AUTH@\\r\\n\\r\\n", "HTTP/1.1 400 "),
        ("GET / HTTP/1.1\\r\\n\\r\\n", "HTTP/1.1 407 "),
    ] {
        let done = say(&keeper, &work, request, Allowed::default()).await;
        assert!(done.said.starts_with(status), "{status}: {}", done.said);
        assert!(done.said.contains("\r\nConnection: close\r\n"), "{}", done.said);
    }
}

#[tokio::test]
async fn a_proxy_serves_its_command_alone_and_ends_with_it() {
    let Some(_) = full("a_proxy_serves_its_command_alone").await else { return };
    let ((_guard, work), server, keeper) = (folder(), Server::start(), keeper());
    let port = server.port;
    let allowed = || Allowed { names: Vec::new(), local: vec![(LOCAL, port)] };
    let text = "echo ${HTTP_PROXY##*:} > port.new; mv port.new port; sleep 1000";
    let process = keeper.spawn(&command(text, &work, allowed())).await.unwrap();
    assert!(within(Duration::from_secs(10), || work.join("port").exists()).await);
    let proxy: u16 = fs_err::read_to_string(work.join("port")).unwrap().trim().parse().unwrap();
    // Another command of the same network sees the port, but does not know the word.
    let text = format!(
        "{SAY}\nport={proxy}; say 'CONNECT 127.0.0.1:{port} HTTP/1.1\\r\\n@AUTH@\\r\\n\\r\\n'"
    );
    let other = || async { run(&keeper, &command(&text, &work, Allowed::default())).await.said };
    assert!(other().await.starts_with("HTTP/1.1 407 "));
    drop(process);
    let mut said = other().await;
    for _ in 0..100 {
        if said.contains("refused") {
            break;
        }
        said = other().await;
    }
    assert!(said.contains("refused") && server.heard().is_empty(), "{said}");
}

#[tokio::test]
async fn without_a_private_network_there_is_no_proxy() {
    let (_guard, work) = folder();
    let mut open = command("echo \"[$HTTP_PROXY]\"", &work, Allowed::default());
    open.sandbox = Sandbox::Off;
    assert_eq!(run(&keeper(), &open).await.said, "[]\n");
}
