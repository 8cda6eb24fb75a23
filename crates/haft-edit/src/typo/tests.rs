//! What is a slip and what is another name.

use super::*;

#[test]
fn letters_lost_doubled_swapped_or_wrong_within_a_word_are_slips() {
    for (written, meant) in [
        ("retrun", "return"),
        ("recieve_message", "receive_message"),
        ("configuraton", "configuration"),
        ("handlle", "handle"),
        ("connectoon", "connection"),
        ("getUserNmae", "getUserName"),
        ("handl", "handle"),
        ("messag", "message"),
    ] {
        assert!(is_slip(written, meant, Manner::Code), "{written} for {meant}");
    }
}

#[test]
fn what_may_be_another_name_is_no_slip() {
    for (written, meant) in [
        ("items", "item"),
        ("item", "items"),
        ("handler", "handle"),
        ("parsed", "parser"),
        ("user1", "user2"),
        ("load_a", "load_b"),
        ("getUserA", "getUserB"),
        ("get", "set"),
        ("left", "heft"),
        ("test", "text"),
        ("Value", "value"),
        ("x", "y"),
        ("regexx", "regex"),
        ("HAS_snprintf", "HAS_vsnprintf"),
        ("countx", "count"),
        ("encode", "decode"),
        ("count", "counter"),
        ("utf8", "utf16"),
    ] {
        assert!(!is_slip(written, meant, Manner::Code), "{written} for {meant}");
    }
}

#[test]
fn prose_forgives_more_but_no_numbers() {
    assert!(is_slip("teh", "the", Manner::Prose));
    assert!(is_slip("conectin", "connection", Manner::Prose));
    assert!(!is_slip("program", "programs", Manner::Prose));
    assert!(!is_slip("betweenx", "between", Manner::Prose));
    assert!(!is_slip("counted_b", "counted", Manner::Prose));
    assert!(!is_slip("step1", "step2", Manner::Prose));
    assert_eq!(manner("//the first of many", "first"), Manner::Prose);
    assert_eq!(manner("//the first_one of many", "first_one"), Manner::Code);
    assert_eq!(manner("#ifdef HAS_printf", "HAS_printf"), Manner::Code);
    assert_eq!(manner("let x=1;", "let"), Manner::Code);
}
