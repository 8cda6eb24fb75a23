//! Paths as models write them, and where they lead.

use std::os::unix::fs::symlink;

use proptest::prelude::*;

use super::*;

struct World {
    _dir: tempfile::TempDir,
    base: PathBuf,
    workspace: Workspace,
}

impl World {
    /// `W/src/a.rs` inside; `O/secret` outside; `H` is home.
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let base = fs_err::canonicalize(dir.path()).unwrap();
        for folder in ["W/src", "O", "H"] {
            fs_err::create_dir_all(base.join(folder)).unwrap();
        }
        for file in ["W/src/a.rs", "O/secret", "H/x"] {
            fs_err::write(base.join(file), "").unwrap();
        }
        let workspace = Workspace::open(&base.join("W"), Some(base.join("H"))).unwrap();
        Self { _dir: dir, base, workspace }
    }

    /// Where it leads, as `inside:…`, `outside:…`, with `?` where nothing is.
    fn leads(&self, given: &str) -> String {
        let place = match self.workspace.locate(given) {
            Ok(place) => place,
            Err(error) => return error.to_string(),
        };
        let mark = if place.exists { "" } else { "?" };
        match &place.inside {
            Some(inside) => format!("inside:{}{mark}", inside.display()),
            None => {
                let path = place.path.strip_prefix(&self.base).unwrap_or(&place.path);
                format!("outside:{}{mark}", path.display())
            }
        }
    }
}

#[test]
fn every_way_of_writing_a_path_leads_to_the_same_place() {
    let world = World::new();
    let absolute = world.base.join("W/src/a.rs").display().to_string();
    let url = format!("file://{absolute}");
    let local = format!("file://localhost{absolute}");
    let forms = [
        "src/a.rs",
        "./src/a.rs",
        "src//a.rs",
        "src/./a.rs",
        "src/../src/a.rs",
        "@src/a.rs",
        "src/a.rs\n",
        &absolute,
        &url,
        &local,
    ];
    for form in forms {
        assert_eq!(world.leads(form), "inside:src/a.rs", "{form}");
    }
    assert_eq!(world.leads("file:///etc/a%20b"), "outside:/etc/a b?");
    assert_eq!(world.leads("~/x"), "outside:H/x");
    assert_eq!(world.leads("~"), "outside:H");
    assert_eq!(world.leads("."), "inside:");
    assert_eq!(world.leads("~x"), "inside:~x?");
}

#[test]
fn a_name_that_really_begins_with_an_at_sign_is_that_name() {
    let world = World::new();
    fs_err::write(world.base.join("W/@types"), "").unwrap();
    assert_eq!(world.leads("@types"), "inside:@types");
}

#[test]
fn links_are_followed_to_where_they_lead_also_to_what_is_not_there() {
    let world = World::new();
    let base = &world.base;
    symlink(base.join("O/secret"), base.join("W/link")).unwrap();
    symlink("link", base.join("W/chain")).unwrap();
    symlink("../O", base.join("W/out")).unwrap();
    symlink(base.join("O/new"), base.join("W/dangling")).unwrap();
    symlink("loop2", base.join("W/loop1")).unwrap();
    symlink("loop1", base.join("W/loop2")).unwrap();
    symlink("dangling/deeper", base.join("W/far")).unwrap();
    assert_eq!(world.leads("link"), "outside:O/secret");
    assert_eq!(world.leads("chain"), "outside:O/secret");
    assert_eq!(world.leads("out/secret"), "outside:O/secret");
    assert_eq!(world.leads("out/not/yet"), "outside:O/not/yet?");
    assert_eq!(world.leads("out/../W/src/a.rs"), "inside:src/a.rs");
    assert_eq!(world.leads("dangling"), "outside:O/new?");
    assert_eq!(world.leads("far"), "outside:O/new/deeper?");
    assert!(world.leads("loop1").contains("cannot be reached"), "{}", world.leads("loop1"));
}

#[test]
fn what_only_looks_inside_is_outside() {
    let world = World::new();
    fs_err::create_dir(world.base.join("W2")).unwrap();
    fs_err::write(world.base.join("W2/x"), "").unwrap();
    assert_eq!(world.leads("../W2/x"), "outside:W2/x", "a prefix is not a parent");
    assert_eq!(world.leads("../O/secret"), "outside:O/secret");
    assert_eq!(world.leads("/proc/self/root/etc/passwd"), "outside:/etc/passwd");
    assert_eq!(world.leads("src/../../O/secret"), "outside:O/secret");
    let back = world.leads("missing/../../O/secret");
    assert!(back.contains("cannot be reached"), "what is not there has no way back: {back}");
}

#[test]
fn a_workspace_behind_a_link_has_one_name() {
    let world = World::new();
    symlink(world.base.join("W"), world.base.join("alias")).unwrap();
    let workspace = Workspace::open(&world.base.join("alias"), None).unwrap();
    let place = workspace.locate(&world.base.join("alias/src/a.rs").display().to_string()).unwrap();
    assert_eq!(place.path, world.base.join("W/src/a.rs"));
    assert_eq!(place.shown(), "src/a.rs");
}

#[test]
fn a_workspace_that_is_the_whole_machine_encloses_nothing() {
    let workspace = Workspace::open(Path::new("/"), None).unwrap();
    assert_eq!(workspace.locate("/etc/passwd").unwrap().inside, None);
}

#[test]
fn names_that_look_the_same_are_found_and_ambiguous_ones_are_not() {
    let world = World::new();
    fs_err::write(world.base.join("W/Screenshot 1.23\u{202f}PM.png"), "").unwrap();
    fs_err::write(world.base.join("W/cafe\u{301}.txt"), "").unwrap();
    fs_err::write(world.base.join("W/Bob\u{2019}s.txt"), "").unwrap();
    assert_eq!(world.leads("Screenshot 1.23 PM.png"), "inside:Screenshot 1.23\u{202f}PM.png");
    assert_eq!(world.leads("café.txt"), "inside:cafe\u{301}.txt");
    assert_eq!(world.leads("Bob's.txt"), "inside:Bob\u{2019}s.txt");
    fs_err::write(world.base.join("W/Bob\u{2018}s.txt"), "").unwrap();
    assert_eq!(world.leads("Bob's.txt"), "inside:Bob's.txt?");
}

#[test]
fn what_cannot_be_a_path_is_refused_in_a_few_words() {
    let world = World::new();
    let long = "x/".repeat(3000);
    let name = "y".repeat(256);
    for bad in ["", "\n", "a\0b", &long, &name, "file://elsewhere/x", "file:///a%00b"] {
        let says = world.leads(bad);
        assert!(says.contains("is not a path") && says.len() < 700, "{says}");
    }
}

proptest! {
    #[test]
    fn no_text_panics_and_what_is_located_stays_where_it_is(given in "[a-zäW./~@ \\\\:%\\n-]{0,40}") {
        let world = World::new();
        if let Ok(place) = world.workspace.locate(&given) {
            prop_assert!(place.path.is_absolute());
            // Such a name has to be there to be meant.
            prop_assume!(!place.path.to_string_lossy().ends_with('\n'));
            let again = world.workspace.locate(&place.path.display().to_string()).unwrap();
            prop_assert_eq!(again, place);
        }
    }
}
