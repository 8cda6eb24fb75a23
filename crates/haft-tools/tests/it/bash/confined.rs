//! What a confined command can change, read and reach.

use haft_exec::sandbox::{Demand, Network};
use haft_runtime::permission::Reply;
use haft_tools::SandboxMode;
use serde_json::json;

use super::{ALLOW, confines, run, said};
use crate::world::World;

#[tokio::test]
async fn a_confined_command_changes_the_workspace_and_its_own_tmp_only() {
    if !confines("a_confined_command_changes_the_workspace_and_its_own_tmp_only").await {
        return;
    }
    let world = World::running(ALLOW, |settings| settings.demand = Demand::Everything).await;
    world.put(".git/config", "");
    run(&world, "echo x > made; echo kept > /tmp/mine").await;
    assert_eq!(world.get("made"), b"x\n");
    assert!(said(&run(&world, "cat /tmp/mine").await).starts_with("kept"));
    world.put("outside.sh", "echo > /usr/haft-made\n");
    let answer = run(&world, "sh outside.sh").await;
    assert!(said(&answer).contains("the sandbox refused to write /usr/haft-made"), "{answer}");
    world.put("inside.sh", "echo > .git/hooks/x; echo > haft.toml\n");
    let answer = run(&world, "sh inside.sh").await;
    assert!(!world.workspace().join("haft.toml").exists(), "{answer}");
    run(&world, "echo ../evil > .git/commondir").await;
    assert!(!world.workspace().join(".git/commondir").exists());
    assert!(!world.workspace().join(".git/hooks/x").exists(), "{answer}");
}

#[tokio::test]
async fn what_stands_for_a_missing_file_is_nothing_to_git() {
    if !confines("what_stands_for_a_missing_file_is_nothing_to_git").await {
        return;
    }
    let world = World::running(ALLOW, |settings| settings.demand = Demand::Everything).await;
    let git = |args: &[&str]| {
        let mut git = std::process::Command::new("git");
        git.current_dir(world.workspace()).args(args).output().unwrap().stdout
    };
    git(&["init", "-q"]);
    world.put("sneak.sh", "echo > haft.toml\n");
    let script = "sh sneak.sh; git status --short && git add -A && \
                  git -c user.name=a -c user.email=a@example.org commit -qm all && git ls-files";
    let answer = run(&world, script).await;
    let lines: Vec<_> = said(&answer).lines().collect();
    let refused = lines.iter().filter(|line| line.contains("haft.toml")).count();
    assert!(refused == 1 && said(&answer).contains("Is a directory"), "{answer}");
    assert!(lines.contains(&"?? sneak.sh") && lines.contains(&"sneak.sh"), "{answer}");
    assert!(!world.workspace().join("haft.toml").exists(), "{answer}");
    assert_eq!(git(&["status", "--short"]), b"");
}

#[tokio::test]
async fn a_worktree_commits_to_its_repository_and_leaves_its_hooks_alone() {
    let test = "a_worktree_commits_to_its_repository_and_leaves_its_hooks_alone";
    if !confines(test).await {
        return;
    }
    let world = World::running(ALLOW, |settings| settings.demand = Demand::Everything).await;
    let main = world.workspace().with_file_name("main");
    let git = |folder: &std::path::Path, args: &[&str]| {
        let mut git = std::process::Command::new("git");
        git.current_dir(folder).args(["-c", "user.name=a", "-c", "user.email=a@example.org"]);
        assert!(git.args(args).output().unwrap().status.success(), "{args:?}");
    };
    fs_err::create_dir(&main).unwrap();
    git(&main, &["init", "-q"]);
    git(&main, &["commit", "-q", "--allow-empty", "-m", "first"]);
    fs_err::remove_dir_all(world.workspace()).unwrap();
    git(&main, &["worktree", "add", "-q", world.workspace().to_str().unwrap()]);
    world.put("a.txt", "alpha\n");
    let commit = "git add a.txt && git -c user.name=a -c user.email=a@example.org commit -qm second && git log";
    let answer = run(&world, commit).await;
    assert!(said(&answer).contains("second"), "{answer}");
    world.put(
        "sneak.sh",
        "G=$(git rev-parse --git-common-dir); echo x > $G/hooks/pre-commit; echo x >> $G/config\n",
    );
    let own = main.join(".git/worktrees/workspace/commondir");
    let link = fs_err::read_to_string(&own).unwrap();
    let answer =
        run(&world, "echo / > $(git rev-parse --git-dir)/commondir; sh sneak.sh; true").await;
    assert_eq!(fs_err::read_to_string(own).unwrap(), link);
    assert!(!main.join(".git/hooks/pre-commit").exists(), "{answer}");
    assert!(!fs_err::read_to_string(main.join(".git/config")).unwrap().contains('x'), "{answer}");
    // A file that only claims to be one opens nothing.
    let outside = world.workspace().with_file_name("outside");
    fs_err::create_dir(&outside).unwrap();
    fs_err::write(outside.join("HEAD"), "").unwrap();
    world.put(".git", "gitdir: ../outside\n");
    world.put("write.sh", "echo x > ../outside/made\n");
    run(&world, "sh write.sh; true").await;
    assert!(!outside.join("made").exists());
}

#[tokio::test]
async fn secrets_in_the_workspace_are_hidden_unless_the_call_may_read_them() {
    if !confines("secrets_in_the_workspace_are_hidden_unless_the_call_may_read_them").await {
        return;
    }
    let rules = format!("{}\n[permission.bash]\n\"*\" = \"allow\"\n", haft_tools::DEFAULT_RULES);
    let world = World::ruled(&rules, Reply::Once).await;
    world.put("sub/.env", "SECRET=1\n");
    let answer = world.call("bash", json!({ "command": "grep -r SECRET . ; true" })).await;
    assert!(!said(&answer).contains("SECRET=1"), "{answer}");
    let answer = world.call("bash", json!({ "command": "cat sub/.env" })).await;
    assert!(said(&answer).starts_with("SECRET=1"), "{answer}");
    assert!(world.asked_effects().iter().any(|effect| effect.value == "sub/.env"));
}

#[tokio::test]
async fn of_a_hidden_folder_a_call_sees_what_it_may_read_by_name() {
    if !confines("of_a_hidden_folder_a_call_sees_what_it_may_read_by_name").await {
        return;
    }
    let hide = |settings: &mut haft_tools::CommandSettings| {
        let state = settings.hidden[0].clone();
        settings.hidden.push(state.with_file_name("workspace").join("keys"));
    };
    let world = World::running(ALLOW, hide).await;
    world.put("keys/deep/a", "alpha\n");
    for name in ["keys/deep/b", "keys/c"] {
        world.put(name, "beta\n");
    }
    let peek = "python3 -c 'import glob; [print(open(p).read()) for p in glob.glob(\"keys/**/?\", recursive=True)]'";
    let answer = run(&world, peek).await;
    assert!(!said(&answer).contains("alpha") && !said(&answer).contains("beta"), "{answer}");
    let answer = run(&world, &format!("cat keys/deep/a; {peek}")).await;
    assert!(said(&answer).starts_with("alpha") && !said(&answer).contains("beta"), "{answer}");
}

#[tokio::test]
async fn the_network_is_off_unless_it_was_allowed() {
    if !confines("the_network_is_off_unless_it_was_allowed").await {
        return;
    }
    let script = "wc -l < /proc/net/dev";
    let world = World::running(ALLOW, |_| ()).await;
    assert!(said(&run(&world, script).await).starts_with("3\n"), "two lines of titles, and lo");
    let world = World::running(ALLOW, |settings| settings.network = Network::Full).await;
    let own = fs_err::read_to_string("/proc/net/dev").unwrap().lines().count().to_string();
    assert_eq!(said(&run(&world, script).await).lines().next().unwrap(), own);
}

#[tokio::test]
async fn read_only_means_that_nothing_changes() {
    if !confines("read_only_means_that_nothing_changes").await {
        return;
    }
    let world = World::running(ALLOW, |settings| settings.sandbox = SandboxMode::ReadOnly).await;
    let answer = run(&world, "echo x > made").await;
    assert!(!world.workspace().join("made").exists(), "{answer}");
    assert_ne!(answer["metadata"]["exit"], 0);
}
