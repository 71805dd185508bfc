//! Any text is answered, and whatever the disassembler prints is its own meaning.

use proptest::prelude::*;

use crate::asm::text::{parse, parse_code};
use crate::disasm::{Plain, insn};
use crate::insn::{CLASS_ALU, CLASS_ALU64, END, FROM_REG, Insn, NEG};

/// Words and signs of both notations, so that chance gets past the first token.
const PIECES: &[&str] = &[
    "r1",
    "%r2",
    "w3",
    "r10",
    "mov",
    "add32",
    "jeq",
    "if",
    "goto",
    "gotol",
    "call",
    "local",
    "exit",
    "lock",
    "fetch",
    "cmpxchg",
    "ldxw",
    "stxdw",
    "lddw",
    "map[",
    "map[fd:1]",
    "subprog[f]",
    "]",
    "[0]",
    "(",
    ")",
    "*",
    "(u32 *)",
    "(s8)",
    "=",
    "+=",
    "s>>=",
    "==",
    "s<",
    "+",
    "-",
    "5",
    "0x",
    "0xffffffff",
    "99999999999999999999",
    ",",
    ":",
    "#",
    "\n",
    "pc+3",
    "f",
    "f:",
    "<",
    "ll",
    "é",
    "(b7)",
    "load_acquire",
    "atomic_fetch_add",
    "skb[",
    "\"",
    "\0",
    "%",
    "&",
];

/// The disassembler shows these as the kernel's does, with what makes them invalid left out.
fn is_sayable(insn: Insn) -> bool {
    let from_register = insn.code & FROM_REG != 0;
    match (insn.class(), insn.code & 0xf0) {
        (CLASS_ALU | CLASS_ALU64, NEG) => !from_register,
        (class @ (CLASS_ALU | CLASS_ALU64), END) => {
            matches!(insn.imm, 16 | 32 | 64) && !(class == CLASS_ALU64 && from_register)
        }
        _ => true,
    }
}

proptest! {
    #[test]
    fn any_text_is_answered(text in any::<String>()) {
        let _ = parse_code(&text);
    }

    #[test]
    fn any_pieces_are_answered(
        pieces in proptest::collection::vec(proptest::sample::select(PIECES), 0..30),
        glue in proptest::sample::select(&["", " "][..]),
    ) {
        let text = pieces.join(glue);
        if let Err(error) = parse_code(&text) {
            let line = text.lines().nth(error.line - 1).unwrap_or_default();
            prop_assert!(error.column <= line.chars().count() + 1, "{error} in {text:?}");
            let from: String = line.chars().skip(error.column - 1).collect();
            prop_assert!(from.starts_with(&error.token), "{error} in {text:?}");
        }
    }

    /// A text that was printed reads back as an instruction that prints the same.
    #[test]
    fn printed_text_is_read_as_it_was_meant(raw in any::<[u8; 8]>(), high in any::<i32>()) {
        let insns = [Insn::from_bytes(raw), Insn::new(0, 0, 0, 0, high)];
        let text = insn(&insns, 0, &Plain);
        if is_sayable(insns[0]) && !text.starts_with("BUG") {
            let back = parse(&text).map_err(|e| TestCaseError::fail(format!("{text}: {e}")))?;
            prop_assert_eq!(insn(&back, 0, &Plain), text);
        }
    }
}

/// Every code with every register form: chance seldom meets the rarer ones.
#[test]
fn every_code_that_prints_reads_back() {
    let immediates = [0, 1, 8, 16, 32, 64, 0x40, 0x41, 0xa1, 0xe1, 0xf1, 0x100, 0x110, -1];
    let mut read = 0;
    for code in 0..=u8::MAX {
        for (src, off) in [(0, 0), (1, 1), (2, 8), (4, -1), (0, 16), (1, 32)] {
            for imm in immediates {
                let insns = [Insn::new(code, 3, src, off, imm), Insn::new(0, 0, 0, 0, 5)];
                let text = insn(&insns, 0, &Plain);
                if text.starts_with("BUG") || !is_sayable(insns[0]) {
                    continue;
                }
                let back = parse(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
                assert_eq!(insn(&back, 0, &Plain), text, "{:?}", insns[0]);
                read += 1;
            }
        }
    }
    assert!(read > 10_000, "{read}");
}
