//! Files that are not BPF objects, and damaged ones: each error names the cause and its position.

use spec::Spec;

use crate::bytes;

fn error(bytes: &[u8]) -> String {
    Spec::parse("x.o", bytes).unwrap_err().to_string()
}

/// A copy with some bytes overwritten.
fn with(at: usize, new: &[u8]) -> Vec<u8> {
    let mut bytes = bytes("paper_count.o");
    bytes[at..at + new.len()].copy_from_slice(new);
    bytes
}

#[test]
fn other_files_are_named() {
    let build = "build it with `clang --target=bpf -O2 -g -c`";
    let table: [(&[u8], String); 9] = [
        (b"", format!("x.o: not an ELF file: it starts with nothing, it is empty; {build}")),
        (b"#!/bin/sh", format!("x.o: not an ELF file: it starts with `#!/bin/s`; {build}")),
        (
            &[0, 1, 2, 3],
            format!("x.o: not an ELF file: it starts with the bytes 00 01 02 03; {build}"),
        ),
        (
            b"\x7fELF",
            "x.o: offset 0x4: ends inside the ELF header; \
             the file is damaged or truncated: copy or build it again"
                .into(),
        ),
        (
            &with(5, &[2]),
            "x.o: big-endian object; rebuild it with `--target=bpfel` for this machine".into(),
        ),
        (
            &with(18, &[62, 0]),
            "x.o: made for ELF machine 62, not for BPF (247); rebuild it with `--target=bpf`"
                .into(),
        ),
        (
            &with(4, &[1]),
            "x.o: a 32-bit ELF file instead of a 64-bit relocatable object; \
             compile with `clang -c`"
                .into(),
        ),
        (
            &with(16, &[3, 0]),
            "x.o: a linked program or library instead of a 64-bit relocatable object; \
             compile with `clang -c`"
                .into(),
        ),
        (
            &with(16, &[9, 0]),
            "x.o: an ELF file of type 9 instead of a 64-bit relocatable object; \
             compile with `clang -c`"
                .into(),
        ),
    ];
    for (bytes, wanted) in table {
        assert_eq!(error(bytes), wanted);
    }
    assert!(Spec::parse("x.o", &with(18, &[0, 0])).is_ok(), "the oldest compilers");
}

#[test]
fn a_cut_object_is_damaged() {
    let whole = bytes("paper_count.o");
    for len in (64..whole.len()).step_by(64) {
        let error = error(&whole[..len]);
        assert!(error.ends_with("copy or build it again"), "{len}: {error}");
    }
}

#[test]
fn a_cut_instruction_is_found() {
    let mut bytes = bytes("talk_drop.o");
    let (header, size) = section(&bytes, "xdp1");
    let at = header + 32;
    bytes[at..at + 8].copy_from_slice(&(size - 3).to_le_bytes());
    let wanted = format!("x.o: section `xdp1`, offset {:#x}: ends inside an instruction", size - 3);
    assert!(error(&bytes).starts_with(&wanted), "{}", error(&bytes));
}

#[test]
fn huge_sections_cost_nothing() {
    let mut bytes = bytes("globals.o");
    let (header, _) = section(&bytes, ".bss");
    bytes[header + 32..header + 40].copy_from_slice(&(1u64 << 40).to_le_bytes());
    let wanted = "x.o: section `.bss`: too big: 1099511627776 bytes of variables, \
                  at most 67108864 are taken";
    assert_eq!(error(&bytes), wanted);
}

/// Where a section's header stands, and its size.
fn section(bytes: &[u8], wanted: &str) -> (usize, u64) {
    let long = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    let half = |at: usize| usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]));
    let (table, count, names) = (long(40) as usize, half(60), half(62));
    let strings = long(table + names * 64 + 24) as usize;
    for header in (0..count).map(|number| table + number * 64) {
        let name = u32::from_le_bytes(bytes[header..header + 4].try_into().unwrap()) as usize;
        if bytes[strings + name..].starts_with(&[wanted.as_bytes(), b"\0"].concat()) {
            return (header, long(header + 32));
        }
    }
    panic!("no section {wanted}")
}
