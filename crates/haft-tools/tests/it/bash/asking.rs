//! What a script is asked for, and that a denied command cannot be dodged.

use haft_runtime::permission::{EffectKind, Reply};
use haft_tools::SandboxMode;
use serde_json::json;

use super::run;
use crate::world::World;

#[tokio::test]
async fn effects_are_those_of_the_script() {
    let world = World::ruled(crate::every_tool::ASK_ALL, Reply::Once).await;
    world.put(".env", "SECRET=1\n");
    let asks = |script: &'static str| {
        let world = &world;
        async move {
            world.host.asked.lock().unwrap().clear();
            world.call("bash", json!({ "command": script, "timeout": 5000 })).await;
            let effects = world.asked_effects();
            let call = world.prepare("bash", json!({ "command": script, "timeout": 5000 }));
            let explained = world.toolset.explain(&call).await.unwrap();
            for effect in &effects {
                let same = |one: &&haft_runtime::permission::Explained| {
                    (one.kind, &one.value) == (effect.kind, &effect.value)
                };
                assert!(explained.effects.iter().any(|one| same(&one)), "{script}: {effect:?}");
            }
            effects
        }
    };
    let has = |effects: &[haft_runtime::permission::Effect], kind, value: &str| {
        effects.iter().any(|effect| effect.kind == kind && effect.value == value)
    };
    let effects = asks("cat .e*; echo x > made").await;
    assert!(has(&effects, EffectKind::Read, ".env") && has(&effects, EffectKind::Write, "made"));
    assert!(has(&effects, EffectKind::Run, "cat .e*"), "{effects:?}");
    let effects = asks("ls /etc > /dev/null").await;
    assert!(has(&effects, EffectKind::External, "/etc"), "{effects:?}");
    assert!(!effects.iter().any(|effect| effect.value == "/dev/null"), "{effects:?}");
    let effects = asks("curl https://example.invalid/x").await;
    assert!(effects.iter().any(|effect| effect.kind == EffectKind::Connect), "{effects:?}");
    let effects = asks("eval \"$x\"").await;
    assert!(effects.iter().any(|effect| effect.unproven.is_some()), "{effects:?}");
}

#[tokio::test]
async fn a_denied_command_cannot_be_dodged() {
    let rules = "[permission]\n\"*\" = \"allow\"\n[permission.bash]\n\"*\" = \"allow\"\n\"touch *\" = \"deny\"\n";
    let world = World::running(rules, |settings| settings.sandbox = SandboxMode::Off).await;
    for script in [
        "touch x",
        "'to'uch x",
        "\\touch x",
        "env A=1 touch x",
        "command touch x",
        "true && touch x",
        "echo $(touch x)",
        "echo `touch x`",
        "sh -c 'touch x'",
        "xargs touch <<< x",
        "find . -name a.txt -exec touch x \\;",
        "timeout 5 touch x",
        "nice touch x",
        "t=touch; $t x",
        "(touch x)",
        "if true; then touch x; fi",
        "f() { touch x; }; f",
        "to\\\nuch x",
        "eval touch x",
        "cat <<E\n$(touch x)\nE",
        "/usr/bin/touch x",
    ] {
        let answer = world.call("bash", json!({ "command": script })).await;
        assert_eq!(answer["error"]["kind"], "denied", "{script}: {answer}");
        assert!(!world.workspace().join("x").exists(), "{script}");
    }
    run(&world, "echo touch x").await;
}

#[tokio::test]
async fn a_denied_command_cannot_be_dodged_by_a_script_of_the_workspace() {
    let rules = "[permission]\n\"*\" = \"allow\"\n[permission.bash]\n\"*\" = \"allow\"\n\
                 \"touch *\" = \"deny\"\n\"mkdir *\" = \"ask\"\n";
    let world = World::running(rules, |settings| settings.sandbox = SandboxMode::Off).await;
    world.put("x.sh", "#!/bin/bash\nset -e\ntrue && touch made\n");
    world.put("sub/y.sh", "cd ..; ./x.sh\n");
    world.put("hidden.sh", "#!/usr/bin/env bash\n$(echo touch) made\n");
    world.put("mk.sh", "mkdir made\n");
    world.put("fine.sh", "echo \"$1\"; ls -l\n");
    world.put("x.py", "#!/usr/bin/env python3\nprint('$(touch made)')\n");
    run(&world, "chmod +x x.sh sub/y.sh hidden.sh mk.sh fine.sh x.py").await;
    for script in [
        "sh x.sh",
        "bash -e x.sh",
        "./x.sh",
        "cd sub && bash ../x.sh",
        "cd sub; ./y.sh",
        "./hidden.sh",
        "bash < x.sh",
        "cat x.sh | sh",
        ". ./x.sh",
        "source x.sh",
        "bash mk.sh",
        "/bin/mkdir made",
        "env -C sub sh ../x.sh",
        "cp x.sh z.sh; sh z.sh",
        "echo 'to''uch made' > fine.sh; ./fine.sh",
        "bash +x <<< 'touch made'",
    ] {
        let answer = world.call("bash", json!({ "command": script })).await;
        assert_eq!(answer["error"]["kind"], "denied", "{script}: {answer}");
        assert!(!world.workspace().join("made").exists(), "{script}");
    }
    for script in ["sh fine.sh a", "./fine.sh", "bash nowhere.sh", "./x.py || true"] {
        run(&world, script).await;
    }
}

#[tokio::test]
async fn what_a_plain_shell_reads_otherwise_is_asked() {
    let rules =
        format!("{}\n[permission.bash]\n\"echo *\" = \"allow\"\n", haft_tools::DEFAULT_RULES);
    let plain = World::running(&rules, |settings| settings.shell = "/bin/sh".into()).await;
    plain.text("bash", json!({ "command": "echo a" })).await;
    plain.error("bash", json!({ "command": "echo $'a\\nb'" }), "denied").await;
    let other = World::running(&rules, |settings| settings.shell = "/bin/zsh".into()).await;
    other.error("bash", json!({ "command": "echo a" }), "denied").await;
}

#[tokio::test]
async fn secrets_and_places_outside_are_asked_for_by_name() {
    let rules = format!("{}\n[permission.bash]\n\"*\" = \"allow\"\n", haft_tools::DEFAULT_RULES);
    let world = World::ruled(&rules, Reply::Reject { feedback: None }).await;
    world.put(".env", "SECRET=1\n");
    for (script, kind) in [
        ("cat .env", EffectKind::Read),
        ("cat /etc/hostname", EffectKind::External),
        ("echo x > made", EffectKind::Write),
        ("rm a.txt", EffectKind::Delete),
    ] {
        world.host.asked.lock().unwrap().clear();
        world.error("bash", json!({ "command": script }), "denied").await;
        assert_eq!(world.asked_effects()[0].kind, kind, "{script}");
    }
    world.host.asked.lock().unwrap().clear();
    world.error("bash", json!({ "command": "pwd", "workdir": "/usr" }), "denied").await;
    assert_eq!(world.asked_effects()[0].kind, EffectKind::External);
    assert!(world.text("bash", json!({ "command": "cat a.txt" })).await.starts_with("alpha"));
}

#[tokio::test]
async fn always_allows_the_same_kind_of_command_and_no_other() {
    let world = World::ruled(haft_tools::DEFAULT_RULES, Reply::Always).await;
    world.text("bash", json!({ "command": "ls -a" })).await;
    assert_eq!(world.host.asked.lock().unwrap()[0].ask.always[0].pattern, "ls *");
    world.text("bash", json!({ "command": "ls -l" })).await;
    assert_eq!(world.host.asked.lock().unwrap().len(), 1);
    world.text("bash", json!({ "command": "wc -l a.txt" })).await;
    assert_eq!(world.host.asked.lock().unwrap().len(), 2);
}
