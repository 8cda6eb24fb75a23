//! Which variables reach a command.

use std::ffi::OsString;

use super::{Reach, Rules, environment};

fn made(base: &[(&str, &str)], rules: &Rules) -> Vec<(String, String)> {
    let base = base.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let made = environment(base, rules).into_iter();
    made.map(|(name, value)| (name.into_string().unwrap(), value.into_string().unwrap())).collect()
}

fn passes(name: &str, value: &str, reach: Reach) -> bool {
    let rules = Rules { reach, ..Rules::default() };
    made(&[(name, value)], &rules).contains(&(name.to_owned(), value.to_owned()))
}

#[test]
fn secrets_stay_out() {
    let secrets = [
        "GITHUB_TOKEN",
        "API_KEY",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_PROFILE",
        "DB_PASSWORD",
        "PGPASSWORD",
        "npm_config__authToken",
        "MY_SECRET_THING",
        "OPENAI_API_KEY",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "GH_PAT",
        "STRIPE_KEY",
        "SESSION_COOKIE",
        "SENTRY_DSN",
        "VAULT_ADDR",
        "clientSecret",
        "SSH_PRIVATE_KEY",
        "GPG_PASSPHRASE",
        "HTTP_AUTH",
        "CI_JOB_JWT",
    ];
    for name in secrets {
        assert!(!passes(name, "value", Reach::Open), "{name}");
    }
}

#[test]
fn values_with_a_login_stay_out() {
    assert!(!passes("DATABASE_URL", "postgres://user:pass@host/db", Reach::Open));
    assert!(!passes("MIRROR", "see https://a:b@c.d/e for more", Reach::Open));
    assert!(!passes("X", "-----BEGIN OPENSSH PRIVATE KEY-----", Reach::Open));
    assert!(passes("URL", "https://host:8080/a@b:c", Reach::Open));
}

#[test]
fn what_runs_code_stays_out_even_if_it_is_to_be_kept() {
    let names = [
        "BASH_ENV",
        "ENV",
        "LD_PRELOAD",
        "LD_LIBRARY_PATH",
        "PROMPT_COMMAND",
        "BASH_FUNC_ls%%",
        "GIT_CONFIG_COUNT",
        "NODE_OPTIONS",
    ];
    for name in names {
        let rules = Rules { keep: vec![name.to_owned()], ..Rules::default() };
        assert!(made(&[(name, "x")], &rules).iter().all(|(one, _)| one != name), "{name}");
    }
}

#[test]
fn the_harmless_passes() {
    for name in [
        "PATH",
        "HOME",
        "LANG",
        "KEYBOARD",
        "MONKEY",
        "CARGO_HOME",
        "GOPATH",
        "AWS_REGION",
        "TOKENIZERS_PARALLELISM",
        "SSH_AUTH_SOCK",
    ] {
        assert!(passes(name, "value", Reach::Open), "{name}");
    }
}

#[test]
fn what_leads_out_stays_out_of_a_sandbox() {
    for name in
        ["SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "DOCKER_HOST", "XDG_RUNTIME_DIR"]
    {
        assert!(!passes(name, "value", Reach::Confined), "{name}");
    }
}

#[test]
fn what_the_caller_sets_and_keeps_wins() {
    let rules = Rules {
        keep: vec!["CI_TOKEN".into()],
        set: vec![("HAFT_SESSION".into(), "1".into()), ("TERM".into(), "xterm".into())],
        reach: Reach::Open,
    };
    let made = made(&[("CI_TOKEN", "x"), ("TERM", "vt100"), ("PAGER", "less")], &rules);
    let has = |name: &str, value: &str| made.contains(&(name.to_owned(), value.to_owned()));
    assert!(
        has("CI_TOKEN", "x")
            && has("HAFT_SESSION", "1")
            && has("TERM", "xterm")
            && has("PAGER", "cat")
    );
    let mut names: Vec<_> = made.iter().map(|(name, _)| name).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), made.len(), "no name twice");
}
