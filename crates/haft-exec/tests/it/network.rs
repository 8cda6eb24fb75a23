//! Private networks: shared by the commands of one session, closed to everybody else, gone with the runtime.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

use haft_exec::sandbox::UnixSockets;
use haft_exec::{Command, Confinement, Keeper, Process, Sandbox};

use crate::rooms;
use crate::sandbox::full;
use crate::world::{keeper, mark, run, script_in, within};

/// What a server inside says to everybody.
const HELLO: &str = "hello from the other command";

/// The program of a command that serves: a TCP port, and an abstract socket of the name it is given.
pub(crate) fn serve_inside(name: &str) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = std::os::unix::net::SocketAddr::from_abstract_name(name).unwrap();
    let abstract_socket = std::os::unix::net::UnixListener::bind_addr(&address).unwrap();
    let port = listener.local_addr().unwrap().port();
    fs_err::write("port.new", port.to_string()).unwrap();
    fs_err::rename("port.new", "port").unwrap();
    std::thread::spawn(move || while abstract_socket.accept().is_ok() {});
    while let Ok((mut stream, _)) = listener.accept() {
        let _gone = stream.write_all(HELLO.as_bytes());
    }
}

fn confined(text: &str, work: &Path, peers: Option<&str>) -> Command {
    let mut command = script_in(text, work);
    let mut confinement = Confinement::workspace([work.to_owned()]);
    confinement.peers = peers.map(str::to_owned);
    confinement.unix_sockets = UnixSockets::Allowed;
    confinement.visible.push(crate::world::built());
    command.sandbox = Sandbox::Confined(confinement);
    command
}

/// Starts a server in the network of `peers`, and says on which port it listens.
async fn server(keeper: &Keeper, work: &Path, peers: Option<&str>, name: &str) -> (Process, u16) {
    let mut command = confined("", work, peers);
    command.program = std::env::current_exe().unwrap();
    command.args = rooms::ARGS.map(Into::into).into();
    command.env.push((rooms::PART.into(), format!("serve {name}").into()));
    let process = keeper.spawn(&command).await.unwrap();
    let port = work.join("port");
    assert!(within(Duration::from_secs(20), || port.exists()).await, "no server");
    (process, fs_err::read_to_string(port).unwrap().parse().unwrap())
}

/// What a shell gets to hear from a port.
fn ask(port: u16) -> String {
    format!("exec 3<>/dev/tcp/127.0.0.1/{port} && head -c {} <&3", HELLO.len())
}

#[tokio::test]
async fn a_server_of_one_command_is_reached_by_those_of_its_network_alone() {
    let Some(_) = full("a_server_of_one_command_is_reached").await else { return };
    let (_guard, work) = crate::world::folder();
    let keeper = keeper();
    let name = mark("network");
    let (process, port) = server(&keeper, &work, Some("ours"), &name).await;
    let heard = async |peers| run(&keeper, &confined(&ask(port), &work, peers)).await.said;
    assert_eq!(heard(Some("ours")).await, HELLO);
    assert_eq!(heard(Some("ours")).await, HELLO, "and again");
    for peers in [Some("theirs"), None] {
        assert!(heard(peers).await.contains("refused"), "{peers:?} is another network");
    }
    let mut stream = keeper.connect("ours", port).await.unwrap().into_std().unwrap();
    stream.set_nonblocking(false).unwrap();
    let mut said = vec![0; HELLO.len()];
    stream.read_exact(&mut said).unwrap();
    assert_eq!(said, HELLO.as_bytes());
    for (peers, port) in [("theirs", port), ("nobody's", port), ("", port), ("ours", 1)] {
        keeper.connect(peers, port).await.unwrap_err();
    }
    // From the machine nobody gets in, by no kind of socket.
    assert!(std::net::TcpStream::connect(("127.0.0.1", port)).is_err());
    let address = std::os::unix::net::SocketAddr::from_abstract_name(&name).unwrap();
    assert!(std::os::unix::net::UnixStream::connect_addr(&address).is_err());
    let sockets = "grep -c \"$NAME\" /proc/net/unix; true";
    let seen = async |peers| {
        let mut command = confined(sockets, &work, peers);
        command.env.push(("NAME".into(), name.as_str().into()));
        run(&keeper, &command).await.said
    };
    assert_eq!(
        (seen(Some("ours")).await.as_str(), seen(Some("theirs")).await.as_str()),
        ("1\n", "0\n")
    );
    drop(process);
    let deadline = Instant::now() + Duration::from_secs(5);
    while keeper.connect("ours", port).await.is_ok() {
        assert!(Instant::now() < deadline, "a server ends with its command");
    }
}

#[tokio::test]
async fn the_loopback_of_the_machine_is_not_reached_from_a_shared_network() {
    let Some(_) = full("the_loopback_of_the_machine").await else { return };
    let (_guard, work) = crate::world::folder();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let keeper = keeper();
    for _ in 0..2 {
        let done = run(&keeper, &confined(&ask(port), &work, Some("ours"))).await;
        assert!(done.said.contains("refused"), "{}", done.said);
    }
    listener.set_nonblocking(true).unwrap();
    listener.accept().unwrap_err();
}

#[tokio::test]
async fn commands_of_one_network_share_nothing_else() {
    let Some(_) = full("commands_of_one_network_share_nothing_else").await else { return };
    let (_guard, work) = crate::world::folder();
    let keeper = keeper();
    let mark = mark("apart");
    let long =
        confined(&format!("echo {mark} > /tmp/file; : > ready; sleep 1000"), &work, Some("ours"));
    let _long = keeper.spawn(&long).await.unwrap();
    assert!(within(Duration::from_secs(10), || work.join("ready").exists()).await);
    let text = "cat /tmp/file; for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline; echo; done; \
                readlink /proc/self/ns/net /proc/self/ns/user";
    let first = run(&keeper, &confined(text, &work, Some("ours"))).await.said;
    assert!(!first.contains(&mark), "{first}");
    let again = run(&keeper, &confined(text, &work, Some("ours"))).await.said;
    let spaces = |said: &str| -> Vec<String> {
        said.lines().filter(|line| line.contains(":[")).map(str::to_owned).collect()
    };
    assert_eq!((spaces(&first).len(), spaces(&first)), (2, spaces(&again)));
    let apart = "readlink /proc/self/ns/mnt /proc/self/ns/pid /proc/self/ns/ipc";
    let first = run(&keeper, &confined(apart, &work, Some("ours"))).await.said;
    assert_eq!(first.lines().count(), 3, "{first}");
    let held = fs_err::metadata("/proc/self/ns/net").unwrap().ino();
    assert!(!spaces(&again).contains(&format!("net:[{held}]")), "not the machine's");
}

#[tokio::test]
async fn no_file_of_a_network_comes_into_a_command() {
    let Some(_) = full("no_file_of_a_network").await else { return };
    let (_guard, work) = crate::world::folder();
    let keeper = keeper();
    for _ in 0..2 {
        let mut command = confined("readlink /proc/$$/fd/*", &work, Some("ours"));
        command.hosts = Some(std::sync::Arc::new(crate::proxy::Allowed::default()));
        let said = run(&keeper, &command).await.said;
        assert_eq!(said.lines().count(), 3, "{said}");
        assert!(
            !said.contains("net:") && !said.contains("user:") && !said.contains("socket:"),
            "{said}"
        );
    }
}

#[tokio::test]
async fn networks_that_nobody_uses_are_let_go() {
    let Some(_) = full("networks_that_nobody_uses").await else { return };
    let mut part = rooms::start("networks x");
    let mut said = String::new();
    part.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(part.wait().unwrap().success(), "{said}");
}

/// Many networks, of which few are held.
pub(crate) async fn use_many_networks() {
    let (_guard, work) = crate::world::folder();
    let keeper = keeper();
    let (_process, port) = server(&keeper, &work, Some("first"), &mark("many")).await;
    for index in 0..40 {
        let name = format!("network {index}");
        assert_eq!(run(&keeper, &confined("echo ran", &work, Some(&name))).await.said, "ran\n");
    }
    // The first, and those that are kept though nobody uses them.
    let held = || rooms::children(std::process::id()).into_iter().map(spaces_held).sum::<usize>();
    let few = within(Duration::from_secs(2), || held() == 17).await;
    assert!(few, "{} networks are held", held());
    assert_eq!(run(&keeper, &confined(&ask(port), &work, Some("first"))).await.said, HELLO);
}

/// How many networks a process holds by an open file.
fn spaces_held(pid: u32) -> usize {
    let files = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let links = files.filter_map(|file| std::fs::read_link(file.path()).ok());
    links.filter(|link| link.to_string_lossy().starts_with("net:[")).count()
}

#[tokio::test]
async fn a_network_does_not_outlive_a_runtime_that_is_killed() {
    let Some(_) = full("a_network_does_not_outlive").await else { return };
    let (_guard, work) = crate::world::folder();
    let mut part = rooms::start(&format!("network {}", work.display()));
    let lines = BufReader::new(part.stdout.take().unwrap()).lines().map_while(Result::ok);
    let network = lines.filter_map(|line| line.strip_prefix("network: ").map(str::to_owned)).next();
    let network = network.expect("a network");
    let holders = || {
        let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = all.filter(|entry| entry.file_name().to_string_lossy().parse::<u32>().is_ok());
        let leads_there = |path: std::path::PathBuf| {
            std::fs::read_link(path).is_ok_and(|link| link.as_os_str() == network.as_str())
        };
        pids.filter(|entry| {
            let files = std::fs::read_dir(entry.path().join("fd")).into_iter().flatten().flatten();
            leads_there(entry.path().join("ns/net")) || files.map(|it| it.path()).any(leads_there)
        })
        .count()
    };
    assert!(holders() > 0, "{network} is held while the runtime lives");
    part.kill().unwrap();
    part.wait().unwrap();
    assert!(within(Duration::from_secs(2), || holders() == 0).await, "{network} lives on");
}

/// A runtime with a network in which a server runs, until it is killed.
pub(crate) async fn hold_a_network(work: &Path) {
    let keeper = keeper();
    let _server = server(&keeper, work, Some("ours"), &mark("held")).await;
    let said = run(&keeper, &confined("readlink /proc/self/ns/net", work, Some("ours"))).await.said;
    fs_err::write(Path::new("/proc/self/fd/1"), format!("\nnetwork: {said}")).unwrap();
    std::future::pending::<()>().await;
}
