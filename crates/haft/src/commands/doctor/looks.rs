//! What is looked at: everything is tried for real, because what is only configured may still not work.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use haft_exec::sandbox::Network;
use haft_exec::sandbox::layers::{Layer, State as Held};
use haft_exec::{Command, Keeper};
use haft_mcp::client::{
    Era, Reach, Report, ServerSettings, State as ServerState, ToolFilter, greet,
};
use haft_runtime::permission::{Effect, EffectKind, Policy, check};
use haft_runtime::{Headless, LeftOut, Store};
use haft_tools::SandboxMode;

use super::{Finding, broken, fine, note};
use crate::open::Haft;
use crate::print::counted;
use crate::setup::{HostName, Scope};
use crate::small_file;

/// Some programs keep their history in their config.
const MOST_CONFIG: u64 = 64 * 1024 * 1024;

/// What a few calls need on disk.
const ROOM: usize = 256 * 1024;

/// How long our own server may take to answer; it takes milliseconds.
const PATIENCE: Duration = Duration::from_secs(10);

/// Looks at everything, in the order in which one thing needs the other.
pub(super) async fn all(haft: &Haft) -> Vec<Finding> {
    let mut findings = vec![fine("workspace", haft.root.display().to_string())];
    findings.extend(config(haft));
    findings.extend(rules(haft));
    findings.push(store(haft));
    findings.push(journal(haft));
    findings.extend(sandbox(haft).await);
    findings.extend(tools(haft).await);
    findings.extend(haft.servers.reports().iter().flat_map(server));
    for era in [Era::Handshake, Era::Stateless] {
        findings.push(own_server(haft, era).await);
    }
    findings.push(model(haft));
    findings.extend(hosts(haft));
    findings
}

/// The model of `haft run`. Without one all else works: haft is also for models that others lead.
fn model(haft: &Haft) -> Finding {
    let found = haft.model().and_then(|model| Ok((haft.endpoint(&model)?.0.base_url, model)));
    match found {
        Ok((url, model)) => {
            fine("model", format!("haft run uses {}/{} at {url}", model.provider, model.id))
        }
        Err(error) => note("model", format!("haft run: {error:#}")),
    }
}

fn config(haft: &Haft) -> Vec<Finding> {
    let file = |config: &crate::config::Loaded| {
        let rules = counted(config.rules.rules.len(), "rule", "rules");
        fine("config", format!("{}: {rules}", config.path.display()))
    };
    let mut findings: Vec<Finding> = haft.configs.iter().map(file).collect();
    if findings.is_empty() {
        findings.push(fine("config", "none; the built-in rules hold".to_owned()));
    }
    findings.extend(haft.warnings.iter().map(|warning| note("config", warning.clone())));
    findings
}

/// What holds for the things that most calls do, and which rule says so.
fn rules(haft: &Haft) -> Vec<Finding> {
    let policy = match haft.policy() {
        Ok(policy) => policy,
        Err(error) => return vec![broken("rules", format!("{error:#}"))],
    };
    let (inside, outside) = (haft.root.join("some/file"), Path::new("/some/file"));
    let on = |kind, path: &Path| Effect::on_path(kind, path, &haft.root);
    let mut findings = vec![
        decided(&policy, "read a file", &on(EffectKind::Read, &inside)),
        decided(&policy, "change a file", &on(EffectKind::Write, &inside)),
        decided(&policy, "run a command", &Effect::run("some-command")),
        decided(&policy, "reach a host", &Effect::connect("https://some.host/")),
        decided(&policy, "go outside", &on(EffectKind::External, outside)),
    ];
    findings.push(match check(&policy).len() {
        0 => fine("rules", "every rule can decide something".to_owned()),
        count => note("rules", format!("{count} can never decide; see `haft policy check`")),
    });
    findings
}

fn decided(policy: &Policy, what: &str, effect: &Effect) -> Finding {
    let decision = policy.decide(effect);
    let by = decision.rule.map(|rule| format!(", by {rule}")).unwrap_or_default();
    fine("rules", format!("{what}: {}{by}", decision.action))
}

/// Opens the store for real, and writes beside it: one that is there may still be full or read-only.
fn store(haft: &Haft) -> Finding {
    let sessions = match haft.store.sessions(None, usize::MAX) {
        Ok(sessions) => sessions,
        Err(error) => return broken("store", error.to_string()),
    };
    let place = haft.environment.state_dir.as_deref().unwrap_or(Path::new("nowhere"));
    let shown = place.display();
    match tempfile::tempfile_in(place).and_then(|mut file| file.write_all(&[0; ROOM])) {
        Ok(()) => {
            fine("store", format!("{shown}: {}", counted(sessions.len(), "session", "sessions")))
        }
        Err(error) => {
            broken("store", format!("{shown} cannot be written to, so no call is run: {error}"))
        }
    }
}

fn journal(haft: &Haft) -> Finding {
    let Some(journal) = haft.journal() else {
        return note(
            "journal",
            "none: haft has no folder of its own, so nothing can be undone".into(),
        );
    };
    match journal.entries() {
        Ok(entries) => {
            let count = counted(entries.len(), "change", "changes");
            fine("journal", format!("{count} of this workspace can be looked at"))
        }
        Err(error) => broken("journal", error.to_string()),
    }
}

/// The shell, and each layer of the sandbox as the kernel gives it here.
async fn sandbox(haft: &Haft) -> Vec<Finding> {
    let commands = haft.commands();
    let settings = commands.settings();
    let mut findings = vec![fine("shell", settings.shell.display().to_string())];
    let mode = settings.sandbox.as_str();
    if settings.sandbox == SandboxMode::Off {
        let says = format!("{mode}: commands may do what you may do");
        findings.push(note("sandbox", says));
        return findings;
    }
    findings.push(fine("sandbox", mode.to_owned()));
    match commands.keeper().layers().await {
        Err(error) => findings.push(broken("sandbox", error.to_string())),
        Ok(layers) => findings.extend(layers.0.iter().map(|(layer, state)| match state {
            Held::Missing(why) => {
                note("sandbox", format!("{} missing ({why}): {}", layer.name(), layer.without()))
            }
            _ if *layer == Layer::Network => network(settings.network),
            _ => fine("sandbox", format!("{} in force", layer.name())),
        })),
    }
    findings
}

/// What the network of commands is, where the kernel can hold them to it.
fn network(network: Network) -> Finding {
    match network {
        Network::Off => {
            let says =
                "network in force: one for each session, and a proxy for hosts that are allowed";
            fine("sandbox", says.to_owned())
        }
        Network::Full => {
            note("sandbox", "network open to every command: [sandbox] network = true".to_owned())
        }
    }
}

async fn tools(haft: &Haft) -> Vec<Finding> {
    let runtime = match haft.runtime(Headless) {
        Ok(runtime) => runtime,
        Err(error) => return vec![broken("tools", format!("{error:#}"))],
    };
    let toolset = haft.toolset(&runtime).await;
    let mut findings = vec![fine("tools", toolset.names().join(", "))];
    let left_out = haft.left_out(&toolset).into_iter();
    let says = |one: LeftOut| note("tools", format!("{}: {}", one.id, one.reason));
    findings.extend(left_out.map(says));
    findings
}

/// A server whose tools are offered.
fn server(report: &Report) -> Vec<Finding> {
    let Report { name, state, tools, left_out } = report;
    let mut findings = vec![match state {
        ServerState::Connected { software, protocol } => {
            let count = counted(tools.len(), "tool", "tools");
            fine("server", format!("{name}: {software}, protocol {protocol}, {count}"))
        }
        ServerState::Broken { why } => broken("server", format!("{name}: {why}")),
        _ => note("server", format!("{name}: not tried")),
    }];
    let missing = left_out.iter();
    findings.extend(missing.map(|(tool, why)| note("server", format!("{name}: {tool}: {why}"))));
    findings
}

/// Starts `haft mcp` as a host does, and greets it.
async fn own_server(haft: &Haft, era: Era) -> Finding {
    let Some(program) = &haft.environment.program else {
        return broken("mcp", "the path of this program cannot be found".to_owned());
    };
    // One tool is enough to see it work, and starts no other server.
    let mut command = Command::new(program, &haft.root).args(["mcp", "--tools", "read", "--dir"]);
    command.args.push(haft.root.clone().into_os_string());
    command.env.clone_from(&haft.environment.variables);
    let settings = ServerSettings {
        name: "haft".to_owned(),
        reach: Reach::Command(Box::new(command)),
        tools: ToolFilter::default(),
        timeout: PATIENCE,
        start_timeout: PATIENCE,
    };
    match greet(&settings, &Keeper::new("/proc/self/exe"), era).await {
        Ok(greeting) => {
            let milliseconds = greeting.took.as_millis();
            let protocol = greeting.protocol;
            fine("mcp", format!("`haft mcp` answers in protocol {protocol}, in {milliseconds} ms"))
        }
        Err(why) => broken("mcp", format!("`haft mcp` does not answer: {why}")),
    }
}

/// The programs that haft can be plugged into, as far as they are here or know of it.
fn hosts(haft: &Haft) -> Vec<Finding> {
    HostName::ALL.into_iter().filter_map(|host| look_at_host(haft, host)).collect()
}

fn look_at_host(haft: &Haft, host: HostName) -> Option<Finding> {
    let Haft { environment, root, .. } = haft;
    let found = host.programs().iter().find_map(|name| environment.which(name));
    let lists = |scope| {
        let target = host.target(scope, environment, root).ok()?;
        let text = small_file::read_up_to(&target.file, MOST_CONFIG).ok().flatten();
        let entry = target.format.entry(text.as_deref(), target.spot("haft")).ok().flatten();
        entry.map(|_| target.file.display().to_string())
    };
    let files: Vec<String> = [Scope::User, Scope::Project].into_iter().filter_map(lists).collect();
    let (name, files) = (host.word(), files.join(", "));
    match (found, files.is_empty()) {
        (None, true) => None,
        (None, false) => Some(note("host", format!("{name}: not found, but set up in {files}"))),
        (Some(_), false) => Some(fine("host", format!("{name}: set up in {files}"))),
        (Some(path), true) => Some(note(
            "host",
            format!("{name}: {}; `haft setup {name} --write` plugs haft in", path.display()),
        )),
    }
}
