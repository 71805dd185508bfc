//! Writes `.BTF.ext`: functions and source lines by section.

/// What `.BTF.ext` has about a section.
pub(super) struct SectionInfo {
    /// Offset of its name in the strings of the types.
    pub name: u32,
    /// Offset in the section and `FUNC`.
    pub functions: Vec<(u32, u32)>,
    /// Source lines.
    pub lines: Vec<Line>,
}

/// A source line. `file` and `text` are offsets in the strings of the types.
pub(super) struct Line {
    /// Offset of the instruction in the section.
    pub offset: u32,
    /// Name of the file.
    pub file: u32,
    /// Text of the line.
    pub text: u32,
    /// Number of the line, from 1.
    pub line: u32,
}

/// The bytes of the section.
pub(super) fn bytes(sections: &[SectionInfo]) -> Vec<u8> {
    let functions = table(8, sections, |section| {
        section.functions.iter().flat_map(|(offset, id)| [*offset, *id]).collect()
    });
    let lines = table(16, sections, |section| {
        let words = |line: &Line| {
            // The kernel takes 22 bits of the line, and 10 of the column.
            [line.offset, line.file, line.text, line.line.min(MAX_LINE) << 10 | 1]
        };
        section.lines.iter().flat_map(words).collect()
    });
    let (functions_len, lines_len) = (functions.len() as u32 * 4, lines.len() as u32 * 4);
    let header = [MAGIC, HEADER_LEN, 0, functions_len, functions_len, lines_len];
    let words = header.into_iter().chain(functions).chain(lines);
    words.flat_map(u32::to_le_bytes).collect()
}

/// Size of a record, then for each section its name, the number of records and the records.
fn table(
    record: u32,
    sections: &[SectionInfo],
    words: impl Fn(&SectionInfo) -> Vec<u32>,
) -> Vec<u32> {
    let mut table = vec![record];
    for section in sections {
        let words = words(section);
        if !words.is_empty() {
            table.extend([section.name, words.len() as u32 * 4 / record]);
            table.extend(words);
        }
    }
    if table.len() == 1 { Vec::new() } else { table }
}

/// Magic number, version 1, no flags.
const MAGIC: u32 = 0x0001_eb9f;
const HEADER_LEN: u32 = 24;
const MAX_LINE: u32 = (1 << 22) - 1;
