//! Links of the workspace that lead out of it, and the commands that follow them.

use haft_runtime::permission::{Action, Reply};
use serde_json::json;

use crate::world::World;

/// Every program is allowed that a script here names, and everything in the workspace but secrets.
const PROGRAMS: &str =
    "cat cp tee cd mkdir touch shopt mv rm ls cmake find grep chown javac tar unzip";

/// A workspace with `link`, which leads to a folder beside it, and `sub` with a file in it.
async fn linked() -> World {
    let rules: String =
        PROGRAMS.split(' ').map(|name| format!("\"{name} *\" = \"allow\"\n")).collect();
    let rules = format!(
        "[permission]\n\"*\" = \"ask\"\nedit = \"allow\"\n[permission.read]\n\"*\" = \"allow\"\n\
         \"*.env\" = \"deny\"\n[permission.bash]\n{rules}"
    );
    let world = World::running(&rules, |_| ()).await;
    let outside = world.workspace().join("../outside");
    fs_err::create_dir(&outside).unwrap();
    fs_err::write(outside.join("seed"), "seed").unwrap();
    fs_err::os::unix::fs::symlink("../outside", world.workspace().join("link")).unwrap();
    world.put("sub/file", "x");
    world.put(".env", "SECRET=1");
    world
}

/// What the rules say of a script.
async fn decided(world: &World, script: &str) -> Action {
    let call = world.prepare("bash", json!({ "command": script }));
    world.toolset.explain(&call).await.unwrap().decision
}

#[track_caller]
fn check(world: &World, asked: &[&str], allowed: &[&str]) {
    let decide = |script: &str| {
        tokio::task::block_in_place(|| {
            tokio::runtime::Handle::current().block_on(decided(world, script))
        })
    };
    for script in asked {
        assert_ne!(decide(script), Action::Allow, "{script}");
    }
    for script in allowed {
        assert_eq!(decide(script), Action::Allow, "{script}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_stars_mean_any_name_and_links_too() {
    let world = linked().await;
    let asked = [
        "cp a.txt ./**/seed",
        "tee ./**/seed < a.txt",
        "cat **",
        "shopt -s globstar; cat **",
        "shopt -s globstar; cat **/seed",
        "shopt -s globstar dotglob; cat ./sub/../**",
    ];
    check(&world, &asked, &["cat sub/**", "cat **/file.txt", "shopt -s globstar; cat sub/**"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_without_links_is_no_way_out() {
    let world = linked().await;
    fs_err::create_dir_all(world.workspace().join("deep/er")).unwrap();
    fs_err::os::unix::fs::symlink("../..", world.workspace().join("deep/er/up")).unwrap();
    let asked = [
        "cp -r deep d; touch d/er/up/x",
        "mv deep d && cat d/er/file",
        "cp -r link d && cat d/seed",
        "cd deep/er/up && touch ../x",
        "cd deep/er/up && cat ../outside/seed",
        "mkdir -p new && cd new && touch ../../x",
    ];
    let allowed = [
        "cp -r sub d && cat d/file && touch d/new",
        "mv sub/file moved && cat moved && touch moved",
        "mkdir -p new && cd new && cmake .. && touch ../sub/x",
        "cd deep && cat ../a.txt",
        "cp -r missing d && cat d/x",
    ];
    check(&world, &asked, &allowed);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_follows_links_goes_where_they_lead() {
    let world = linked().await;
    let folder = |path: &str| world.workspace().join(path);
    fs_err::create_dir_all(folder("inner")).unwrap();
    fs_err::os::unix::fs::symlink("../sub", folder("inner/sub")).unwrap();
    fs_err::create_dir_all(folder("chain")).unwrap();
    fs_err::create_dir_all(folder("second")).unwrap();
    fs_err::os::unix::fs::symlink("../second", folder("chain/on")).unwrap();
    fs_err::os::unix::fs::symlink("../../outside", folder("second/out")).unwrap();
    let asked = [
        "find -L . -name seed -delete",
        "find . -follow",
        "grep -R x .",
        "grep -R x chain",
        "cp -rL chain d",
        "chown -RL nobody .",
        "tar xf a.tar",
        "unzip -o a.zip -d chain",
    ];
    // What is unpacked takes the place of a link to a file.
    fs_err::create_dir_all(folder("bin")).unwrap();
    fs_err::os::unix::fs::symlink("../../outside/seed", folder("bin/tool")).unwrap();
    let allowed = [
        "grep -R x sub inner",
        "grep -r x .",
        "find . -name seed -delete",
        "tar xf a.tar -C bin",
        "unzip -o a.zip -d inner",
    ];
    check(&world, &asked, &allowed);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_not_known_may_be_one_that_is_denied() {
    let unknown = [
        "touch \"$(echo ../pwned)\"",
        "popd; touch ../pwned",
        "echo y > \"$(echo ../pwned)\"",
        "ln -s .. up; touch up/pwned",
        "mv sub d; touch d/pwned",
        "touch /dev/fd/../cwd/../pwned",
    ];
    let read = "cat \"$(echo .env)\"";
    for denied in
        ["external_directory = \"deny\"", "edit = \"deny\"", "edit = { \"*.key\" = \"deny\" }"]
    {
        let rules = format!("[permission]\n\"*\" = \"allow\"\n{denied}\n");
        let world = World::ruled(&rules, Reply::Unattended).await;
        fs_err::create_dir(world.workspace().join("sub")).unwrap();
        fs_err::os::unix::fs::symlink("..", world.workspace().join("sub/up")).unwrap();
        let reads = if denied.starts_with("edit") { vec![] } else { vec![read] };
        check(&world, &unknown, &["cat a.txt", "ls", "echo \"$x\""]);
        check(&world, &reads, &[]);
        for script in unknown {
            let answer = world.call("bash", json!({ "command": script })).await;
            assert_eq!(answer["error"]["kind"], "denied", "{script}: {answer}");
        }
        assert!(!world.workspace().join("../pwned").exists());
    }
    let rules = "[permission]\n\"*\" = \"allow\"\n[permission.read]\n\"*.env\" = \"deny\"\n";
    check(&World::ruled(rules, Reply::Unattended).await, &[read], &["cat a.txt"]);
    let rules =
        "[permission]\n\"*\" = \"ask\"\nbash = \"allow\"\nread = \"allow\"\nedit = \"allow\"\n";
    let world = World::ruled(rules, Reply::Unattended).await;
    check(&world, &[], &unknown[..3]);
    check(&world, &[], &[read]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bare_word_of_an_unknown_program_may_be_a_link() {
    let world = linked().await;
    let asked = ["javac -d link Evil.java", "javac -dlink Evil.java", "javac -d \"$x\" Evil.java"];
    check(&world, &asked, &["javac -d sub Evil.java", "javac -d missing Evil.java"]);
    let call = world.prepare("bash", json!({ "command": "javac missing sub" }));
    let effects = world.toolset.explain(&call).await.unwrap().effects;
    let values: Vec<&str> = effects.iter().map(|effect| effect.value.as_str()).collect();
    assert!(values.contains(&"sub") && !values.contains(&"missing"), "{values:?}");
}
