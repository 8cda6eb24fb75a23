//! Which texts are patches, and what is said about those that are not.

use haft_edit::diff::Role;
use haft_edit::patch::{Action, Event, Fault, FilePatch, Kind, Parser, parse};

fn one(patch: &str) -> FilePatch {
    let patch = parse(patch).unwrap_or_else(|error| panic!("{error}"));
    let [file] = <[FilePatch; 1]>::try_from(patch.files).unwrap();
    file
}

/// The lines of all chunks, as they would be written.
fn chunks(file: &FilePatch) -> Vec<String> {
    let Kind::Update { chunks, .. } = &file.kind else { panic!("{file:?}") };
    let line = |line: &haft_edit::patch::PatchLine| format!("{}{}", line.role.sign(), line.text);
    chunks.iter().map(|chunk| chunk.lines.iter().map(line).collect::<Vec<_>>().join("|")).collect()
}

fn message(patch: &str) -> String {
    let message = parse(patch).unwrap_err().to_string();
    assert!(message.len() < 1024, "{message}");
    message
}

const UPDATE: &str = "*** Begin Patch\n*** Update File: a.rs\n@@\n x\n-y\n+z\n*** End Patch\n";

#[test]
fn an_envelope_adds_updates_moves_and_deletes() {
    let patch = parse(
        "*** Begin Patch\n*** Add File: new.txt\n+one\n+\n+two\n*** Update File: src/a.rs\n*** Move to: src/b.rs\n\
         @@ class A\n@@   def f\n before\n-old\n+new\n@@\n+end\n*** End of File\n*** Delete File: gone.txt\n*** End Patch",
    )
    .unwrap();
    let [add, update, delete] = patch.files.as_slice() else { panic!("{patch:?}") };
    assert_eq!(add.kind, Kind::Add { content: "one\n\ntwo\n".to_owned() });
    assert_eq!((delete.path.as_str(), &delete.kind), ("gone.txt", &Kind::Delete));
    assert_eq!(chunks(update), [" before|-old|+new", "+end"]);
    let Kind::Update { move_to, chunks } = &update.kind else { panic!() };
    assert_eq!(move_to.as_deref(), Some("src/b.rs"));
    assert_eq!(chunks[0].headers, ["class A", "  def f"]);
    assert_eq!(chunks[0].patch_line, 8);
    assert!(!chunks[0].at_end && chunks[1].at_end);
}

#[test]
fn wrappers_around_a_patch_are_no_part_of_it() {
    let expected = one(UPDATE).kind;
    let Kind::Update { chunks: expected, .. } = expected else { panic!() };
    for wrapped in [
        format!("apply_patch <<'EOF'\n{UPDATE}EOF\n"),
        format!("cat <<EOF | apply_patch\n{UPDATE}EOF"),
        format!("```\n{UPDATE}```\n"),
        format!("Here is the patch:\n\n```diff\n{UPDATE}```\nThat should do it.\n"),
        format!("\n\n  \n{UPDATE}\n\n"),
        UPDATE.replace('\n', "\r\n"),
        UPDATE.trim_end().to_owned(),
        UPDATE.replace("*** Begin Patch\n", ""),
    ] {
        let Kind::Update { chunks, .. } = one(&wrapped).kind else { panic!() };
        assert_eq!(chunks[0].lines, expected[0].lines, "{wrapped}");
    }
}

#[test]
fn a_unified_diff_is_taken_with_and_without_git_and_in_a_fence() {
    let hunk = "@@ -3,2 +3,2 @@ fn main\n x\n-y\n+z\n";
    for patch in [
        format!("--- a/a.rs\n+++ b/a.rs\n{hunk}"),
        format!("--- a.rs\t2024-01-01 00:00:00\n+++ a.rs\t2024-01-02 00:00:00\n{hunk}"),
        format!("--- a.rs.orig\n+++ a.rs\n{hunk}"),
        format!("diff --git a/a.rs b/a.rs\nindex 123..456 100644\n--- a/a.rs\n+++ b/a.rs\n{hunk}"),
        format!(
            "From 12\nSubject: x\n---\n a.rs | 2 +-\n\ndiff --git a/a.rs b/a.rs\n--- a/a.rs\n+++ b/a.rs\n{hunk}-- \n2.47.3\n"
        ),
        format!("```diff\n--- a/a.rs\n+++ b/a.rs\n{hunk}```\n"),
        format!("git apply <<'EOF'\n--- a/a.rs\n+++ b/a.rs\n{hunk}EOF\n"),
        format!("--- a/a.rs\n+++ b/a.rs\n{hunk}").replace('\n', "\r\n"),
        format!("--- \"a/a.rs\"\n+++ \"b/a.r\\163\"\n{hunk}"),
    ] {
        let file = one(&patch);
        assert_eq!(file.path, "a.rs", "{patch}");
        assert_eq!(chunks(&file), [" x|-y|+z"], "{patch}");
        let Kind::Update { chunks, .. } = &file.kind else { panic!() };
        assert_eq!(chunks[0].hint_line, Some(3));
    }
}

#[test]
fn git_lines_tell_of_new_deleted_moved_and_executable_files() {
    let patch = parse(
        "diff --git a/new b/new\nnew file mode 100755\n--- /dev/null\n+++ b/new\n@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n\
         diff --git a/empty b/empty\nnew file mode 100644\nindex 000..e69\n\
         diff --git a/gone b/gone\ndeleted file mode 100644\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n\
         diff --git a/from me b/to you\nsimilarity index 100%\nrename from from me\nrename to to you\n\
         diff --git a/run b/run\nold mode 100644\nnew mode 100755\n",
    )
    .unwrap();
    let [new, empty, gone, moved, run] = patch.files.as_slice() else { panic!("{patch:?}") };
    assert_eq!((&new.kind, new.mode), (&Kind::Add { content: "a\nb".to_owned() }, Some(0o755)));
    assert_eq!(
        (empty.path.as_str(), &empty.kind),
        ("empty", &Kind::Add { content: String::new() })
    );
    assert_eq!((gone.path.as_str(), &gone.kind), ("gone", &Kind::Delete));
    let rename = Kind::Update { move_to: Some("to you".to_owned()), chunks: Vec::new() };
    assert_eq!((moved.path.as_str(), &moved.kind), ("from me", &rename));
    assert_eq!((run.path.as_str(), run.mode), ("run", Some(0o755)));
}

#[test]
fn a_patch_without_its_end_is_cut_off_and_not_half_applied() {
    let cut = UPDATE.replace("*** End Patch\n", "");
    assert!(matches!(parse(&cut).unwrap_err().fault, Fault::CutOff { .. }));
    let message = message("--- a/a\n+++ b/a\n@@ -1,3 +1,3 @@\n x\n-y\n+z\n");
    assert_eq!(
        message,
        "line 6 of the patch (a, chunk 1): the patch is cut off: the last hunk's header promises 1 more old and 1 more new \
         lines. Send all of it again; nothing was applied"
    );
}

#[test]
fn wrong_counts_are_forgiven_where_the_hunk_is_surely_whole() {
    let patch =
        "```\n--- a/a\n+++ b/a\n@@ -1,9 +1,9 @@\n x\n-y\n+z\n@@ -20,1 +20,1 @@\n-b\n+c\n d\n```\n";
    assert_eq!(chunks(&one(patch)), [" x|-y|+z", "-b|+c| d"]);
}

#[test]
fn lines_that_look_like_markers_are_text_where_they_stand_as_text() {
    let patch = "*** Begin Patch\n*** Update File: a.md\n@@\n *** End Patch\n-*** Begin Patch\n+@@ x\n*** End Patch\n";
    assert_eq!(chunks(&one(patch)), [" *** End Patch|-*** Begin Patch|+@@ x"]);
    let sql = "--- a/a.sql\n+++ b/a.sql\n@@ -1,2 +1,2 @@\n--- old comment\n+++ new\n x\n";
    assert_eq!(chunks(&one(sql)), ["--- old comment|+++ new| x"]);
}

#[test]
fn context_may_lose_its_space_and_empty_lines_may_be_empty() {
    let patch = "*** Begin Patch\n*** Update File: a\n@@\nfn x() {\n\n-y\n+z\n\n*** End Patch\n";
    assert_eq!(chunks(&one(patch)), [" fn x() {| |-y|+z"]);
}

#[test]
fn chunks_of_a_file_that_is_named_twice_are_put_together() {
    let twice = "*** Begin Patch\n*** Update File: a\n-x\n+y\n*** Update File: b\n-x\n+y\n*** Update File: ./a\n-p\n+q\n*** End Patch";
    let patch = parse(twice).unwrap();
    assert_eq!(patch.files.len(), 2);
    assert_eq!(chunks(&patch.files[0]), ["-x|+y", "-p|+q"]);
}

#[test]
fn a_file_for_which_two_things_are_asked_is_refused() {
    let added = "*** Begin Patch\n*** Add File: a\n+x\n*** Update File: a\n-x\n+y\n*** End Patch";
    assert_eq!(
        message(added),
        "line 4 of the patch: a was already named on line 2, as a new file; write its final text there instead of updating it"
    );
    for patch in [
        "*** Begin Patch\n*** Delete File: a\n*** Add File: a\n+x\n*** End Patch",
        "*** Begin Patch\n*** Add File: b\n+x\n*** Update File: a\n*** Move to: ./b\n*** End Patch",
        "*** Begin Patch\n*** Update File: a\n*** Move to: b\n*** Update File: a\n*** Move to: c\n*** End Patch",
        "*** Begin Patch\n*** Add File: a\n+x\n*** Add File: a\n+x\n*** End Patch",
    ] {
        assert!(matches!(parse(patch).unwrap_err().fault, Fault::Twice { .. }), "{patch}");
    }
}

#[test]
fn a_move_onto_itself_and_a_swap_can_be_said() {
    let file = one("*** Begin Patch\n*** Update File: a\n*** Move to: a\n-x\n+y\n*** End Patch");
    assert!(matches!(file.kind, Kind::Update { move_to: Some(to), .. } if to == "a"));
    let swap = "*** Begin Patch\n*** Update File: a\n*** Move to: b\n*** Update File: b\n*** Move to: a\n*** End Patch";
    assert_eq!(parse(swap).unwrap().files.len(), 2);
}

#[test]
fn what_is_wrong_is_named_with_its_line_file_and_chunk() {
    let cases = [
        ("hello", "line 1 of the patch: there is no patch here"),
        ("*** Begin Patch\n*** End Patch", "line 2 of the patch: the patch names no file"),
        (
            "*** Begin Patch\nhello\n*** End Patch",
            "line 2 of the patch: found `hello`, but expected `*** Add File: PATH`",
        ),
        (
            "*** Begin Patch\n*** Add File: a\nhello\n*** End Patch",
            "line 3 of the patch (a): found `hello`, but expected a line of the new file",
        ),
        (
            "*** Begin Patch\n*** Update File: a\n*** End Patch",
            "line 3 of the patch (a): there is nothing to change in this file",
        ),
        (
            "*** Begin Patch\n*** Update File: a\n-x\n@@ f\n x\n*** End Patch",
            "line 6 of the patch (a, chunk 2): this chunk has no line",
        ),
        (
            "*** Begin Patch\n*** Update File: a\n-x\n*** Frobnicate\n*** End Patch",
            "line 4 of the patch (a, chunk 1): found `*** Frobnicate`",
        ),
        (
            "*** Begin Patch\n*** Update File:\n-x\n*** End Patch",
            "line 2 of the patch: found ``, but expected the path",
        ),
        (
            "@@ -1 +1 @@\n-x\n+y\n",
            "line 1 of the patch: found `@@ -1 +1 @@`, but expected the name of the file first",
        ),
        (
            "--- a/x\n+++ b/y\n@@ -1 +1 @@\n-x\n+y\n",
            "line 2 of the patch: found `a/x and b/y`, but expected the same file",
        ),
        (
            "diff --git a/x b/x\nGIT binary patch\n",
            "line 2 of the patch: binary patches are not taken",
        ),
        ("diff --git a/x b/x\nnew file mode 120000\n", "line 2 of the patch: links and submodules"),
        (
            "diff --git a/x b/y\ncopy from x\ncopy to y\n",
            "line 2 of the patch: a patch cannot copy",
        ),
        (
            "cd sub && apply_patch <<'EOF'\n*** Begin Patch\n",
            "line 1 of the patch: the patch is wrapped in a command that changes the folder",
        ),
        (
            "*** Begin Patch\n*** Update File: a\n-x\n*** End Patch\n*** Update File: b\n",
            "line 5 of the patch: found `*** Update File: b`, but expected nothing more",
        ),
    ];
    for (patch, start) in cases {
        let message = message(patch);
        assert!(message.starts_with(start), "{patch}\n{message}");
    }
}

#[test]
fn a_long_line_is_only_quoted_in_part() {
    let patch = format!("*** Begin Patch\n{}\n*** End Patch", "é".repeat(1_000_000));
    assert!(message(&patch).len() < 600);
}

#[test]
fn a_host_sees_files_and_lines_while_they_are_written() {
    let mut parser = Parser::new();
    let mut events = parser.push("*** Begin Patch\n*** Update File: a\n*** Move").unwrap();
    assert_eq!(events, [Event::File { path: "a".to_owned(), action: Action::Update }]);
    events = parser.push(" to: b\n@@ f\n-x\n+y").unwrap();
    let [Event::MoveTo { .. }, Event::Chunk { patch_line: 4 }, Event::Line(line)] =
        events.as_slice()
    else {
        panic!("{events:?}")
    };
    assert_eq!((line.role, line.text.as_str()), (Role::Removed, "x"));
    assert_eq!(parser.so_far().files.len(), 1);
    assert_eq!(parser.push("z\n*** End Patch").unwrap().len(), 1);
    assert_eq!(chunks(&parser.finish().unwrap().files[0]), ["-x|+yz"]);
}

#[test]
fn envelopes_that_follow_each_other_are_one_patch() {
    let two = format!("{UPDATE}\n{}", UPDATE.replace("a.rs", "b.rs"));
    let paths: Vec<String> = parse(&two).unwrap().files.into_iter().map(|file| file.path).collect();
    assert_eq!(paths, ["a.rs", "b.rs"]);
}

#[test]
fn carriage_returns_of_the_files_are_kept_when_the_patch_has_none_of_its_own() {
    let patch = "*** Begin Patch\n*** Update File: a\n@@\n-x\r\n+y\r\n*** End Patch\n";
    assert_eq!(chunks(&one(patch)), ["-x\r|+y\r"]);
}

#[test]
fn a_fence_inside_a_hunk_does_not_hide_the_rest_of_it() {
    let patch = "```diff\n--- a/a.md\n+++ b/a.md\n@@ -1,9 +1,9 @@\n-x\n```\n+y\n```\n";
    assert!(message(patch).contains("nothing more of the patch after its end"));
}
