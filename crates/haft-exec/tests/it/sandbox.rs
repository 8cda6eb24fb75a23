//! What a confined command can do, and what is said of its layers.

use std::path::Path;

use haft_exec::sandbox::Protected;
use haft_exec::sandbox::layers::Layer;
use haft_exec::{Confinement, Exit, Sandbox};

use crate::world::{folder, keeper, run, script_in};

/// A confinement that the kernel can hold in full; without it, the test is skipped.
pub(crate) async fn full(test: &str) -> Option<Confinement> {
    let mut command = script_in("true", Path::new("/"));
    let confinement = Confinement::read_only();
    command.sandbox = Sandbox::Confined(confinement.clone());
    match keeper().spawn(&command).await {
        Ok(_) => Some(confinement),
        Err(error) => {
            eprintln!("SKIP {test}: {error}");
            None
        }
    }
}

#[tokio::test]
async fn a_workspace_can_be_written_and_nothing_else() {
    let (_guard, work) = folder();
    let (_other, outside) = folder();
    let text = format!(
        "echo in > in; echo tmp > /tmp/x && cat /tmp/x; echo out > {}/out",
        outside.display()
    );
    let mut command = script_in(&text, &work);
    let mut confinement = Confinement::workspace([work.clone()]);
    confinement.protected = vec![Protected::file(work.join("haft.toml"))];
    command.sandbox = Sandbox::Confined(confinement);
    let keeper = keeper();
    let mut process = keeper.spawn(&command).await.unwrap();
    eprintln!("{}", process.layers());
    for layer in Layer::ALL {
        assert!(process.layers().has(layer), "{layer:?}");
    }
    let done = crate::world::finish(&mut process, haft_exec::Patience::default()).await;
    assert_eq!(done.exit(), Exit::Code(1), "{}", done.said);
    assert!(done.said.starts_with("tmp\n"), "{}", done.said);
    assert_eq!(fs_err::read_to_string(work.join("in")).unwrap(), "in\n");
    assert!(!outside.join("out").exists());
    let done = run(&keeper, &command).await;
    eprintln!("{:?} {}", done.ended, done.said);
}
