//! The page, figures and summary of a made-up run, with everything that a run can have: `cargo run
//! -p xway-report --example run_page -- FOLDER`. Check it after each change of the design.

use std::path::Path;

#[path = "../tests/made_up/mod.rs"]
mod made_up;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).ok_or("usage: run_page FOLDER")?;
    let folder = Path::new(&folder);
    std::fs::create_dir_all(folder)?;
    let run = made_up::run()?;
    for (name, figure) in run.figures() {
        std::fs::write(folder.join(name).with_extension("svg"), figure.as_str())?;
    }
    std::fs::write(folder.join("report.html"), run.page().to_html())?;
    std::fs::write(folder.join("summary.md"), run.summary())?;
    Ok(())
}
