//! A case: a program, the memory it gets, and what it must return.
//!
//! The format is that of the public suite bpf_conformance: sections that start with `-- name`, `#`
//! for comments. Rule: a word that no section accepts is an error, so that no part of a case is
//! ignored.
//!
//! ```text
//! -- asm                one instruction a line, in any notation of `spec::asm::text`
//! -- raw                the same as words of 64 bits in hex; must agree with `asm` if both stand
//! -- mem                bytes in hex: r1 points at them, r2 is their number
//! -- result             what r0 holds at the end: hex or decimal
//! -- error              instead of a result: it must fail, with these words in the reason
//! -- c, no register offset      not for machines
//! ```

use anyhow::{Context, Result, bail, ensure};
use spec::Insn;
use spec::asm::text;

#[derive(Debug, PartialEq, Eq)]
pub struct Case {
    pub insns: Vec<Insn>,
    pub memory: Vec<u8>,
    pub expected: Expected,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Expected {
    Result(u64),
    /// Words that the reason of the failure holds.
    Error(String),
}

pub fn parse(text: &str) -> Result<Case> {
    let sections = Sections::read(text)?;
    let raw = words(&sections.raw)?;
    let mut insns = text::parse(&sections.asm)?;
    ensure!(
        raw.is_empty() || insns.is_empty() || raw == insns,
        "`-- asm` is {insns:?}, `-- raw` is {raw:?}"
    );
    if insns.is_empty() {
        insns = raw;
    }
    ensure!(!insns.is_empty(), "no instructions");
    let result = sections.result.split_whitespace().collect::<Vec<_>>();
    let expected = match (&result[..], &sections.error) {
        ([], Some(error)) => Expected::Error(error.trim().to_owned()),
        ([number], None) => Expected::Result(unsigned(number)?),
        _ => bail!("needs either one number as `-- result`, or `-- error`"),
    };
    Ok(Case { insns, memory: bytes(&sections.mem)?, expected })
}

/// The texts of the sections, each without comments.
#[derive(Default)]
struct Sections {
    /// With an empty line for each of another section, so that errors name the file's line.
    asm: String,
    raw: String,
    mem: String,
    result: String,
    error: Option<String>,
}

impl Sections {
    fn read(text: &str) -> Result<Self> {
        let mut sections = Self::default();
        let mut section = "";
        for (line, number) in text.lines().zip(1..) {
            let bare = line.split('#').next().unwrap_or_default().trim();
            if let Some(name) = bare.strip_prefix("--") {
                section = name.trim();
                if section == "error" {
                    sections.error.get_or_insert_default();
                }
            }
            let is_head = bare.starts_with("--");
            sections.asm.push_str(if section == "asm" && !is_head { line } else { "" });
            sections.asm.push('\n');
            let wrong = || format!("line {number}: no section takes `{bare}`");
            if !is_head {
                sections.append(section, bare).with_context(wrong)?;
            } else if !KNOWN.contains(&section) {
                bail!("line {number}: `-- {section}` is none of {}", KNOWN.join(", "));
            }
        }
        Ok(sections)
    }

    fn append(&mut self, section: &str, bare: &str) -> Option<()> {
        let text = match section {
            "raw" => &mut self.raw,
            "mem" => &mut self.mem,
            "result" => &mut self.result,
            "error" => self.error.as_mut()?,
            "" if !bare.is_empty() => return None,
            _ => return Some(()),
        };
        text.push_str(bare);
        text.push('\n');
        Some(())
    }
}

const KNOWN: &[&str] = &["asm", "raw", "mem", "result", "error", "c", "no register offset"];

fn words(text: &str) -> Result<Vec<Insn>> {
    let number = |word: &str| Ok(Insn::from_bytes(unsigned(word)?.to_le_bytes()));
    text.split_whitespace().map(number).collect()
}

fn bytes(text: &str) -> Result<Vec<u8>> {
    let byte =
        |word| u8::from_str_radix(word, 16).with_context(|| format!("`{word}` is not a byte"));
    text.split_whitespace().map(byte).collect()
}

fn unsigned(word: &str) -> Result<u64> {
    let number = match word.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => word.parse(),
    };
    number.with_context(|| format!("`{word}` is not a number of 64 bits"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_with_everything() {
        let case = parse(
            "# A heading.\n-- asm\nldxb %r0, [%r1+2] # the third\nexit\n-- mem\n01 02 # two\nff\n\
             -- no register offset\nwhatever\n-- result\n0xff\n",
        );
        let insns = text::parse("r0 = *(u8 *)(r1 + 2)\nexit").unwrap();
        let expected = Expected::Result(255);
        assert_eq!(case.unwrap(), Case { insns, memory: vec![1, 2, 255], expected });
    }

    #[test]
    fn code_may_be_given_as_words() {
        let raw = "-- raw\n0x1100000018 0x2200000000\n0x95\n-- result\n10";
        let case = parse(raw).unwrap();
        assert_eq!(case.insns, text::parse("lddw %r0, 0x2200000011\nexit").unwrap());
        assert_eq!(case.expected, Expected::Result(10));
        let both = format!("-- asm\nlddw %r0, 0x2200000011\nexit\n{raw}");
        assert_eq!(parse(&both).unwrap(), case);
    }

    #[test]
    fn a_failure_may_be_what_is_expected() {
        let case = parse("-- asm\nexit\n-- error\nr0 is not set\n").unwrap();
        assert_eq!(case.expected, Expected::Error("r0 is not set".to_owned()));
        let any = parse("-- asm\nexit\n-- error\n").unwrap();
        assert_eq!(any.expected, Expected::Error(String::new()));
    }

    #[test]
    fn malformed_cases() {
        for (text, reason) in [
            ("", "no instructions"),
            ("-- asm\nexit", "needs either"),
            ("-- asm\nexit\n-- result\n1 2", "needs either"),
            ("-- asm\nexit\n-- result\n1\n-- error\n", "needs either"),
            ("-- asm\nexit\n-- result\nmany", "`many` is not a number"),
            ("-- asm\nexit\n-- mem\n100\n-- result\n0", "`100` is not a byte"),
            ("-- asm\nexit\n-- meme\n", "line 3: `-- meme` is none of"),
            ("exit\n-- result\n0", "line 1: no section takes `exit`"),
            ("-- asm\n# one\nexit 2\n-- result\n0", "line 3, column 6: `2`"),
            ("-- asm\nexit\n-- raw\n0x96\n-- result\n0", "`-- asm` is"),
        ] {
            let error = format!("{:#}", parse(text).unwrap_err());
            assert!(error.contains(reason), "{text:?}: {error}");
        }
    }
}
