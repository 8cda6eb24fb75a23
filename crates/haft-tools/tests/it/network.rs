//! What commands reach: each other, the hosts they were allowed, and nothing else. Through the pipeline.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use haft_runtime::permission::Reply;
use haft_runtime::{Call, CancellationToken, SessionId};
use serde_json::{Value, json};

use crate::bash::confines;
use crate::world::World;

/// Everything is allowed that is not denied.
const ALLOW: &str = "[permission]\n\"*\" = \"allow\"\n";

/// Everything but connecting, which asks, and nobody answers.
const OFFLINE: &str = "[permission]\n\"*\" = \"allow\"\nwebfetch = \"ask\"\n";

/// A server that says a word to everybody, after the line with its port.
const SERVER: &str = r#"perl -MIO::Socket::INET -e '$|=1; $s=IO::Socket::INET->new(Listen=>5,LocalAddr=>"127.0.0.1");
print "port ",$s->sockport,"\n"; while($c=$s->accept){print $c "served\n"; close $c}'"#;

/// Asks the proxy for a host and port, by hand.
const FETCH: &str = r#"
u=${HTTP_PROXY#http://}; auth=$(printf %s "${u%@*}" | base64 -w0)
[ -n "$u" ] || { echo "no proxy"; exit 7; }
exec 3<>/dev/tcp/127.0.0.1/${u##*:}
printf 'GET http://%s/ HTTP/1.1\r\nProxy-Authorization: Basic %s\r\n\r\n' "$1" "$auth" >&3
timeout 20 cat <&3
"#;

/// A server on the machine that counts who comes.
fn server() -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    std::thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            counted.fetch_add(1, Ordering::SeqCst);
            let mut buffer = [0; 4096];
            let _head = stream.read(&mut buffer);
            let _gone = stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nfound");
        }
    });
    (port, count)
}

async fn say(world: &World, script: &str) -> Value {
    let answer = world.call("bash", json!({ "command": script })).await;
    assert_eq!(answer["state"], "completed", "{answer}");
    answer
}

fn said(answer: &Value) -> &str {
    answer["output"].as_str().unwrap()
}

async fn world(rules: &str) -> World {
    let world = World::running(rules, |_| ()).await;
    world.put("fetch.sh", FETCH);
    world
}

#[tokio::test]
async fn a_server_in_the_background_is_reached_by_later_calls_of_the_session_alone() {
    if !confines("a_server_in_the_background_is_reached").await {
        return;
    }
    let world = world(ALLOW).await;
    let job = world.call("bash", json!({ "command": SERVER, "background": true })).await;
    let id = job["metadata"]["job"].as_u64().unwrap();
    let wait = json!({ "action": "wait", "id": id, "pattern": "port \\d+", "timeout": 20000 });
    let text = world.text("job", wait).await;
    let port: u16 = text.lines().next().unwrap().strip_prefix("port ").unwrap().parse().unwrap();
    let open = json!({ "action": "wait", "id": id, "port": port, "timeout": 20000 });
    let text = world.text("job", open).await;
    assert!(text.contains(&format!("port {port} is open")), "{text}");
    let shut = json!({ "action": "wait", "id": id, "port": 1, "timeout": 300 });
    assert!(world.text("job", shut).await.contains("waited 0.3 s"));
    // A call that names its loopback stays in the session's network, whatever else the rules allow.
    let ask = format!("cat < /dev/tcp/127.0.0.1/{port}");
    assert!(said(&say(&world, &ask).await).starts_with("served\n"));
    assert!(said(&say(&world, &ask).await).starts_with("served\n"), "and again");
    let asked = world.again("[permission]\n\"*\" = \"allow\"\nwebfetch = \"ask\"\n").await;
    assert!(
        said(&say(&asked, &ask).await).contains("refused"),
        "needs no answer, and is a new runtime"
    );
    let other = Call::new(SessionId::fresh(), "bash", json!({ "command": ask }));
    let other = world.toolset.execute(other, CancellationToken::new()).await.to_json();
    assert!(said(&other).contains("Connection refused"), "{other}");
    assert!(std::net::TcpStream::connect(("127.0.0.1", port)).is_err(), "nobody comes in");
    world.text("job", json!({ "action": "kill", "id": id })).await;
    assert!(said(&say(&world, &ask).await).contains("Connection refused"));
}

#[tokio::test]
async fn a_host_that_a_rule_allows_is_let_through_and_others_are_told() {
    if !confines("a_host_that_a_rule_allows").await {
        return;
    }
    let (port, count) = server();
    let rules = format!(
        "{OFFLINE}[permission.webfetch]\n\"*\" = \"ask\"\n\"127.0.0.1:{port}\" = \"allow\"\n"
    );
    let rules = rules.replace("webfetch = \"ask\"\n", "");
    let world = world(&rules).await;
    let answer = say(&world, &format!("bash fetch.sh 127.0.0.1:{port}")).await;
    assert!(said(&answer).contains("found") && answer["metadata"]["denials"].is_null(), "{answer}");
    let answer =
        say(&world, "bash fetch.sh other.example:80; bash fetch.sh other.example:8080").await;
    let text = said(&answer);
    let refused = "The sandbox refused to connect to other.example:80. To allow it: the rule `[permission.webfetch] \"other.example\" = \"allow\"`";
    assert!(text.contains("HTTP/1.1 403 Refused") && text.contains(refused), "{text}");
    let note = "[the sandbox refused to connect to other.example:8080; to allow it: the rule `[permission.webfetch] \"other.example:8080\" = \"allow\"`]";
    assert!(text.contains(note), "{text}");
    assert_eq!(answer["metadata"]["denials"][0]["what"], "to connect to other.example:80");
    assert_eq!(
        answer["metadata"]["denials"][0]["hint"],
        "the rule `[permission.webfetch] \"other.example\" = \"allow\"`"
    );
    assert_eq!(count.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_rule_for_a_host_is_for_no_other_and_for_its_usual_ports() {
    if !confines("a_rule_for_a_host").await {
        return;
    }
    let rules = "[permission]\n\"*\" = \"allow\"\n[permission.webfetch]\n\"*\" = \"ask\"\n\
                 \"fine.invalid\" = \"allow\"\n\"*.wide.invalid\" = \"allow\"\n\
                 \"shut.wide.invalid\" = \"deny\"\n\"port.invalid:99\" = \"allow\"\n";
    let world = world(rules).await;
    let allowed = ["fine.invalid:80", "FINE.invalid.:443", "a.wide.invalid:80", "port.invalid:99"];
    let refused = [
        "fine.invalid:22",
        "evil-fine.invalid:80",
        "fine.invalid.evil.invalid:80",
        "wide.invalid:80",
        "evilwide.invalid:80",
        "shut.wide.invalid:80",
        "port.invalid:80",
        "port.invalid:999",
    ];
    for (hosts, status) in [(&allowed[..], "502 Bad Gateway"), (&refused[..], "403 Refused")] {
        for host in hosts {
            let answer = say(&world, &format!("bash fetch.sh {host}")).await;
            assert!(said(&answer).contains(status), "{host}: {answer}");
        }
    }
}

#[tokio::test]
async fn the_rule_that_is_named_is_the_one_that_helps() {
    if !confines("the_rule_that_is_named").await {
        return;
    }
    let (port, count) = server();
    // All may be reached, but `*` does not mean the machine itself.
    let world = world(ALLOW).await;
    for host in ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0"] {
        let answer = say(&world, &format!("bash fetch.sh {host}:{port}")).await;
        assert!(said(&answer).contains("403 Refused"), "{answer}");
    }
    let answer = say(&world, &format!("bash fetch.sh 127.0.0.1:{port}")).await;
    let rule = format!("the rule `[permission.webfetch] \"127.0.0.1:{port}\" = \"allow\"`");
    assert!(said(&answer).contains(&rule), "{answer}");
    assert_eq!(count.load(Ordering::SeqCst), 0);
    let rules = format!("{ALLOW}[permission.webfetch]\n\"127.0.0.1:{port}\" = \"allow\"\n");
    let world = world.again(&rules).await;
    for host in ["127.0.0.1", "localhost"] {
        let answer = say(&world, &format!("bash fetch.sh {host}:{port}")).await;
        assert!(said(&answer).contains("found"), "{answer}");
    }
    let rules = format!("{ALLOW}[permission.webfetch]\n\"127.0.0.1:{port}\" = \"deny\"\n");
    let world = world.again(&rules).await;
    let answer = say(&world, &format!("bash fetch.sh 127.0.0.1:{port}")).await;
    assert!(
        said(&answer).contains("to allow it: change the rule `webfetch 127.0.0.1:"),
        "{answer}"
    );
    assert_eq!(count.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn what_a_call_was_allowed_to_reach_is_open_to_that_call_alone() {
    if !confines("what_a_call_was_allowed_to_reach").await {
        return;
    }
    let rules = format!("{}\n[permission.bash]\n\"*\" = \"allow\"\n", haft_tools::DEFAULT_RULES);
    let world = World::ruled(&rules, Reply::Once).await;
    world.put("fetch.sh", FETCH);
    // The host is named, so it is asked for; the answer opens the way for this call.
    let named = "(: < /dev/tcp/named.invalid/80) 2>&1; bash fetch.sh named.invalid:80; bash fetch.sh named.invalid:22; bash fetch.sh other.invalid:80";
    let answer = say(&world, named).await;
    assert!(world.asked_effects().iter().any(|effect| effect.value == "named.invalid"));
    let text = said(&answer);
    assert!(text.contains("named.invalid is allowed, but no address of it was found"), "{text}");
    assert!(text.contains("refused to connect to named.invalid:22"), "{text}");
    assert!(text.contains("refused to connect to other.invalid:80"), "{text}");
    // Who does not use the proxy meets a network without a way out, and is told how that is changed.
    assert!(
        text.contains("[the sandbox refused to connect to named.invalid; to allow it: the rule"),
        "{text}"
    );
    assert!(text.contains("ssh and others that do not need `[sandbox] network = true`"), "{text}");
    let answer = say(&world, "bash fetch.sh named.invalid:80").await;
    assert!(said(&answer).starts_with("no proxy"), "nothing is allowed to the next: {answer}");
}

#[tokio::test]
async fn a_job_tells_which_hosts_it_was_refused() {
    if !confines("a_job_tells_which_hosts").await {
        return;
    }
    let world =
        world(&format!("{ALLOW}[permission.webfetch]\n\"*\" = \"ask\"\nfine = \"allow\"\n")).await;
    let command = "bash fetch.sh other.example:443; sleep 1000";
    let job = world.call("bash", json!({ "command": command, "background": true })).await;
    let id = job["metadata"]["job"].as_u64().unwrap();
    let wait = json!({ "action": "wait", "id": id, "pattern": "403", "timeout": 20000 });
    let text = world.text("job", wait).await;
    let note = "[the sandbox refused to connect to other.example:443; to allow it: the rule `[permission.webfetch] \"other.example\" = \"allow\"`]";
    assert!(text.contains(note), "{text}");
    let killed = world.text("job", json!({ "action": "kill", "id": id })).await;
    assert!(killed.contains(note), "{killed}");
}

#[tokio::test]
async fn a_rule_for_everything_opens_the_whole_network_to_a_call_that_names_a_host() {
    if !confines("a_rule_for_everything").await {
        return;
    }
    let world = world(ALLOW).await;
    let own = fs_err::read_to_string("/proc/net/dev").unwrap().lines().count();
    let lines = async |world: &World, script: &str| {
        let answer = say(world, &format!("{script}; wc -l < /proc/net/dev")).await;
        said(&answer).lines().find_map(|line| line.parse::<usize>().ok()).unwrap()
    };
    let named = "(: < /dev/tcp/named.invalid/80) 2>/dev/null";
    assert_eq!(lines(&world, named).await, own);
    assert_eq!(lines(&world, "true").await, 3, "two lines of titles, and lo");
    let rules = format!("{ALLOW}[permission.webfetch]\n\"evil.example\" = \"deny\"\n");
    let world = world.again(&rules).await;
    assert_eq!(lines(&world, named).await, 3, "not where something is denied");
}
