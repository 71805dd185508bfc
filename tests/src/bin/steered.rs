//! `steered INTERFACE QUEUE [RULE…]`: a process with a steered socket, for tests of what happens
//! to it.
//!
//! Prints `ready SLOT` or `error TEXT`; answers each line with the packets that its socket was
//! given; ends with its input.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a tool for tests")]
#![allow(clippy::print_stdout)]

use std::io::BufRead;

use xsk::steer::{Mode, Options, Steer};
use xway_tests::steered::Steered;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [interface, queue, rules @ ..] = &words[..] else { panic!("steered INTERFACE QUEUE") };
    let steer = match rules {
        [] => Steer::All,
        rules => Steer::Rules(rules.iter().map(|rule| rule.parse().unwrap()).collect()),
    };
    let how = (Mode::Auto, Options::default());
    let steered = match Steered::open(interface, queue.parse().unwrap(), &steer, how) {
        Ok(steered) => steered,
        Err(error) => return println!("error {}", error.to_string().replace('\n', " ")),
    };
    println!("ready {}", steered.steering.first_slot());
    for _ in std::io::stdin().lock().lines() {
        println!("{}", steered.count());
    }
}
