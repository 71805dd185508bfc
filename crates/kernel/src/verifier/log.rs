//! The verifier's log as data.
//!
//! The log is a trace: instructions with register states, source lines as comments, notes about
//! precision and loops, at the end one or a few lines that state the error, and statistics.
//! Rule: any text is accepted; if no decisive line is found, it is the last one.
//! Format: `kernel/bpf/verifier.c` and `kernel/bpf/log.c` of Linux 6.18; before 6.9 comments come
//! without file and line.

use std::fmt;

use serde::Serialize;
use spec::Program;
use spec::btf::Btf;

use super::hint;

/// Log of a rejected program. Displays as the decisive line, its position and a hint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerifierLog {
    /// The log as the kernel wrote it, or the end of a long one.
    pub text: String,
    /// What is wrong, in the verifier's words.
    pub decisive: String,
    /// Further lines that belong to it.
    pub more: Vec<String>,
    /// The instruction at which it stopped.
    pub slot: Option<usize>,
    /// The instruction in the kernel's notation.
    pub insn: String,
    /// Source line of the decisive instruction, if the object has line information.
    pub source: Option<Source>,
    /// The process lacked `CAP_PERFMON`, without which the verifier forbids what every program of
    /// packets does, so the message is not about the program.
    pub lacks_perfmon: bool,
}

/// A line of source code.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Source {
    /// File name; empty when unknown.
    pub file: String,
    /// Number of the line; 0 when unknown.
    pub line: u32,
    /// The line's text.
    pub text: String,
}

/// What one line of the log is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    Insn {
        slot: usize,
        text: &'a str,
    },
    Source(&'a str),
    /// States, notes, statistics.
    Noise,
    Message(&'a str),
}

impl VerifierLog {
    /// Parses the text that the verifier wrote.
    pub fn parse(text: &str) -> Self {
        let lines: Vec<_> = text.lines().map(classify).collect();
        let messages = trailing_messages(&lines);
        let mut log = Self { text: text.to_owned(), ..Self::default() };
        let mut messages = messages.into_iter().map(str::to_owned);
        log.decisive = messages.next().unwrap_or_default();
        log.more = messages.collect();
        for line in &lines {
            match line {
                Line::Insn { slot, text } => {
                    log.slot = Some(*slot);
                    log.insn = (*text).to_owned();
                }
                Line::Source(comment) => log.source = Some(Source::parse(comment)),
                _ => {}
            }
        }
        if let Some(slot) = named_slot(&log.decisive) {
            log.at_slot(slot, &lines);
        }
        log
    }

    /// Fills in file and line from the object where the log, as older kernels write it, has none.
    #[must_use]
    pub fn with_program(mut self, program: &Program, btf: Option<&Btf>) -> Self {
        let known = self.source.as_ref().is_some_and(|source| source.line != 0);
        let Some((slot, btf)) = self.slot.zip(btf).filter(|_| !known) else { return self };
        if let Some(line) = program.line_at(slot) {
            let string = |at| btf.string(at).unwrap_or_default().trim().to_owned();
            self.source =
                Some(Source { text: string(line.text), file: string(line.file), line: line.line });
        }
        self
    }

    /// Advice for the most frequent mistakes.
    pub fn hint(&self) -> Option<&'static str> {
        if self.lacks_perfmon {
            return Some(LACKS_PERFMON);
        }
        hint::of(&self.decisive).or_else(|| self.more.iter().find_map(|line| hint::of(line)))
    }

    pub(super) fn is_reason(&self, line: &str) -> bool {
        self.decisive == line || self.more.iter().any(|more| more == line)
    }

    /// The message is about another instruction than the last one walked.
    fn at_slot(&mut self, slot: usize, lines: &[Line<'_>]) {
        if self.slot == Some(slot) {
            return;
        }
        self.slot = Some(slot);
        self.insn.clear();
        self.source = None;
        let mut comment = None;
        for line in lines {
            match line {
                Line::Source(text) => comment = Some(*text),
                Line::Insn { slot: at, text } if *at == slot => {
                    self.insn = (*text).to_owned();
                    self.source = comment.map(Source::parse);
                    return;
                }
                _ => {}
            }
        }
    }
}

const LACKS_PERFMON: &str = "this process lacks CAP_PERFMON, without which the verifier accepts \
                             fewer programs: run it as root or grant it";

impl fmt::Display for VerifierLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.decisive.is_empty() {
            return f.write_str("it gave no reason");
        }
        f.write_str(&self.decisive)?;
        for line in &self.more {
            write!(f, "; {line}")?;
        }
        if let Some(slot) = self.slot {
            write!(f, "\n  at instruction {slot}")?;
            if !self.insn.is_empty() {
                write!(f, ": {}", self.insn)?;
            }
        }
        if let Some(source) = &self.source {
            write!(f, "\n  in {source}")?;
        }
        match self.hint() {
            Some(hint) => write!(f, "\n  hint: {hint}"),
            None => Ok(()),
        }
    }
}

impl Source {
    /// From a comment such as `if (!eth) @ drop.bpf.c:12`.
    pub(super) fn parse(comment: &str) -> Self {
        let place = comment.rsplit_once(" @ ").and_then(|(text, place)| {
            let (file, line) = place.rsplit_once(':')?;
            Some(Self {
                text: text.trim().to_owned(),
                file: file.to_owned(),
                line: line.parse().ok()?,
            })
        });
        place.unwrap_or_else(|| Self { text: comment.trim().to_owned(), ..Self::default() })
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line != 0 {
            write!(f, "{}:{}: ", self.file, self.line)?;
        }
        f.write_str(&self.text)
    }
}

pub(super) fn classify(line: &str) -> Line<'_> {
    if let Some(comment) = line.strip_prefix("; ") {
        return Line::Source(comment);
    }
    if let Some((slot, rest)) = numbered(line) {
        // `12: (b7) r0 = 0` is an instruction, `12: R0=0 R1=ctx()` a state.
        return match rest.strip_prefix('(') {
            Some(_) => Line::Insn { slot, text: instruction(rest) },
            None => Line::Noise,
        };
    }
    let noise = line.trim().is_empty() || NOISE.iter().any(|start| line.starts_with(start));
    if noise || is_frame(line) || is_state(line) { Line::Noise } else { Line::Message(line.trim()) }
}

/// Removes the opcode before the instruction and the register state after it.
fn instruction(rest: &str) -> &str {
    let text = rest.split_once(") ").map_or(rest, |(_, text)| text);
    text.split_once(" ; ").map_or(text, |(text, _)| text).trim_end()
}

fn numbered(line: &str) -> Option<(usize, &str)> {
    let (number, rest) = line.split_once(": ")?;
    Some((number.parse().ok()?, rest))
}

/// `frame1: R0=…`: the state of one of several active functions. `frame pointer is read only` is
/// a reason.
fn is_frame(line: &str) -> bool {
    let rest = line.trim_start().strip_prefix("frame");
    rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// ` R0=1 R1=ctx()` or `R0_w=…`: how a state begins on a line of its own.
fn is_state(line: &str) -> bool {
    let Some(rest) = line.trim_start().strip_prefix('R') else { return false };
    let rest = rest.trim_start_matches(|letter: char| letter.is_ascii_digit());
    rest.len() < line.trim_start().len() - 1 && (rest.starts_with('=') || rest.starts_with("_"))
}

/// The messages after the last instruction; if there are none, the last messages of all.
fn trailing_messages<'a>(lines: &[Line<'a>]) -> Vec<&'a str> {
    let after = lines.iter().rposition(|line| matches!(line, Line::Insn { .. } | Line::Source(_)));
    let message = |line: &Line<'a>| match line {
        Line::Message(text) => Some(*text),
        _ => None,
    };
    let behind: Vec<_> =
        lines[after.map_or(0, |at| at + 1)..].iter().filter_map(message).take(LIMIT).collect();
    if !behind.is_empty() {
        return behind;
    }
    lines.iter().rev().find_map(message).into_iter().collect()
}

/// Lines kept as reason; more of them are a list of something.
const LIMIT: usize = 4;

/// The instruction that a message names itself, such as `back-edge from insn 7 to 3`.
fn named_slot(message: &str) -> Option<usize> {
    let rest = message.split_once(" insn ")?.1;
    let digits = rest.split(|letter: char| !letter.is_ascii_digit()).next()?;
    digits.parse().ok()
}

/// Whether a log has its end: old kernels cut off what does not fit, newer ones the start.
pub(crate) fn is_whole(text: &str) -> bool {
    text.lines().rev().take(LIMIT).any(|line| line.starts_with("processed "))
}

/// Prefixes of lines that do not explain an error.
const NOISE: &[&str] = &[
    "processed ",
    "verification time ",
    "stack depth ",
    "func#",
    "Func#",
    "Validating ",
    "from ",
    "mark_precise",
    "last_idx ",
    "regs=",
    "parent ",
    "caller:",
    "callee:",
    "returning from callee",
    "to caller at ",
    "propagating ",
    "cur state:",
    "old state:",
    "safe",
    "max_states_per_insn",
    "live regs",
    "Live regs",
    "=====",
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Text; decisive line, further lines; slot, instruction; source.
    type Case = (
        &'static str,
        &'static str,
        &'static [&'static str],
        Option<usize>,
        &'static str,
        &'static str,
    );

    /// Logs of Linux 6.18 and, last, one as 5.15 writes them.
    #[rustfmt::skip]
    const LOGS: &[Case] = &[
        ("0: R1=ctx() R10=fp0\n\
          ; char *p = (char *)(long)ctx->data; return p[13]; @ bounds.c:14\n\
          0: (61) r1 = *(u32 *)(r1 +0)          ; R1=pkt(r=0)\n\
          1: (71) r0 = *(u8 *)(r1 +13)\n\
          invalid access to packet, off=13 size=1, R1(id=0,off=13,r=0)\n\
          R1 offset is outside of the packet\n\
          processed 2 insns (limit 1000000) max_states_per_insn 0 total_states 0\n",
         "invalid access to packet, off=13 size=1, R1(id=0,off=13,r=0)",
         &["R1 offset is outside of the packet"], Some(1), "r0 = *(u8 *)(r1 +13)",
         "bounds.c:14: char *p = (char *)(long)ctx->data; return p[13];"),
        ("0: R1=ctx() R10=fp0\n\
          ; int i = 0; @ loop.c:3\n\
          3: (66) if w1 s> 0x9 goto pc+2        ; R1=0\n\
          ; while (i < 10) @ loop.c:4\n\
          5: (c6) if w1 s< 0xa goto pc-2        ; R1=0\n\
          4: (61) r1 = *(u32 *)(r10 -4)\n\
          infinite loop detected at insn 5\n\
          cur state: R1=0 R10=fp0 fp-8=0000????\n\
          old state: R1=P0 R10=fp0 fp-8=0000????\n\
          processed 10 insns (limit 1000000)\n",
         "infinite loop detected at insn 5", &[], Some(5), "if w1 s< 0xa goto pc-2",
         "loop.c:4: while (i < 10)"),
        ("unreachable insn 1\nprocessed 0 insns (limit 1000000)\n",
         "unreachable insn 1", &[], Some(1), "", ""),
        ("oto pc-2        ; R0=0x29c1d\n\
          1: (07) r0 += 1\n\
          BPF program is too large. Processed 1000001 insn\n\
          processed 1000001 insns (limit 1000000) max_states_per_insn 4\n",
         "BPF program is too large. Processed 1000001 insn", &[], Some(1), "r0 += 1", ""),
        ("func#0 @0\n\
          0: R1=ctx(off=0,imm=0) R10=fp0\n\
          ; return *value;\n\
          7: (61) r0 = *(u32 *)(r0 +0)\n\
          R0 invalid mem access 'map_value_or_null'\n\
          verification time 74 usec\n\
          stack depth 4\n\
          processed 7 insns (limit 1000000) max_states_per_insn 0\n",
         "R0 invalid mem access 'map_value_or_null'", &[], Some(7), "r0 = *(u32 *)(r0 +0)",
         "return *value;"),
        ("", "", &[], None, "", ""),
    ];

    #[test]
    fn the_line_that_matters_is_found() {
        for (text, decisive, more, slot, insn, source) in LOGS {
            let log = VerifierLog::parse(text);
            assert_eq!(log.decisive, *decisive);
            assert_eq!(log.more, *more, "{decisive}");
            assert_eq!((log.slot, &*log.insn), (*slot, *insn), "{decisive}");
            let found = log.source.as_ref().map(ToString::to_string).unwrap_or_default();
            assert_eq!(found, *source, "{decisive}");
            assert_eq!(is_whole(text), !text.is_empty(), "{decisive}");
        }
    }

    #[test]
    fn frames_of_a_state_are_no_reason_but_the_frame_pointer_is() {
        let log = VerifierLog::parse(
            "frame1: R1=ctx() R10=fp0\n0: (bf) r10 = r1\nframe pointer is read only\n",
        );
        assert_eq!(log.decisive, "frame pointer is read only");
        assert!(log.more.is_empty(), "{:?}", log.more);
    }

    #[test]
    fn it_is_shown_with_place_and_remedy() {
        let shown = VerifierLog::parse(LOGS[0].0).to_string();
        let lines: Vec<_> = shown.lines().collect();
        assert_eq!(lines[1], "  at instruction 1: r0 = *(u8 *)(r1 +13)");
        assert!(lines[2].starts_with("  in bounds.c:14: "), "{shown}");
        assert!(lines[3].starts_with("  hint: compare the end"), "{shown}");
        assert_eq!(VerifierLog::default().to_string(), "it gave no reason");
    }

    #[test]
    fn instructions_stand_beside_their_source() {
        let listing = VerifierLog::parse(LOGS[1].0).annotated();
        let lines: Vec<_> = listing.lines().collect();
        assert_eq!(lines.len(), 4, "{listing}");
        assert!(lines[0].starts_with("    3: if w1 s> 0x9 goto pc+2 "), "{listing}");
        assert!(lines[0].ends_with("; loop.c:3: int i = 0;"), "{listing}");
        assert_eq!(lines[2], "    4: r1 = *(u32 *)(r10 -4)", "no line twice");
        assert_eq!(lines[3], "   >>> infinite loop detected at insn 5");
    }

    #[test]
    fn source_lines_come_from_the_object_when_the_log_has_none() {
        use spec::btf::Builder;
        let mut types = Builder::new();
        let (file, text) = (types.string("x.c"), types.string("\treturn *value;"));
        let program = Program {
            lines: vec![spec::Line { slot: 6, file, text, line: 12, column: 3 }],
            ..Default::default()
        };
        let btf = types.build().unwrap();
        let log = VerifierLog::parse(LOGS[4].0).with_program(&program, Some(&btf));
        assert_eq!(log.source.unwrap().to_string(), "x.c:12: return *value;");
    }
}
