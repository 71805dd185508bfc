//! The text of a case that walks through a table in its memory.
//!
//! Operands and expected values are in memory, where no verifier or compiler can compute with
//! them beforehand. r0 is the number of the first row that is wrong, or 0.

use std::fmt::Write;

/// What a body finds in registers: r8 points at the first operand, r9 at the second if there
/// are two lists, r6 at what is expected. It may use r0 and r3 to r5 and jump to `wrong`.
pub struct Body {
    /// One instruction or label a line.
    pub text: String,
    /// Bytes that it expects in each row.
    pub row: usize,
}

impl Body {
    /// `operation` changes r3, which starts as the first operand and must end as expected.
    pub fn value(operation: &str) -> Self {
        let text =
            format!("ldxdw %r3, [%r8+0]\n{operation}\nldxdw %r5, [%r6+0]\njne %r3, %r5, wrong\n");
        Self { text, row: 8 }
    }
}

/// A case for every list of `first` with every list of `second`: the end of its name, and its text.
pub fn all_pairs(
    title: &str,
    first: &[&[u64]],
    second: &[&[u64]],
    body: &Body,
    expected: impl Fn(u64, u64) -> Vec<u8>,
) -> Vec<(String, String)> {
    let mut cases = Vec::new();
    for (i, first) in first.iter().enumerate() {
        for (j, second) in second.iter().enumerate() {
            cases.push((format!("-{i}{j}"), pairs(title, first, second, body, &expected)));
        }
    }
    cases
}

/// A case for every list of `values`: the end of its name, and its text.
pub fn all_singles(title: &str, values: &[&[u64]], blocks: &[Block]) -> Vec<(String, String)> {
    let case = |(i, values): (usize, &&[u64])| (format!("-{i}"), singles(title, values, blocks));
    values.iter().enumerate().map(case).collect()
}

/// Every value of `first` with every value of `second`.
pub fn pairs(
    title: &str,
    first: &[u64],
    second: &[u64],
    body: &Body,
    expected: impl Fn(u64, u64) -> Vec<u8>,
) -> String {
    let Body { text, row } = body;
    let (count, rows) = (second.len(), first.len() * second.len());
    let (second_at, table_at) = (8 * first.len(), 8 * (first.len() + second.len()));
    let mut case = format!(
        "# {title}\n# Row {count} * i + j + 1 has the i-th first operand and the j-th second \
         one, from 0.\n# Result: the first wrong row, or 0.\n-- asm\n\
         mov %r6, %r1\nadd %r6, {table_at}\nmov %r8, %r1\nmov %r7, 0\n\
         outer:\nmov %r9, %r1\nadd %r9, {second_at}\nmov %r2, 0\n\
         inner:\nadd %r7, 1\n{text}\
         add %r6, {row}\nadd %r9, 8\nadd %r2, 1\njlt %r2, {count}, inner\n\
         add %r8, 8\njlt %r7, {rows}, outer\n{TAIL}"
    );
    operands(&mut case, "first", first);
    operands(&mut case, "second", second);
    for a in first {
        let _ = writeln!(case, "# expected with {a:#x}");
        second.iter().for_each(|b| bytes(&mut case, &expected(*a, *b)));
    }
    finish(case)
}

/// A body, and what it expects of an operand.
pub type Block = (Body, Box<dyn Fn(u64) -> Vec<u8>>);

/// Every value with every one of several bodies.
pub fn singles(title: &str, values: &[u64], blocks: &[Block]) -> String {
    let count = values.len();
    let mut case = format!(
        "# {title}\n# Row {count} * i + j + 1 is the i-th loop with the j-th operand, from \
         0.\n# Result: the first wrong row, or 0.\n-- asm\n\
         mov %r6, %r1\nadd %r6, {}\nmov %r7, 0\n",
        8 * count
    );
    for (number, (Body { text, row }, _)) in blocks.iter().enumerate() {
        let text = text.replace('@', &number.to_string());
        let _ = write!(
            case,
            "mov %r8, %r1\nmov %r2, 0\nloop{number}:\nadd %r7, 1\n{text}\
             add %r6, {row}\nadd %r8, 8\nadd %r2, 1\njlt %r2, {count}, loop{number}\n"
        );
    }
    case.push_str(TAIL);
    operands(&mut case, "operands", values);
    for (number, (_, expected)) in blocks.iter().enumerate() {
        let _ = writeln!(case, "# expected of loop{number}");
        values.iter().for_each(|value| bytes(&mut case, &expected(*value)));
    }
    finish(case)
}

/// Instructions without a table; `mem` is what they start with.
pub fn plain(title: &str, asm: &str, mem: &[u8]) -> String {
    let mut case = format!("# {title}\n-- asm\n{asm}{TAIL}");
    mem.chunks(16).for_each(|row| bytes(&mut case, row));
    finish(case)
}

fn operands(case: &mut String, name: &str, values: &[u64]) {
    let _ = writeln!(case, "# {name}");
    for value in values {
        let line = hex(&value.to_le_bytes());
        let _ = writeln!(case, "{line} # {value:#x}");
    }
}

fn bytes(case: &mut String, bytes: &[u8]) {
    case.push_str(&hex(bytes));
    case.push('\n');
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
}

fn finish(mut case: String) -> String {
    case.push_str("-- result\n0x0\n");
    case
}

const TAIL: &str = "mov %r0, 0\nexit\nwrong:\nmov %r0, %r7\nexit\n-- mem\n";
