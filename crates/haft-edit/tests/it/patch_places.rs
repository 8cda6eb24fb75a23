//! Where chunks go, and when they are refused.

use haft_edit::patch::{PatchError, Trouble};

use crate::texts::patched;

/// Puts an envelope with these chunks on a text.
fn put(chunks: &str, original: &str) -> Result<String, PatchError> {
    patched(&format!("*** Begin Patch\n*** Update File: f\n{chunks}\n*** End Patch\n"), original)
}

fn refused(chunks: &str, original: &str) -> String {
    let message = put(chunks, original).unwrap_err().to_string();
    assert!(message.len() < 3000, "{message}");
    message
}

const TWO: &str = "class A:\n    def f(self):\n        return 1\n\n\nclass B:\n    def f(self):\n        return 1\n";

#[test]
fn chunks_may_come_in_any_order_and_share_their_context() {
    let text = "a\nb\nc\nd\ne\n";
    assert_eq!(put("@@\n d\n-e\n+E\n@@\n-a\n+A\n b", text).unwrap(), "A\nb\nc\nd\nE\n");
    assert_eq!(put("@@\n-a\n+A\n b\n@@\n b\n-c\n+C", text).unwrap(), "A\nb\nC\nd\ne\n");
}

#[test]
fn the_first_of_several_places_is_never_taken() {
    assert_eq!(
        refused("@@\n-        return 1\n+        return 2", TWO),
        "f, chunk 1 (line 3 of the patch): its lines stand at 2 places, lines 3, 8; add lines of context, or an `@@` line \
         that names the function or section"
    );
}

#[test]
fn an_at_line_settles_which_of_several_places_is_meant() {
    let second = TWO.replacen("return 1", "return 2", 2).replacen("return 2", "return 1", 1);
    let chunk = "-        return 1\n+        return 2";
    assert_eq!(put(&format!("@@ class B:\n{chunk}"), TWO).unwrap(), second);
    assert_eq!(
        put(&format!("@@ class A:\n{chunk}"), TWO).unwrap(),
        TWO.replacen("return 1", "return 2", 1)
    );
    assert_eq!(put(&format!("@@ class B:\n@@     def f(self):\n{chunk}"), TWO).unwrap(), second);
    assert_eq!(put(&format!("@@ class B\n{chunk}"), TWO).unwrap(), second);
    assert!(matches!(
        put(&format!("@@ def f(self):\n{chunk}"), TWO).unwrap_err().trouble,
        Trouble::Several { .. }
    ));
    assert!(matches!(
        put(&format!("@@ class C:\n{chunk}"), TWO).unwrap_err().trouble,
        Trouble::Several { .. }
    ));
}

#[test]
fn sections_of_a_flat_file_are_blocks_too() {
    let text = "[a]\nx = 1\n\n[b]\nx = 1\n\n[c]\nx = 1\n";
    assert_eq!(
        put("@@ [b]\n-x = 1\n+x = 2", text).unwrap(),
        "[a]\nx = 1\n\n[b]\nx = 2\n\n[c]\nx = 1\n"
    );
    let text = "# One\ntext\n## Sub\ntext\n# Two\ntext\n";
    assert_eq!(
        put("@@ # Two\n-text\n+TEXT", text).unwrap(),
        "# One\ntext\n## Sub\ntext\n# Two\nTEXT\n"
    );
}

#[test]
fn an_at_line_that_is_not_there_is_named() {
    assert!(refused("@@ class C:\n-gone\n+x", TWO).contains("no line `class C:` was found"));
    assert!(
        refused("@@ class B:\n@@ def g(self):\n-gone\n+x", TWO)
            .contains("no line `def g(self):` was found below")
    );
}

#[test]
fn lines_above_the_at_line_are_not_meant() {
    let text = "x = 1\n\nclass B:\n    y = 2\n";
    assert!(put("@@ class B:\n-x = 1\n+x = 3", text).is_err());
}

#[test]
fn an_insertion_goes_after_its_context() {
    let text = "a\nb\nc\n";
    assert_eq!(put("@@\n a\n+new", text).unwrap(), "a\nnew\nb\nc\n");
    assert_eq!(put("@@ b\n+new", text).unwrap(), "a\nb\nnew\nc\n");
    assert_eq!(put("@@\n+new\n c", text).unwrap(), "a\nb\nnew\nc\n");
    assert_eq!(put("@@\n c\n+new\n*** End of File", text).unwrap(), "a\nb\nc\nnew\n");
}

#[test]
fn an_insertion_with_nothing_around_it_is_refused_unless_there_is_only_one_place() {
    assert!(matches!(put("@@\n+new", "a\n").unwrap_err().trouble, Trouble::Nowhere));
    assert_eq!(put("@@\n+new", "").unwrap(), "new\n");
    assert_eq!(put("@@\n+new\n*** End of File", "a\n").unwrap(), "a\nnew\n");
    assert_eq!(put("@@\n+new\n*** End of File", "a").unwrap(), "a\nnew");
    assert_eq!(put("@@\n+new\n*** End of File", "a\r\nb\r\n").unwrap(), "a\r\nb\r\nnew\r\n");
}

#[test]
fn the_end_of_the_file_chooses_among_several_places() {
    assert_eq!(put("@@\n-x\n+y\n*** End of File", "x\na\nx\n").unwrap(), "x\na\ny\n");
}

#[test]
fn line_ends_of_the_place_are_kept_and_no_other_byte_changes() {
    assert_eq!(
        put("@@\n a\n-b\n+B\n+C\n c", "a\r\nb\r\nc\r\nd\n").unwrap(),
        "a\r\nB\r\nC\r\nc\r\nd\n"
    );
    assert_eq!(put("@@\n-b\n+B", "a\nb\r\nc\n").unwrap(), "a\nB\r\nc\n");
    assert_eq!(put("@@\n a\n-b\n+B", "a\rb\rc").unwrap(), "a\rB\rc");
    assert_eq!(put("@@ a\n+new", "a\r\nb\r\n").unwrap(), "a\r\nnew\r\nb\r\n");
}

#[test]
fn a_missing_last_line_end_stays_missing_unless_the_patch_says_otherwise() {
    assert_eq!(put("@@\n a\n-b\n+B", "a\nb").unwrap(), "a\nB");
    assert_eq!(put("@@\n a\n-b\n+B", "a\nb\n").unwrap(), "a\nB\n");
    let marker = "\\ No newline at end of file";
    assert_eq!(put(&format!("@@\n a\n-b\n{marker}\n+b"), "a\nb").unwrap(), "a\nb\n");
    assert_eq!(put(&format!("@@\n a\n-b\n+b\n{marker}"), "a\nb\n").unwrap(), "a\nb");
    assert!(matches!(
        put(&format!("@@\n-a\n+a\n{marker}"), "a\nb\n").unwrap_err().trouble,
        Trouble::NotAtEnd
    ));
    assert_eq!(put("@@\n a\n-b", "a\nb").unwrap(), "a\n");
}

#[test]
fn chunks_that_change_the_same_lines_are_refused() {
    let message = refused("@@\n a\n-b\n+B\n@@\n-b\n+C\n c", "a\nb\nc\n");
    assert!(
        message
            .starts_with("f, chunk 2 (line 7 of the patch): it changes the same lines as chunk 1"),
        "{message}"
    );
    assert!(matches!(
        put("@@\n a\n+x\n@@\n+y\n b", "a\nb\n").unwrap_err().trouble,
        Trouble::Overlap { .. }
    ));
}

fn unified(hunks: &str, original: &str) -> Result<String, PatchError> {
    patched(&format!("--- a/f\n+++ b/f\n{hunks}"), original)
}

#[test]
fn a_line_number_chooses_only_if_one_place_is_clearly_nearest() {
    let text = "x\n".to_owned() + &"-\n".repeat(20) + "x\n" + &"-\n".repeat(20) + "x\n";
    let at = |line: usize| unified(&format!("@@ -{line} +{line} @@\n-x\n+y\n"), &text);
    let second = text.replacen("x\n-\n", "?\n-\n", 1).replacen('x', "y", 1).replace('?', "x");
    assert_eq!(at(22).unwrap(), second);
    assert_eq!(at(25).unwrap(), second);
    assert!(matches!(at(32).unwrap_err().trouble, Trouble::Several { .. }));
}

#[test]
fn a_line_number_is_corrected_by_how_far_the_other_chunks_moved() {
    let block = "start\nx\n-\n-\n-\n";
    let text = format!("{}mark\n{}", "new\n".repeat(10), block.repeat(6));
    // Written before ten lines came in at the top: `x` of the third block was on line 13.
    let hunks = "@@ -1 +1 @@\n-mark\n+MARK\n@@ -13 +13 @@\n-x\n+y\n";
    let expected = format!(
        "{}MARK\n{}{}{}",
        "new\n".repeat(10),
        block.repeat(2),
        block.replace('x', "y"),
        block.repeat(3)
    );
    assert_eq!(unified(hunks, &text).unwrap(), expected);
}

#[test]
fn a_chunk_is_made_of_whole_lines() {
    assert!(put("@@\n-foo\n+bar", "a foo b\n").is_err());
    assert!(put("@@\n-foo\n+bar", "xfoo\n").is_err());
}

#[test]
fn removing_lines_leaves_no_empty_line() {
    assert_eq!(put("@@\n-b", "a\nb\nc\n").unwrap(), "a\nc\n");
    assert_eq!(put("@@\n-a\n-b", "a\nb\n").unwrap(), "");
}

#[test]
fn the_looser_tiers_of_edit_place_chunks_too() {
    let text = "class A:\n    def f(self):\n        return \u{201c}one\u{201d}\n\n    def g(self):\n        x = 1  \n        return x\n";
    let quotes = put("@@\n-        return \"one\"\n+        return \"two\"", text).unwrap();
    assert_eq!(quotes, text.replace("one", "two"));
    let blanks =
        put("@@\n     def g(self):\n-        x = 1\n+        x = 2\n         return x", text)
            .unwrap();
    assert_eq!(blanks, text.replace("x = 1  ", "x = 2"));
    let indented =
        put("@@\n def g(self):\n     x = 1\n-    return x\n+    y = x\n+    return y", text)
            .unwrap();
    assert_eq!(indented, text.replace("        return x\n", "        y = x\n        return y\n"));
}

#[test]
fn a_line_without_its_indentation_is_found_as_a_whole_line() {
    let text = "if x:\n    do()\nend()\n";
    assert_eq!(
        put("@@\n-do()\n+do()\n+more()", text).unwrap(),
        "if x:\n    do()\n    more()\nend()\n"
    );
    assert_eq!(put("@@\n-do()", text).unwrap(), "if x:\nend()\n");
}

#[test]
fn tabs_in_the_file_are_kept_when_the_patch_has_spaces() {
    let text = "fn a() {\n\tif b {\n\t\tc();\n\t}\n}\n";
    let result = put(
        "@@\n fn a() {\n     if b {\n-        c();\n+        c();\n+        d();\n     }",
        text,
    )
    .unwrap();
    assert_eq!(result, "fn a() {\n\tif b {\n\t\tc();\n\t\td();\n\t}\n}\n");
}

#[test]
fn a_miss_names_file_chunk_line_of_the_patch_and_the_nearest_place() {
    let message =
        refused("@@\n-a\n+b\n@@\n-    return x + 7\n+    return y", "a\n    return x + 1\n");
    assert!(
        message.starts_with("f, chunk 2 (line 6 of the patch): the chunk's old text"),
        "{message}"
    );
    assert!(message.contains("line 2"), "{message}");
    assert!(!message.contains("old_string"), "{message}");
}

#[test]
fn a_patch_that_is_already_applied_says_so() {
    let message = refused(
        "@@\n fn a() {\n-    old_call();\n+    new_call();\n }",
        "fn a() {\n    new_call();\n}\n",
    );
    assert!(message.contains("Already applied"), "{message}");
}

#[test]
fn a_middle_that_changed_since_is_not_overwritten() {
    let text = "fn a() {\n    one();\n    changed_by_someone();\n    three();\n}\n";
    assert!(
        put("@@\n fn a() {\n     one();\n-    two();\n+    deux();\n     three();\n }", text)
            .is_err()
    );
}

#[test]
fn context_is_not_rewritten_by_what_the_patch_says() {
    let text = "a\u{a0}b\t \r\nold\r\n\u{201c}c\u{201d}\r\n";
    let result = put("@@\n a b\n-old\n+new\n \"c\"", text).unwrap();
    assert_eq!(result, text.replace("old", "new"));
}

#[test]
fn characters_of_many_bytes_are_never_cut() {
    let text = "日本語\n😀 x\nüber\n";
    assert_eq!(put("@@\n 日本語\n-😀 x\n+😀 y", text).unwrap(), "日本語\n😀 y\nüber\n");
    assert!(refused("@@\n-日本誤😀😀😀\n+x", text).contains("chunk 1"));
}

#[test]
fn the_line_after_at_may_be_repeated_as_context() {
    let chunk = "@@ class B:\n class B:\n-    def f(self):\n+    def g(self):";
    let (head, tail) = TWO.split_once("class B:").unwrap();
    assert_eq!(
        put(chunk, TWO).unwrap(),
        format!("{head}class B:{}", tail.replace("def f", "def g"))
    );
}

#[test]
fn below_the_at_line_but_in_another_block_is_taken_only_if_it_is_the_only_place() {
    let text = "class A:\n    x = 1\n\nclass B:\n    y = 2\n\nclass C:\n    y = 2\n";
    assert!(matches!(
        put("@@ class A:\n-    y = 2\n+    y = 3", text).unwrap_err().trouble,
        Trouble::Several { .. }
    ));
    assert_eq!(
        put("@@ class A:\n class C:\n-    y = 2\n+    y = 3", text).unwrap(),
        text.replace("C:\n    y = 2", "C:\n    y = 3")
    );
    // The header's block holds nearly the same line, so the exact one elsewhere may not be meant.
    let text = "class B:\n    x  =  1\n\nclass A:\n    x = 1\n";
    assert!(put("@@ class B:\n-    x = 1\n+    x = 3", text).is_err());
}
