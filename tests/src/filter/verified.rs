//! Files of rules through the kernel's verifier, and how many instructions it follows for each.

#![allow(clippy::print_stdout, reason = "a campaign prints what it measured")]

use filter::{File, Form, PROGRAM, compile};
use kernel::{LoadOptions, Object};

use super::language;
use super::seeded::Random;

/// Instructions that the verifier follows in one program at most.
pub const LIMIT: u32 = 1_000_000;

/// What a campaign found.
#[derive(Debug, Default)]
pub struct Campaign {
    pub files: u64,
    /// The most instructions that a file took, and its text.
    pub most: (u32, String),
    /// Files that were refused: text and error.
    pub refused: Vec<(String, String)>,
}

impl Campaign {
    /// Random files, each from a seed of its own; prints the instructions of each.
    pub fn run(seed: u64, files: u64) -> Self {
        let mut campaign = Self::default();
        for number in 0..files {
            let own = seed.wrapping_add(number).wrapping_mul(STEP) | 1;
            let (text, file) = language::random(&mut Random(own), MOST_RULES);
            let rules = file.ruleset.rules.len();
            match instructions(&file, Form::Fast) {
                Ok(count) => {
                    println!("seed {}: {rules} rules, {count} instructions", seed + number);
                    campaign.add(count, text);
                }
                Err(error) => campaign.refused.push((text, error)),
            }
            campaign.files += 1;
        }
        campaign
    }

    /// Adds a file that was accepted.
    pub fn add(&mut self, count: u32, text: String) {
        if count > self.most.0 {
            self.most = (count, text);
        }
    }

    /// # Panics
    /// If a file was refused, or came close to the verifier's limit.
    pub fn assert_accepted(&self) {
        println!("{} files; most instructions: {} of\n{}", self.files, self.most.0, self.most.1);
        for (text, error) in &self.refused {
            println!("{error}\n{text}");
        }
        assert_eq!(self.refused.len(), 0, "files were refused");
        assert!(self.most.0 < LIMIT / 10 * 9, "{} instructions:\n{}", self.most.0, self.most.1);
    }
}

/// Instructions that the kernel's verifier follows for a file.
///
/// # Errors
/// The file cannot be compiled, or the kernel refuses its program.
pub fn instructions(file: &File, form: Form) -> Result<u32, String> {
    let environment = language::environment(form);
    let compiled = compile(&file.ruleset, &environment).map_err(|error| error.to_string())?;
    let programs = Some(vec![PROGRAM.to_owned()]);
    let options = LoadOptions { programs, ..LoadOptions::default() };
    let object = Object::load(&compiled.spec, &options).map_err(|error| error.to_string())?;
    let info = object.programs()[0].info().map_err(|error| error.to_string())?;
    Ok(info.verified_insns)
}

/// Rules in a random file.
const MOST_RULES: u64 = 32;
/// Spreads seeds that follow each other: 2^64 divided by the golden ratio.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
