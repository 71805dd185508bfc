//! What to do about the verifier's commonest messages. A table: parts of a message, advice.

/// Advice for a message that contains all parts of one row; the first row wins.
pub(super) fn of(message: &str) -> Option<&'static str> {
    TABLE
        .iter()
        .find(|(parts, _)| parts.iter().all(|part| message.contains(part)))
        .map(|(_, advice)| *advice)
}

#[rustfmt::skip]
const TABLE: &[(&[&str], &str)] = &[
    (&["invalid access to packet"],
     "compare the end of what is read with data_end first, and read only on the safe branch"),
    (&["offset is outside of the packet"],
     "compare the end of what is read with data_end first, and read only on the safe branch"),
    (&["map_value_or_null"],
     "the lookup may find nothing: check its result for NULL before using it"),
    (&["mem_or_null"],
     "check the pointer for NULL before using it"),
    (&["invalid mem access", "or_null"],
     "check the pointer for NULL before using it"),
    (&["invalid mem access 'scalar'"],
     "this is a number, not a pointer: a pointer was lost in arithmetic, was never checked for \
      NULL, or became invalid by a helper that moves the packet"),
    (&["invalid mem access 'inv'"],
     "this is a number, not a pointer: a pointer was lost in arithmetic, was never checked for \
      NULL, or became invalid by a helper that moves the packet"),
    (&["invalid access to map value"],
     "bound the index with a comparison or a mask so that it remains within the value"),
    (&["unbounded memory access"],
     "bound the length or index by a constant before using it"),
    (&["min value is negative"],
     "make the offset unsigned, or check that it is not negative"),
    (&["unbounded min value"],
     "make the offset unsigned, or check that it is not negative"),
    (&["unknown func"],
     "this kernel has no such helper: see `xway doctor` for those that it has"),
    (&["invalid func"],
     "this kernel has no such helper: see `xway doctor` for those that it has"),
    (&["cannot use helper"],
     "this kernel does not offer that helper to programs of this type"),
    (&["GPL"],
     "declare a GPL-compatible license: char _license[] SEC(\"license\") = \"Dual MIT/GPL\""),
    (&["kernel function", "not allowed"],
     "this kernel does not offer that function to programs of this type"),
    (&["must be sleepable"],
     "this function may sleep, and packet programs must not: call it from SEC(\"syscall\")"),
    (&["too large. Processed"],
     "the verifier gave up after a million steps: make loops shorter, use bpf_loop(), or move \
      parts into global functions, which are verified once"),
    (&["too complex"],
     "too many branches: make loops shorter, or move parts into global functions"),
    (&["metadata kfuncs require device-bound"],
     "load the program for its device: it reads metadata that only that driver has"),
    (&["infinite loop"],
     "the loop has no bound that the verifier can see: count it down from a constant"),
    (&["back-edge"],
     "this kernel takes no loops here: unroll it, or count it down from a constant"),
    (&["unreachable insn"],
     "the function can be left without a return, or code follows the last one"),
    (&["combined stack size"],
     "functions that call each other share 512 bytes of stack: move big variables into a per-CPU \
      array"),
    (&["stack", "exceeds"],
     "at most 512 bytes of stack: move big variables into a per-CPU array"),
    (&["invalid", "stack"],
     "access only the variable on the stack, and set it before a helper reads it"),
    (&["!read_ok"],
     "the register was never set on this path; helper calls clear r1 to r5"),
    (&["R0", "not a scalar"],
     "return one of the XDP verdicts, not a pointer"),
    (&["Unreleased reference"],
     "release what was acquired (socket, ring buffer record, connection) on every path"),
    (&["invalid bpf_context access"],
     "this field of the context cannot be read or written by programs of this type"),
    (&["misaligned"],
     "read at a multiple of the size, or copy byte by byte"),
    (&["pointer comparison prohibited"],
     "compare packet pointers only with data_end; with CAP_PERFMON others are allowed, too"),
    (&["dereference of modified ctx"],
     "read the context at constant offsets only"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_fits_the_message() {
        let table = [
            ("invalid access to packet, off=12 size=1, R1(id=0,off=12,r=0)", Some("data_end")),
            ("R0 invalid mem access 'map_value_or_null'", Some("NULL")),
            ("R1 invalid mem access 'scalar'", Some("number")),
            ("unknown func bpf_nope#999", Some("helper")),
            ("BPF program is too large. Processed 1000001 insn", Some("million")),
            ("back-edge from insn 5 to 2", Some("loops")),
            ("combined stack size of 2 calls is 576. Too large", Some("512")),
            ("R0 !read_ok", Some("never set")),
            ("an unknown message", None),
        ];
        for (message, word) in table {
            let advice = of(message);
            assert_eq!(advice.is_some(), word.is_some(), "{message}");
            let fits = word.is_none_or(|word| advice.unwrap_or_default().contains(word));
            assert!(fits, "{message}: {advice:?}");
        }
    }
}
