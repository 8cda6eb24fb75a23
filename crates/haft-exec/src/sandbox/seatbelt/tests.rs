//! The profile says what the confinement says, and a name cannot say more.

use std::path::PathBuf;

use super::profile;
use crate::sandbox::{Confinement, Network, Protected};

#[test]
fn later_rules_are_the_stricter_ones() {
    let mut confinement = Confinement::workspace([PathBuf::from("/w")]);
    confinement.protected = vec![Protected::file("/w/.git/config")];
    confinement.hidden = vec![PathBuf::from("/s")];
    let text = profile(&confinement);
    let at = |rule: &str| text.find(rule).unwrap();
    assert!(
        at("(allow file-write* (subpath \"/w\"))")
            < at("(deny file-write* (subpath \"/w/.git/config\"))")
    );
    assert!(text.contains("(deny file-read* file-write* (subpath \"/s\"))"));
    assert!(!text.contains("(allow network*)\n"));
    confinement.network = Network::Full;
    assert!(profile(&confinement).contains("(allow network*)\n"));
}

#[test]
fn a_quote_in_a_name_stays_in_the_name() {
    let confinement = Confinement::workspace([PathBuf::from("/w\")) (allow default) (x (\"")]);
    assert!(profile(&confinement).contains("(subpath \"/w\\\")) (allow default) (x (\\\"\"))"));
}
