//! What a confined command can do, and what is said of it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use haft_exec::sandbox::denial::Refused;
use haft_exec::sandbox::layers::Layer;
use haft_exec::sandbox::{Network, Protected, UnixSockets};
use haft_exec::{Command, Confinement, Exit, Limits, Sandbox};

use crate::rooms;
use crate::world::{Done, folder, keeper, run, script_in};

/// A confinement that the kernel can hold in full; without it, the test is skipped.
pub(crate) async fn full(test: &str) -> Option<Confinement> {
    let mut command = script_in("true", Path::new("/"));
    let confinement = Confinement::read_only();
    command.sandbox = Sandbox::Confined(confinement.clone());
    match keeper().spawn(&command).await {
        Ok(_) => Some(confinement),
        Err(error) => {
            eprintln!("SKIP {test}: {error}");
            None
        }
    }
}

/// Runs `text` in `work`, which is writable, with what `change` does to the confinement.
async fn confined(text: &str, work: &Path, change: impl Fn(&mut Confinement)) -> Done {
    run(&keeper(), &command(text, work, change)).await
}

fn command(text: &str, work: &Path, change: impl Fn(&mut Confinement)) -> Command {
    let mut command = script_in(text, work);
    let mut confinement = Confinement::workspace([work.to_owned()]);
    change(&mut confinement);
    command.sandbox = Sandbox::Confined(confinement);
    command
}

#[tokio::test]
async fn every_layer_is_in_force() {
    let Some(_) = full("every_layer_is_in_force").await else { return };
    let layers = keeper().layers().await.unwrap();
    assert!(Layer::ALL.iter().all(|layer| layers.has(*layer)), "{layers}");
    assert!(layers.to_string().starts_with("mounts: in force\nprocesses: in force\n"));
}

#[tokio::test]
async fn a_workspace_can_be_written_and_nothing_else() {
    let Some(_) = full("a_workspace_can_be_written").await else { return };
    let (_guard, work) = folder();
    let text = "echo in > in; echo tmp > /tmp/x && cat /tmp/x; echo out > /etc/haft-out";
    let done = confined(text, &work, |_| ()).await;
    assert_eq!(done.exit(), Exit::Code(1));
    assert!(done.said.starts_with("tmp\n"), "{}", done.said);
    assert_eq!(fs_err::read_to_string(work.join("in")).unwrap(), "in\n");
    let denial = &done.ended.denials[0];
    assert_eq!(denial.what, Refused::Write(PathBuf::from("/etc/haft-out")));
    assert_eq!(denial.hint, "make /etc writable");
}

#[tokio::test]
async fn read_only_means_that_nothing_changes() {
    let Some(confinement) = full("read_only_means").await else { return };
    let (_guard, work) = folder();
    fs_err::write(work.join("file"), "text").unwrap();
    let mut command = script_in("cat file; echo x > file", &work);
    command.sandbox = Sandbox::Confined(confinement);
    let done = run(&keeper(), &command).await;
    assert!(done.said.starts_with("text"), "{}", done.said);
    assert_eq!(fs_err::read_to_string(work.join("file")).unwrap(), "text");
    assert_eq!(done.exit(), Exit::Code(1));
}

#[tokio::test]
async fn what_stood_for_a_missing_file_is_gone_afterwards() {
    let Some(_) = full("what_stood_for_a_missing_file").await else { return };
    let (_guard, work) = folder();
    let protect = |confinement: &mut Confinement| {
        confinement.protected = vec![
            Protected::file(work.join("haft.toml")),
            Protected::folder(work.join(".git/hooks")),
            Protected::file(work.join(".git/config")),
        ];
    };
    // Two at once: the first to end must not take away what the other relies on.
    let keeper = keeper();
    let long = command(
        "for i in {1..40}; do echo x > haft.toml; mkdir -p .git/hooks; sleep 0.01; done 2>/dev/null; true",
        &work,
        protect,
    );
    let short = command("echo x > haft.toml; true", &work, protect);
    let (_, _, _) = tokio::join!(run(&keeper, &long), run(&keeper, &short), run(&keeper, &short));
    let names: Vec<_> =
        fs_err::read_dir(&work).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(names, Vec::<PathBuf>::new());
}

#[tokio::test]
async fn nothing_has_to_stand_in_a_folder_that_is_out_of_reach() {
    let Some(_) = full("nothing_has_to_stand").await else { return };
    // No folder refuses root.
    if rustix::process::geteuid().is_root() {
        return;
    }
    let theirs = PathBuf::from("/usr/share");
    let protect = |work: &Path| {
        let protected = [
            Protected::file(work.join("haft-protected.toml")),
            Protected::folder(work.join("haft-protected/hooks")),
        ];
        move |confinement: &mut Confinement| confinement.protected = protected.to_vec()
    };
    let text = "pwd; echo x > haft-protected.toml";
    let done = confined(text, &theirs, protect(&theirs)).await;
    assert!(done.said.starts_with("/usr/share\n"), "{}", done.said);
    assert_eq!(done.exit(), Exit::Code(1));
    // Its owner could make it writable again, and then put there what is read later.
    let (_guard, ours) = folder();
    fs_err::set_permissions(&ours, std::os::unix::fs::PermissionsExt::from_mode(0o555)).unwrap();
    let refused = keeper().spawn(&command("true", &ours, protect(&ours))).await.unwrap_err();
    assert!(refused.to_string().contains("protect"), "{refused}");
}

#[tokio::test]
async fn whoever_is_last_takes_away_what_another_has_made() {
    let Some(_) = full("whoever_is_last_takes_away").await else { return };
    let (_guard, work) = folder();
    fs_err::create_dir(work.join("own")).unwrap();
    // As a keeper leaves it that was killed.
    let left = work.join("left");
    fs_err::create_dir(&left).unwrap();
    let mark = std::os::unix::fs::PermissionsExt::from_mode(0o1755);
    fs_err::set_permissions(&left, mark).unwrap();
    let protect = |confinement: &mut Confinement| {
        let names = ["haft.toml", ".haft", "own", "left"];
        confinement.protected =
            names.map(|name| Protected::folder(work.join(name))).into_iter().collect();
    };
    let wait = |name: &str| format!("until [ -e {name} ]; do sleep 0.01; done");
    let first = command(&format!("touch one; {}", wait("two")), &work, protect);
    let second = command(&format!("touch two; {}", wait("three")), &work, protect);
    // As two programs would have them.
    let (maker, finder) = (keeper(), keeper());
    let made = async {
        assert_eq!(run(&maker, &first).await.exit(), Exit::Code(0));
        fs_err::write(work.join("three"), "").unwrap();
    };
    let found = async {
        while !work.join("one").exists() {
            tokio::task::yield_now().await;
        }
        assert_eq!(run(&finder, &second).await.exit(), Exit::Code(0));
    };
    tokio::join!(made, found);
    let entries = fs_err::read_dir(&work).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["one", "own", "three", "two"]);
}

#[tokio::test]
async fn git_works_but_its_config_stays() {
    let Some(_) = full("git_works_but_its_config_stays").await else { return };
    if std::process::Command::new("git").arg("--version").output().is_err() {
        eprintln!("SKIP git_works_but_its_config_stays: no git");
        return;
    }
    let (_guard, work) = folder();
    let plain = "git init -q . && git config user.email a@b && git config user.name c";
    assert_eq!(run(&keeper(), &script_in(plain, &work)).await.exit(), Exit::Code(0));
    let text = "echo x > f && git add f && git commit -qm one && git checkout -qb other && git log --oneline | wc -l; git config a.b c";
    let done = confined(text, &work, |confinement| {
        confinement.protected = vec![
            Protected::file(work.join(".git/config")),
            Protected::folder(work.join(".git/hooks")),
        ];
    })
    .await;
    assert!(done.said.starts_with("1\n"), "{}", done.said);
    assert_ne!(done.exit(), Exit::Code(0), "{}", done.said);
}

#[tokio::test]
async fn a_link_to_a_folder_cannot_be_protected_so_nothing_runs() {
    let Some(_) = full("a_link_to_a_folder_cannot_be_protected").await else { return };
    let (_guard, work) = folder();
    fs_err::create_dir(work.join("real")).unwrap();
    std::os::unix::fs::symlink("real", work.join(".haft")).unwrap();
    let command = command("touch ran", &work, |confinement| {
        confinement.protected = vec![Protected::folder(work.join(".haft"))];
    });
    let error = keeper().spawn(&command).await.unwrap_err().to_string();
    assert!(error.contains("it is a link to a folder"), "{error}");
    assert!(!work.join("ran").exists());
}

#[tokio::test]
async fn the_loopback_works_inside() {
    let Some(_) = full("the_loopback_works_inside").await else { return };
    let (_guard, work) = folder();
    // A datagram to oneself: bash cannot listen, but it can send, and an unreachable network refuses.
    let text = "echo x > /dev/udp/127.0.0.1/9 && echo sent; [ \"$(cat /sys/class/net/lo/operstate 2>/dev/null)\" != down ] && echo up";
    let done = confined(text, &work, |_| ()).await;
    assert!(done.said.contains("sent\n"), "{}", done.said);
}

#[tokio::test]
async fn the_network_is_there_when_it_is_allowed() {
    let Some(_) = full("the_network_is_there").await else { return };
    let (_guard, work) = folder();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let text = format!("echo x > /dev/tcp/127.0.0.1/{port} && echo sent");
    let done = confined(&text, &work, |confinement| confinement.network = Network::Full).await;
    assert_eq!(done.said, "sent\n");
    let done = confined(&text, &work, |_| ()).await;
    assert!(!done.said.contains("sent"));
}

#[tokio::test]
async fn a_scratch_folder_outlives_a_command() {
    let Some(_) = full("a_scratch_folder_outlives").await else { return };
    let ((_guard, work), (_other, scratch)) = (folder(), folder());
    let with = |confinement: &mut Confinement| confinement.scratch = Some(scratch.clone());
    confined("echo kept > /tmp/file", &work, with).await;
    assert_eq!(confined("cat /tmp/file", &work, with).await.said, "kept\n");
}

#[tokio::test]
async fn sockets_of_the_file_system_can_be_allowed() {
    let Some(_) = full("sockets_of_the_file_system").await else { return };
    let (_guard, work) = folder();
    let listener = std::os::unix::net::UnixListener::bind(work.join("socket")).unwrap();
    let program = std::env::current_exe().unwrap();
    let mut probe = command("", &work, |confinement| {
        confinement.unix_sockets = UnixSockets::Allowed;
        confinement.visible.push(crate::world::built());
    });
    probe.program = program;
    let name = "escape::calls::a_call";
    probe.args =
        ["--exact", name, "--nocapture", "--skip=unix socket inside"].map(Into::into).into();
    probe.env.extend([("VICTIM".into(), "1".into()), ("W".into(), work.clone().into_os_string())]);
    assert!(run(&keeper(), &probe).await.said.contains("ESCAPED"));
    listener.accept().unwrap();
}

#[tokio::test]
async fn limits_hold() {
    let mut command =
        script_in("head -c 100000 /dev/zero > file; ls -l file | cut -d' ' -f5", Path::new("/"));
    let (_guard, work) = folder();
    command.cwd = work;
    command.limits = Limits { file_bytes: Some(1000), ..Limits::default() };
    assert!(run(&keeper(), &command).await.said.contains("1000\n"));
    let mut command = script_in("while :; do :; done", Path::new("/"));
    command.limits = Limits { cpu_seconds: Some(1), ..Limits::default() };
    let done = run(&keeper(), &command).await;
    assert_eq!(done.exit(), Exit::Signal(9));
    assert!(done.ended.wall < Duration::from_secs(15));
}

#[tokio::test]
async fn without_namespaces_the_rest_still_holds_and_says_so() {
    let Some(_) = full("without_namespaces").await else { return };
    let (_guard, work) = folder();
    let mut command =
        command("", &work, |confinement| confinement.visible.push(crate::world::built()));
    command.program = std::env::current_exe().unwrap();
    command.args = rooms::ARGS.map(Into::into).into();
    command.env.push((rooms::PART.into(), format!("degraded {}", work.display()).into()));
    let done = run(&keeper(), &command).await;
    assert_eq!(done.exit(), Exit::Code(0), "{}", done.said);
}
