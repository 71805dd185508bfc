//! What is refused: where, what stands there, what was expected.

use crate::asm::source::{Error, assemble};

/// Source, line, column, token, and words of what was expected.
const TABLE: &[(&str, usize, usize, &str, &str)] = &[
    (".sect xdp", 1, 1, ".sect", "a directive such as .section"),
    ("a: exit\n\na: exit", 3, 1, "a", "a new label: this one is in line 1"),
    ("r1: exit", 1, 1, "r1", "a name that is not one of a register"),
    ("goto b\n.data\nb: .long 1", 1, 6, "b", "a label of this section"),
    ("goto b", 1, 6, "b", "a label of this section"),
    ("exit\n.long 1", 2, 7, "1", "an instruction: this section contains code"),
    (".long 1\nexit", 2, 1, "exit", "data: this section contains bytes"),
    (".data\n.byte 256", 2, 7, "256", "a number of 1 bytes"),
    (".data\n.short -32769", 2, 8, "-", "a number of 2 bytes"),
    (".data\nx: .byte x", 2, 10, "x", "a number: addresses need 4 or 8 bytes"),
    (".data\n.long .", 2, 7, ".", "a distance such as `.-name`"),
    (".data\n.quad y", 2, 7, "y", "a symbol of this source"),
    (".data\n.long a-b", 2, 7, "a", "a label of this source"),
    (".data\na: .long a-b\n.bss\nb: .zero 1", 2, 12, "b", "a label of the same section"),
    (".data\n.ascii \"\\q\"", 2, 8, "\"\\q\"", "escapes out of"),
    (".data\n.ascii \"open", 2, 8, "\"open", "text in quotes"),
    (".data\n.zero 4294967295", 2, 7, "4294967295", "a section of at most"),
    (".bss\n.long 1", 2, 7, "1", "zero: the file holds no bytes"),
    (".section xdp,\"az\"", 1, 14, "\"az\"", "flags out of a, w, x, M and S"),
    (".section xdp,\"ax\",@note", 1, 19, "@note", "@progbits or @nobits"),
    (".data\n.p2align 13", 2, 10, "13", "an alignment of at most 4096 bytes"),
    (".type f,@thing", 1, 9, "@thing", "@function, @object or @notype"),
    (".license GPL", 1, 10, "GPL", "a license in quotes"),
    (".map m hashes key=4", 1, 8, "hashes", "a type of maps"),
    (".map m hash keys=4", 1, 13, "keys", "key=, value="),
    (".map m hash key=4\n.map m hash", 2, 6, "m", "a new name: this one is in line 1"),
    (".map m array_of_maps key=4", 1, 27, "", "inner=(…)"),
    (".map m hash key=4\n.values m 0=x", 2, 9, "m", "if its values are programs or maps"),
    (".map m prog_array entries=2\n.values m 2=x", 2, 11, "2", "a number up to 1"),
    (".map m prog_array entries=2\n.values m 1=x 0=x", 2, 15, "0", "an index above those before"),
    ("exit\nr1 = foo ll", 2, 1, "foo", "a label, map or helper"),
    ("call foo", 1, 1, "foo", "a label, map or helper"),
    ("r1 = map[m]", 1, 1, "m", "the name of a map"),
    ("r1 = map[.data][0]+4", 1, 1, ".data", "the name of a section with data"),
];

#[test]
fn mistakes_name_their_place() {
    let mut wrong = Vec::new();
    for (text, line, column, token, expected) in TABLE {
        let error = match assemble("x.s", text) {
            Err(Error::Text(error)) => error,
            other => panic!("{text}: {other:?}"),
        };
        let place = (error.line, error.column, error.token.as_str());
        if place != (*line, *column, *token) || !error.expected.contains(expected) {
            wrong.push(format!("{text:?}: {error}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
