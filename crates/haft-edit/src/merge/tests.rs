//! What stays and what changes within a line.

/// Merges with what is new taken as it was written.
fn merge(there: &str, old: &str, new: &str) -> String {
    super::merge(there, old, new, str::to_owned)
}

#[test]
fn words_left_alone_stay_as_they_are_there() {
    assert_eq!(
        merge("say(\u{201c}a\u{201d}, 1)", "say(\"a\", 1)", "say(\"a\", 2)"),
        "say(\u{201c}a\u{201d}, 2)"
    );
    assert_eq!(merge("a  =  b + c", "a = b + c", "a = d + c"), "a  =  d + c");
    assert_eq!(merge("f(a, b)", "f(a,b)", "f(a,c)"), "f(a, c)");
    assert_eq!(merge("f(a, b, c)", "f(a,b,c)", "f(a,c)"), "f(a, c)");
    assert_eq!(merge("x = 1;  ", "x = 1;", "x = 2;"), "x = 2;  ");
    assert_eq!(merge("x = 1;", "x = 1;  ", "x = 2;  "), "x = 2;");
    assert_eq!(merge("cafe\u{301} x", "caf\u{e9} x", "caf\u{e9} y"), "cafe\u{301} y");
    assert_eq!(merge("a\u{2026} b", "a... b", "a... c"), "a\u{2026} c");
}

#[test]
fn what_the_model_put_in_is_taken_as_written() {
    assert_eq!(merge("a  b", "a b", "a \"new\" b"), "a  \"new\" b");
    assert_eq!(merge("f( a )", "f(a)", "f(a, b)"), "f( a, b )");
    assert_eq!(merge("a\tb", "a b", ""), "");
    assert_eq!(merge("a = b;", "a=b;", "a = c;"), "a = c;");
    assert_eq!(merge("a = [b]", "a=[b]", "a = [c]"), "a = [c]");
}
