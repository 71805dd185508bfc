//! Assembly text.

use spec::asm::source;
use spec::asm::text::parse_code;
use spec::disasm::{self, Plain};
use spec::{Insn, Spec};

/// An error with its line, or instructions whose listing reads back as instructions with the same
/// listing.
pub fn text(bytes: &[u8]) {
    let Some(text) = super::text(bytes) else { return };
    object(text);
    let Ok(code) = parse_code(text) else { return };
    let listed = listing(&code.insns);
    // Unknown codes have no notation, so their listing is not read back.
    let Ok(again) = parse_code(&listed.join("\n")) else { return };
    assert_eq!(listing(&again.insns), listed);
}

/// An error, or an object that is read, and whose source, if it has one, is read as well.
fn object(text: &str) {
    let assembled = source::assemble("fuzz.s", text).map(|object| Spec::parse("fuzz.o", &object));
    let Ok(Ok(spec)) = assembled else { return };
    if let Ok(printed) = disasm::source(&spec) {
        let _ = source::assemble("again.s", &printed);
    }
}

fn listing(insns: &[Insn]) -> Vec<String> {
    disasm::slots(insns).map(|slot| disasm::insn(insns, slot, &Plain)).collect()
}
