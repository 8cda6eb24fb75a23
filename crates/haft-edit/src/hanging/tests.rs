//! What hangs how.

use super::{Hang, hang};
use crate::lines::Lines;

fn of(new: &str) -> Hang {
    hang("", "    ", &Lines::new(new))
}

#[test]
fn lines_as_deep_as_the_place_stay() {
    assert_eq!(of("a();\n    b();"), Hang::InFull);
    assert_eq!(of("if a {\n        b();\n    }"), Hang::InFull);
    assert_eq!(of("a();"), Hang::InFull);
}

#[test]
fn lines_further_out_are_shifted() {
    assert_eq!(of("a();\nb();"), Hang::Shifted);
    assert_eq!(of("if a {\n    b();\n}"), Hang::Shifted);
    assert_eq!(of("if a:\n    b()"), Hang::Shifted);
}

#[test]
fn what_may_be_either_is_not_decided() {
    assert_eq!(of("return a\n\ndef b():\n    pass"), Hang::Unsure);
    assert_eq!(of("a();\n    b();\n}"), Hang::Unsure);
    assert_eq!(of("key:\n    - a\n    - b"), Hang::Unsure);
    assert_eq!(of("    b();"), Hang::Unsure);
}
