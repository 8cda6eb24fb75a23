//! Patterns against URLs: the host of one with the host of the other, so that no path looks like a host.

use super::pattern::Pattern;

/// Whether `pattern` means the page at `url`, whose host is `host`.
///
/// `docs.rs` and `*.docs.rs` mean hosts. `https://docs.rs/*` and `docs.rs/std/*` mean what is below a
/// path there, and `https://docs.rs*` no other host that begins like that. Text that only looks like it,
/// such as `https://evil.test/?https://docs.rs/`, is none of these.
pub(super) fn means(pattern: &Pattern, url: &str, host: &str) -> bool {
    let written = pattern.as_str();
    if pattern.is_everything() {
        return true;
    }
    let (scheme, place) = match written.split_once("://") {
        Some((scheme, place)) => (Some(scheme), place),
        None => (None, written),
    };
    let (wanted_host, wanted_path) = match place.split_once('/') {
        Some((host, path)) => (host, format!("/{path}")),
        None if scheme.is_none() => (place, "*".to_owned()),
        // A star at the end of a host is about what follows it.
        None => {
            match place.strip_suffix('*').filter(|host| !host.is_empty() && !host.ends_with('.')) {
                Some(host) => (host, "*".to_owned()),
                None => (place, "/".to_owned()),
            }
        }
    };
    let Some((real_scheme, after)) = url.split_once("://") else { return false };
    let path = after.strip_prefix(host).unwrap_or_default();
    scheme.is_none_or(|scheme| Pattern::new(scheme).matches(real_scheme))
        && Pattern::new(wanted_host).matches(host)
        && Pattern::new(&wanted_path).matches(path)
}

#[cfg(test)]
mod tests {
    use super::means;
    use crate::permission::{Action, Effect, Layer, LayerKind, Pattern, Policy};

    fn fetch(url: &str) -> Effect {
        let host = url.split("://").nth(1).unwrap().split('/').next().unwrap();
        Effect::fetch(url, host)
    }

    fn decide(pattern: &str, action: Action, url: &str) -> Action {
        let layer = Layer::new(LayerKind::User, "rules");
        let other = if action == Action::Allow { Action::Ask } else { Action::Allow };
        let layer = layer.rule("webfetch", "*", other).rule("webfetch", pattern, action);
        Policy::new(vec![layer]).decide(&fetch(url)).action
    }

    #[test]
    fn a_rule_allows_the_host_that_it_names_and_no_other() {
        let allowed = |pattern, url| decide(pattern, Action::Allow, url) == Action::Allow;
        for pattern in
            ["https://docs.test/*", "docs.test", "https://docs.test*", "docs.test/*", "*"]
        {
            assert!(allowed(pattern, "https://docs.test/a/b"), "{pattern}");
        }
        assert!(allowed("*.docs.test", "https://api.docs.test/"));
        assert!(allowed("https://*.docs.test/*", "https://api.docs.test/x"));
        assert!(allowed("https://docs.test", "https://docs.test/"));
        assert!(allowed("docs.test:8080", "http://docs.test:8080/x"));
        for pattern in [
            "https://docs.test/*",
            "docs.test",
            "*.docs.test",
            "https://docs.test*",
            "https://*.docs.test/*",
        ] {
            for url in [
                "https://docs.test.evil.test/",
                "https://evil.test/?https://docs.test/",
                "https://evil.test/api.docs.test",
                "https://evil.test/x.docs.test/y",
                "https://evildocs.test/",
            ] {
                assert!(!allowed(pattern, url), "{pattern} {url}");
            }
        }
        assert!(!allowed("https://docs.test/*", "http://docs.test/"));
        assert!(!allowed("https://docs.test/public/*", "https://docs.test/private/"));
        assert!(!allowed("docs.test", "http://docs.test:8080/"));
    }

    #[test]
    fn a_rule_that_restricts_is_read_both_ways() {
        for pattern in ["evil.test", "*evil*", "*/private/*", "https://evil.test/*"] {
            let action = decide(pattern, Action::Deny, "https://evil.test/private/x");
            assert_eq!(action, Action::Deny, "{pattern}");
        }
        assert_eq!(decide("evil.test", Action::Deny, "https://docs.test/"), Action::Allow);
    }

    #[test]
    fn a_grant_for_a_host_covers_that_host() {
        let policy = Policy::new(Vec::new());
        assert!(policy.grant_covers("webfetch", "docs.test", &fetch("https://docs.test/a")));
        assert!(!policy.grant_covers(
            "webfetch",
            "docs.test",
            &fetch("https://evil.test/docs.test")
        ));
        assert!(!policy.grant_covers("webfetch", "*.test", &fetch("https://evil.org/x.test")));
    }

    #[test]
    fn what_is_no_url_is_no_page() {
        assert!(!means(&Pattern::new("a.test"), "nonsense", "b.test"));
    }
}
