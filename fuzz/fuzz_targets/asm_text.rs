//! Any text as assembly: an error with its line, or instructions whose listing reads back as
//! instructions with the same listing.
//!
//! `cargo +nightly fuzz run asm_text`
#![no_main]

use libfuzzer_sys::fuzz_target;
use spec::Insn;
use spec::asm::text::parse_code;
use spec::disasm::{self, Plain};

fuzz_target!(|text: &str| {
    let Ok(code) = parse_code(text) else { return };
    let listed = listing(&code.insns);
    // What no notation says (an unknown code) is shown in a way that is not read back.
    let Ok(again) = parse_code(&listed.join("\n")) else { return };
    assert_eq!(listing(&again.insns), listed);
});

fn listing(insns: &[Insn]) -> Vec<String> {
    disasm::slots(insns).map(|slot| disasm::insn(insns, slot, &Plain)).collect()
}
