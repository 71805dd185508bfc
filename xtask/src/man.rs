//! Guides as manual pages of section 5: one source of truth for both.
//!
//! Rule: everything in a guide that Markdown expresses has its counterpart on the page; a part that
//! has none is an error, so that nothing is lost silently.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use crate::root;

/// A guide, and the page that it becomes.
struct Guide {
    file: &'static str,
    page: &'static str,
    about: &'static str,
}

const GUIDES: [Guide; 3] = [
    Guide { file: "docs/filter.md", page: "xway-rules", about: "rules of xway filter" },
    Guide { file: "docs/streams.md", page: "xway-streams", about: "streams of xway gen" },
    Guide {
        file: "docs/configuration.md",
        page: "xway-config",
        about: "declared configuration of xway",
    },
];

/// Writes all pages to a directory, which is created if it is missing.
pub fn write(dir: &Path) -> Result<()> {
    fs::create_dir_all(dir).with_context(|| format!("cannot create {}", dir.display()))?;
    for guide in &GUIDES {
        let markdown = fs::read_to_string(root::path().join(guide.file))
            .with_context(|| format!("cannot read {}", guide.file))?;
        let page = page(guide, &markdown).with_context(|| guide.file.to_owned())?;
        let path = dir.join(format!("{}.5", guide.page));
        fs::write(&path, page).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

fn page(guide: &Guide, markdown: &str) -> Result<String> {
    let mut page = Page::default();
    let title = guide.page.to_uppercase();
    let version = concat!("xway ", env!("CARGO_PKG_VERSION"));
    // The first line asks for the preprocessor of tables.
    let _infallible = write!(
        page.text,
        "'\\\" t\n.TH {title} 5 \"\" \"{version}\" Expressway\n.ad l\n.nh\n.SH NAME\n{} \\- {}\n",
        escaped(guide.page),
        guide.about
    );
    page.text.push_str(".SH DESCRIPTION\n");
    for event in Parser::new_ext(markdown, Options::ENABLE_TABLES) {
        page.add(event)?;
    }
    Ok(page.text)
}

/// A page under construction.
#[derive(Default)]
struct Page {
    text: String,
    /// Text of the element that is being read.
    line: String,
    /// Items of the open lists: the number of the next one, or none for bullets.
    lists: Vec<Option<u64>>,
    /// The open table: its rows of cells.
    table: Option<Vec<Vec<String>>>,
    /// In a block of code.
    is_code: bool,
    /// The title of the guide, which is replaced by the name of the page.
    is_title: bool,
}

impl Page {
    fn add(&mut self, event: Event<'_>) -> Result<()> {
        match event {
            Event::Start(tag) => self.start(&tag)?,
            Event::End(tag) => self.end(tag),
            Event::Text(text) if self.is_code => self.text.push_str(&literal(&text)),
            Event::Text(text) => self.line.push_str(&escaped(&text)),
            Event::Code(text) => {
                let _infallible = write!(self.line, "\\fB{}\\fR", escaped(&text));
            }
            Event::SoftBreak | Event::HardBreak => self.line.push(' '),
            Event::Rule => self.text.push_str(".PP\n"),
            other => bail!("{other:?} has no counterpart on a manual page"),
        }
        Ok(())
    }

    fn start(&mut self, tag: &Tag<'_>) -> Result<()> {
        match tag {
            Tag::Heading { level: HeadingLevel::H1, .. } => self.is_title = true,
            Tag::Paragraph if self.lists.is_empty() => self.space(),
            Tag::Heading { .. } | Tag::Paragraph | Tag::TableCell | Tag::Link { .. } => {}
            Tag::CodeBlock(CodeBlockKind::Fenced(_) | CodeBlockKind::Indented) => {
                self.flush();
                self.space();
                self.text.push_str(".RS 4\n.nf\n");
                self.is_code = true;
            }
            Tag::List(first) => {
                self.flush();
                if !self.lists.is_empty() {
                    self.text.push_str(".RS 4\n");
                }
                self.lists.push(*first);
            }
            Tag::Item => self.item(),
            Tag::Emphasis => self.line.push_str("\\fI"),
            Tag::Strong => self.line.push_str("\\fB"),
            Tag::Table(_) => self.table = Some(Vec::new()),
            Tag::TableHead | Tag::TableRow => {
                self.table.iter_mut().for_each(|table| table.push(Vec::new()));
            }
            other => bail!("{other:?} has no counterpart on a manual page"),
        }
        Ok(())
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(level) => self.heading(level),
            TagEnd::Paragraph | TagEnd::Item => self.flush(),
            TagEnd::CodeBlock => {
                self.text.push_str(".fi\n.RE\n");
                self.is_code = false;
            }
            TagEnd::List(_) => {
                self.lists.pop();
                if !self.lists.is_empty() {
                    self.text.push_str(".RE\n");
                }
            }
            TagEnd::Emphasis | TagEnd::Strong => self.line.push_str("\\fR"),
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.line);
                self.table.iter_mut().filter_map(|table| table.last_mut()).for_each(|row| {
                    row.push(cell.clone());
                });
            }
            TagEnd::Table => self.end_table(),
            _ => {}
        }
    }

    /// Begins a paragraph; a section begins with one anyway.
    fn space(&mut self) {
        let last = self.text.trim_end().lines().last().unwrap_or_default();
        if !last.starts_with(".SH") && !last.starts_with(".SS") {
            self.text.push_str(".PP\n");
        }
    }

    fn heading(&mut self, level: HeadingLevel) {
        let title = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.is_title) {
            return;
        }
        let (request, title) = match level {
            HeadingLevel::H2 => {
                ("SH", title.to_uppercase().replace("\\FB", "").replace("\\FR", ""))
            }
            _ => ("SS", title),
        };
        let _infallible = writeln!(self.text, ".{request} \"{}\"", title.replace('"', "\\(dq"));
    }

    fn item(&mut self) {
        self.flush();
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                *number += 1;
                format!("{}.", *number - 1)
            }
            _ => "\\(bu".to_owned(),
        };
        let _infallible = writeln!(self.text, ".IP {mark} 4");
    }

    /// Writes the text that was read as a line of its own.
    fn flush(&mut self) {
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            let _infallible = writeln!(self.text, "{}", protected(&line));
        }
    }

    /// Columns with long cells share the width that the others leave.
    fn end_table(&mut self) {
        let rows = self.table.take().unwrap_or_default();
        let columns = rows.iter().map(Vec::len).max().unwrap_or(1);
        let width = |column: &usize| {
            rows.iter().filter_map(|row| row.get(*column)).map(String::len).max().unwrap_or(0)
        };
        let widest = (0..columns).map(|column| width(&column)).max().unwrap_or(0);
        let is_long = |column| width(&column) >= LONG_CELL.min(widest);
        let format = (0..columns).map(|column| if is_long(column) { "lx" } else { "l" });
        let format = format.collect::<Vec<_>>().join(" ");
        self.space();
        let _infallible = write!(self.text, ".TS\n{format}.\n");
        for row in &rows {
            let cells = row.iter().enumerate().map(|(column, cell)| match is_long(column) {
                true => format!("T{{\n{}\nT}}", protected(cell)),
                false => cell.clone(),
            });
            let line = cells.collect::<Vec<_>>().join("\t");
            let _infallible = writeln!(self.text, "{line}");
        }
        self.text.push_str(".TE\n");
    }
}

/// Characters of a cell that may need several lines.
const LONG_CELL: usize = 24;

/// Text with roff's special characters escaped.
fn escaped(text: &str) -> String {
    let mut safe = String::new();
    for c in text.chars() {
        match c {
            '\\' => safe.push_str("\\e"),
            '-' => safe.push_str("\\-"),
            '\'' => safe.push_str("\\(aq"),
            '`' => safe.push_str("\\(ga"),
            '^' => safe.push_str("\\(ha"),
            '~' => safe.push_str("\\(ti"),
            '…' => safe.push_str("\\&..."),
            '→' => safe.push_str("\\->"),
            '·' => safe.push_str("\\(pc"),
            '×' => safe.push_str("\\(mu"),
            '≤' => safe.push_str("\\(<="),
            '≥' => safe.push_str("\\(>="),
            'µ' => safe.push_str("\\(mc"),
            other if other.is_ascii() => safe.push(other),
            other => {
                let _infallible = write!(safe, "\\[u{:04X}]", u32::from(other));
            }
        }
    }
    safe.replace("\\->", "\\(->")
}

/// Lines of code.
fn literal(text: &str) -> String {
    text.split_inclusive('\n').map(|line| protected(&escaped(line))).collect()
}

/// A line that begins like a request is text nevertheless.
fn protected(line: &str) -> String {
    if line.starts_with(['.', '\'']) { format!("\\&{line}") } else { line.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(markdown: &str) -> String {
        let guide = Guide { file: "x.md", page: "xway-x", about: "a test" };
        let page = page(&guide, markdown).unwrap();
        page.split_once(".SH DESCRIPTION\n").unwrap().1.to_owned()
    }

    #[test]
    fn elements_have_their_requests() {
        let table = [
            ("# Title\n\ntext `code`\nmore", "text \\fBcode\\fR more\n"),
            ("## A `b`\n### C", ".SH \"A B\"\n.SS \"C\"\n"),
            ("- a\n- b\n", ".IP \\(bu 4\na\n.IP \\(bu 4\nb\n"),
            ("1. a\n2. b\n", ".IP 1. 4\na\n.IP 2. 4\nb\n"),
            ("```\n.x - y\n```", ".RS 4\n.nf\n\\&.x \\- y\n.fi\n.RE\n"),
            ("a\n\na [link](x.md) \\\\ b", "a\n.PP\na link \\e b\n"),
        ];
        for (markdown, roff) in table {
            assert_eq!(body(markdown), roff, "{markdown}");
        }
        let rows = body("| a | b |\n|---|---|\n| c | d |\n");
        assert!(rows.contains(".TS\nlx lx.\n") && rows.contains("\tT{\nd\nT}\n.TE\n"), "{rows}");
    }

    #[test]
    fn all_guides_become_pages() {
        let dir = std::env::temp_dir().join(format!("xway-man-{}", std::process::id()));
        write(&dir).unwrap();
        for guide in &GUIDES {
            let page = fs::read_to_string(dir.join(format!("{}.5", guide.page))).unwrap();
            assert!(page.len() > 3_000 && page.contains(".SH NAME"), "{}", guide.page);
        }
        fs::remove_dir_all(&dir).unwrap();
    }
}
