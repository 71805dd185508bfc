//! Function and line tables as `bpf(PROG_LOAD)` takes them.

use spec::Program;

/// `struct bpf_func_info` records; empty when a function has no type, since the kernel wants all
/// or none.
pub(super) fn functions(program: &Program) -> Vec<u8> {
    let complete = !program.functions.is_empty()
        && program.functions.iter().all(|function| function.type_id != 0);
    if !complete {
        return Vec::new();
    }
    let words = program.functions.iter().map(|function| [function.slot as u32, function.type_id]);
    words.flatten().flat_map(u32::to_ne_bytes).collect()
}

/// `struct bpf_line_info` records; empty when a function does not begin with a line, which the
/// kernel refuses.
pub(super) fn lines(program: &Program) -> Vec<u8> {
    let begins = |slot| program.lines.binary_search_by_key(&slot, |line| line.slot).is_ok();
    if program.functions.is_empty() || !program.functions.iter().all(|one| begins(one.slot)) {
        return Vec::new();
    }
    let words = program.lines.iter().map(|line| {
        [line.slot as u32, line.file, line.text, line.line << 10 | line.column & 0x3ff]
    });
    words.flatten().flat_map(u32::to_ne_bytes).collect()
}

#[cfg(test)]
mod tests {
    use spec::{Function, Line};

    use super::*;

    #[test]
    fn tables_are_whole_or_left_out() {
        let mut program = Program {
            functions: vec![Function { slot: 0, type_id: 3, ..Default::default() }],
            lines: vec![Line { slot: 0, file: 1, text: 2, line: 7, column: 5 }],
            ..Default::default()
        };
        assert_eq!(functions(&program), [0, 0, 0, 0, 3, 0, 0, 0]);
        assert_eq!(lines(&program)[12..], (7u32 << 10 | 5).to_ne_bytes());
        program.functions.push(Function { slot: 4, type_id: 0, ..Default::default() });
        assert!(functions(&program).is_empty(), "a function without a type");
        assert!(lines(&program).is_empty(), "a function without a first line");
    }
}
