//! `xway`: puts the pieces together; alone chooses a runtime, prints and exits.
#![forbid(unsafe_code)]

mod args;

use clap::Parser;

fn main() {
    let cli = args::Cli::parse();
    println!("{cli:?}");
}
