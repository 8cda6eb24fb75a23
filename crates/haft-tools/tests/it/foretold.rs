//! What `explain` says of a command is what `bash` then asks, refuses or runs.

use haft_runtime::permission::{Action, EffectKind};
use haft_tools::SandboxMode;
use serde_json::json;

use crate::scripts::script;
use crate::world::World;

/// Everything asks; some commands are allowed and some denied; everything but one is allowed.
const RULES: [&str; 3] = [
    haft_tools::DEFAULT_RULES,
    "[permission]\n\"*\" = \"allow\"\n[permission.bash]\n\"*\" = \"ask\"\n\"alpha *\" = \"allow\"\n\
     \"beta *\" = \"allow\"\n\"gamma *\" = \"allow\"\n\"delta *\" = \"allow\"\n\"canary *\" = \"deny\"\n",
    "[permission]\n\"*\" = \"allow\"\n[permission.bash]\n\"*\" = \"allow\"\n\"canary *\" = \"ask\"\n",
];

fn wanted() -> u64 {
    #[expect(
        clippy::disallowed_methods,
        reason = "how many scripts are tried is said from outside"
    )]
    let asked = std::env::var("HAFT_FORETOLD");
    asked.ok().and_then(|count| count.parse().ok()).unwrap_or(10_000)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn what_is_explained_is_what_happens() {
    let tasks: Vec<_> =
        RULES.into_iter().zip(0..).map(|(rules, first)| tokio::spawn(hold(rules, first))).collect();
    let mut decided = [0; 3];
    for task in tasks {
        decided.iter_mut().zip(task.await.unwrap()).for_each(|(all, more)| *all += more);
    }
    eprintln!("{decided:?} were allowed, asked and denied");
    assert!(decided.iter().all(|count| *count > wanted() / 50), "{decided:?}");
}

/// Tries every third script from `first` on; tells how many were allowed, asked and denied.
async fn hold(rules: &str, first: u64) -> [u64; 3] {
    let mut decided = [0; 3];
    // Its shell is not there, so whatever is allowed to run fails, and nothing ever runs.
    let world = World::running(rules, |settings| {
        settings.sandbox = SandboxMode::Off;
        settings.shell = "/no/such/bash".into();
    })
    .await;
    for seed in (first..wanted()).step_by(RULES.len()) {
        let script = script(seed);
        if script.trim().is_empty() {
            continue;
        }
        let args = json!({ "command": script, "description": seed.to_string() });
        let explained = world.toolset.explain(&world.prepare("bash", args.clone())).await.unwrap();
        world.host.asked.lock().unwrap().clear();
        let answer = world.call("bash", args).await;
        let about = || format!("seed {seed}\n{script}\n{explained:?}\n{answer}");
        let asked = world.asked_effects();
        let asked: Vec<_> = asked.iter().map(|it| (it.kind, it.value.as_str())).collect();
        let kind = &answer["error"]["kind"];
        match explained.decision {
            Action::Allow => {
                assert!(asked.is_empty() && kind == "failed", "{}", about());
                assert!(answer.to_string().contains("/no/such/bash"), "{}", about());
                decided[0] += 1;
            }
            Action::Ask => {
                let effects = explained.effects.iter();
                let to_ask = effects.filter(|one| one.decision == Action::Ask);
                let to_ask: Vec<(EffectKind, &str)> =
                    to_ask.map(|one| (one.kind, one.value.as_str())).collect();
                assert_eq!((asked, kind), (to_ask, &json!("denied")), "{}", about());
                decided[1] += 1;
            }
            Action::Deny => {
                assert!(asked.is_empty() && kind == "denied", "{}", about());
                decided[2] += 1;
            }
        }
    }
    decided
}
