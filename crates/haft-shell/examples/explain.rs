//! Shows what a script would do: `cargo run -p haft-shell --example explain -- 'cd src && rm -f *.o'`.
#![allow(clippy::print_stdout, reason = "it is there to show something")]

use std::path::Path;

use haft_shell::{Setting, analyse};

fn main() {
    for script in std::env::args().skip(1) {
        let setting =
            Setting { home: Some(Path::new("/home/user")), ..Setting::new(Path::new("/project")) };
        let analysis = analyse(&script, &setting);
        println!("{script}");
        for effect in &analysis.effects {
            println!("    {effect}");
        }
        for doubt in &analysis.doubts {
            println!("    ? {doubt}");
        }
    }
}
