//! The environment of a command: no secrets, nothing that runs code, nothing that waits for a person.

use std::ffi::{OsStr, OsString};

/// What the caller decides about an environment.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    /// Names that are passed on though they look like secrets.
    pub keep: Vec<String>,
    /// What is set in the end, over everything else: ids of the session, a folder for temporary files.
    pub set: Vec<(OsString, OsString)>,
    /// Whether the command is confined.
    pub reach: Reach,
}

/// Whether a command is confined.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Reach {
    /// It is not: agents for keys and displays of the user are passed on.
    #[default]
    Open,
    /// It is: what leads to something outside is left out.
    Confined,
}

/// Parts of a name, between underscores, that mean a secret.
const SECRET_WORDS: [&str; 20] = [
    "TOKEN",
    "TOKENS",
    "KEY",
    "KEYS",
    "SECRET",
    "SECRETS",
    "PASSWORD",
    "PASSWORDS",
    "PASSWD",
    "PASSPHRASE",
    "CREDENTIAL",
    "CREDENTIALS",
    "PAT",
    "AUTH",
    "APIKEY",
    "PRIVATE",
    "COOKIE",
    "DSN",
    "JWT",
    "PW",
];

/// Parts of a name that mean a secret wherever they stand.
const SECRET_PARTS: [&str; 7] =
    ["SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "APIKEY", "ACCESSKEY", "CREDENTIAL"];

/// Beginnings of names that belong to an account.
const ACCOUNTS: [&str; 8] = [
    "AWS_",
    "AZURE_",
    "GOOGLE_APPLICATION_",
    "CLOUDSDK_AUTH_",
    "OP_SESSION_",
    "VAULT_",
    "DOCKER_AUTH_",
    "CI_JOB_",
];

/// Names that hold one of the words and no secret.
const HARMLESS: [&str; 4] = ["SSH_AUTH_SOCK", "XAUTHORITY", "AWS_REGION", "AWS_DEFAULT_REGION"];

/// Names by which a shell, a loader or an interpreter is made to run something.
const RUNS_CODE: [&str; 24] = [
    "BASH_ENV",
    "ENV",
    "PROMPT_COMMAND",
    "PS0",
    "PS4",
    "SHELLOPTS",
    "BASHOPTS",
    "BASH_XTRACEFD",
    "CDPATH",
    "GLOBIGNORE",
    "IFS",
    "PERL5OPT",
    "PERL5DB",
    "PYTHONSTARTUP",
    "PYTHONINSPECT",
    "RUBYOPT",
    "NODE_OPTIONS",
    "JAVA_TOOL_OPTIONS",
    "_JAVA_OPTIONS",
    "GCONV_PATH",
    "LOCPATH",
    "HOSTALIASES",
    "GIT_EXTERNAL_DIFF",
    "GIT_SSH_COMMAND",
];

/// Beginnings of such names.
const RUNS_CODE_PARTS: [&str; 4] = ["LD_", "DYLD_", "BASH_FUNC_", "GIT_CONFIG_"];

/// What leads to something outside of a sandbox.
const LEADS_OUT: [&str; 11] = [
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    "GPG_AGENT_INFO",
    "DBUS_SESSION_BUS_ADDRESS",
    "DBUS_SYSTEM_BUS_ADDRESS",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "XDG_RUNTIME_DIR",
    "DOCKER_HOST",
    "CONTAINER_HOST",
];

/// What makes programs neither page, nor colour, nor ask, nor open an editor.
const QUIET: [(&str, &str); 17] = [
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("SYSTEMD_PAGER", ""),
    ("TERM", "dumb"),
    ("NO_COLOR", "1"),
    ("CLICOLOR", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_EDITOR", "true"),
    ("EDITOR", "true"),
    ("VISUAL", "true"),
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("PIP_NO_INPUT", "1"),
    ("NPM_CONFIG_YES", "true"),
    ("PYTHONUNBUFFERED", "1"),
    ("CARGO_TERM_COLOR", "never"),
    ("HOMEBREW_NO_AUTO_UPDATE", "1"),
];

/// The environment for a command, made of `base`, which is most often the program's own.
pub fn environment(
    base: impl IntoIterator<Item = (OsString, OsString)>,
    rules: &Rules,
) -> Vec<(OsString, OsString)> {
    let passes = |name: &OsStr, value: &OsStr| {
        let Some(name) = name.to_str() else { return false };
        let kept = rules.keep.iter().any(|keep| keep == name);
        let is_out = rules.reach == Reach::Confined && LEADS_OUT.contains(&name);
        !runs_code(name) && !is_out && (kept || !is_secret(name) && !holds_login(value))
    };
    let mut all: Vec<(OsString, OsString)> =
        base.into_iter().filter(|(name, value)| passes(name, value)).collect();
    for (name, value) in QUIET {
        set(&mut all, name.into(), value.into());
    }
    for (name, value) in &rules.set {
        set(&mut all, name.clone(), value.clone());
    }
    all
}

fn set(all: &mut Vec<(OsString, OsString)>, name: OsString, value: OsString) {
    all.retain(|(one, _)| *one != name);
    all.push((name, value));
}

fn runs_code(name: &str) -> bool {
    RUNS_CODE.contains(&name) || RUNS_CODE_PARTS.iter().any(|part| name.starts_with(part))
}

fn is_secret(name: &str) -> bool {
    let upper = name.to_uppercase();
    if HARMLESS.contains(&upper.as_str()) {
        return false;
    }
    upper.split(['_', '-', '.']).any(|word| SECRET_WORDS.contains(&word))
        || upper.ends_with("TOKEN")
        || SECRET_PARTS.iter().any(|part| upper.contains(part))
        || ACCOUNTS.iter().any(|account| upper.starts_with(account))
}

/// Whether a value is an address with a user and a password in it, or a private key.
fn holds_login(value: &OsStr) -> bool {
    let value = value.to_string_lossy();
    if value.contains("-----BEGIN") && value.contains("PRIVATE KEY") {
        return true;
    }
    value.split("://").skip(1).any(|rest| {
        let host = rest.split(['/', '?', '#', ' ']).next().unwrap_or_default();
        host.rsplit_once('@').is_some_and(|(login, _)| login.contains(':'))
    })
}

#[cfg(test)]
mod tests;
