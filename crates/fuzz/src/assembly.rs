//! Assembly text.

use spec::Insn;
use spec::asm::text::parse_code;
use spec::disasm::{self, Plain};

/// An error with its line, or instructions whose listing reads back as instructions with the same
/// listing.
pub fn text(bytes: &[u8]) {
    let Some(text) = super::text(bytes) else { return };
    let Ok(code) = parse_code(text) else { return };
    let listed = listing(&code.insns);
    // Unknown codes have no notation, so their listing is not read back.
    let Ok(again) = parse_code(&listed.join("\n")) else { return };
    assert_eq!(listing(&again.insns), listed);
}

fn listing(insns: &[Insn]) -> Vec<String> {
    disasm::slots(insns).map(|slot| disasm::insn(insns, slot, &Plain)).collect()
}
