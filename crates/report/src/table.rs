//! A table, for a terminal (its `Display`) or for a page.
//!
//! Rule: a row has one cell for each column, and cell text cannot break the layout: hidden
//! characters are escaped. Widths are columns of a terminal, so wide scripts line up. Not here:
//! color, and the width of the terminal.

use std::fmt;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::{escape, text};

/// Columns and rows of text. Numbers are already formatted (`number::human`).
#[derive(Debug, Clone)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

/// A heading and the alignment of its cells.
#[derive(Debug, Clone)]
pub struct Column {
    name: String,
    right: bool,
}

impl Column {
    /// A column aligned on the left.
    pub fn text(name: &str) -> Column {
        Column { name: name.into(), right: false }
    }

    /// A column aligned on the right.
    pub fn number(name: &str) -> Column {
        Column { name: name.into(), right: true }
    }

    fn aligned(&self, cell: &str, width: usize) -> String {
        let padding = " ".repeat(width.saturating_sub(cell.width()));
        if self.right { padding + cell } else { format!("{cell}{padding}") }
    }
}

impl Table {
    /// A table without rows.
    pub fn new(columns: impl IntoIterator<Item = Column>) -> Table {
        Table { columns: columns.into_iter().collect(), rows: Vec::new() }
    }

    /// # Panics
    /// When the number of cells is not the number of columns.
    pub fn row<C: Into<String>>(&mut self, cells: impl IntoIterator<Item = C>) -> &mut Table {
        let cells: Vec<String> = cells.into_iter().map(Into::into).collect();
        assert_eq!(cells.len(), self.columns.len(), "a row has one cell for each column");
        self.rows.push(cells);
        self
    }

    /// Formats the table as Markdown.
    pub fn to_markdown(&self) -> String {
        let line = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
        let cell = |text: &String| escape::markdown(text);
        let head = line(self.columns.iter().map(|column| cell(&column.name)).collect());
        let rule = self.columns.iter().map(|column| if column.right { "--:" } else { "---" });
        let rule = line(rule.map(str::to_owned).collect());
        let rows = self.rows.iter().map(|row| line(row.iter().map(cell).collect()));
        [head, rule].into_iter().chain(rows).collect::<Vec<_>>().join("\n")
    }

    /// Formats the table as HTML, in a box that scrolls sideways on a narrow screen.
    pub(crate) fn to_html(&self) -> String {
        let headings = self.columns.iter().map(|column| column.name.as_str());
        let head = self.html_row("th", headings);
        let body = self.rows.iter().map(|row| self.html_row("td", row.iter().map(String::as_str)));
        let body: String = body.collect();
        let table = format!("<table><thead>{head}</thead>\n<tbody>\n{body}</tbody></table>");
        format!("<div class=\"wide\">{table}</div>\n")
    }

    fn html_row<'a>(&self, tag: &str, cells: impl Iterator<Item = &'a str>) -> String {
        let cells = self.columns.iter().zip(cells).map(|(column, cell)| {
            let class = if column.right { " class=\"r\"" } else { "" };
            format!("<{tag}{class}>{}</{tag}>", escape::markup(cell))
        });
        format!("<tr>{}</tr>\n", cells.collect::<String>())
    }

    /// Formats the table so that no line is longer than `width`: the longest texts are cut first;
    /// then columns of text are left out from the right, except the first with a heading; then the
    /// last columns of numbers.
    pub fn within(&self, width: usize) -> String {
        let mut table = self.clone();
        table.rows.iter_mut().flatten().for_each(|cell| *cell = text::line(cell).into_owned());
        while table.total() > width {
            if !table.cut_longest(width) && !table.leave_out() {
                break;
            }
        }
        table.to_string()
    }

    /// Width of each column.
    fn widths(&self) -> Vec<usize> {
        let cells = |column: usize| self.rows.iter().map(move |row| row[column].width());
        let head = |column: usize| self.columns[column].name.width();
        (0..self.columns.len()).map(|one| cells(one).max().unwrap_or(0).max(head(one))).collect()
    }

    /// Width of a line.
    fn total(&self) -> usize {
        self.widths().iter().sum::<usize>() + GAP * self.columns.len().saturating_sub(1)
    }

    /// Cuts the longest column of text as far as necessary; `false` if all are short.
    fn cut_longest(&mut self, width: usize) -> bool {
        let widths = self.widths();
        let texts = (0..self.columns.len()).filter(|column| !self.columns[*column].right);
        let Some(longest) = texts.max_by_key(|column| widths[*column]) else { return false };
        let name = self.columns[longest].name.width();
        let shortest = SHORTEST.max(name);
        if widths[longest] <= shortest {
            return false;
        }
        let second = widths[longest] - 1;
        let wanted = widths[longest].saturating_sub(self.total() - width);
        // The longest one is cut to the length of the next one first, so that both are cut equally.
        let others = (0..self.columns.len()).filter(|other| *other != longest);
        let others = others.filter(|other| !self.columns[*other].right);
        let next = others.map(|other| widths[other]).max().unwrap_or(0).min(second);
        let length = wanted.max(next).max(shortest);
        self.rows.iter_mut().for_each(|row| row[longest] = cut(&row[longest], length));
        true
    }

    /// Leaves out the least important column; `false` if one is left.
    fn leave_out(&mut self) -> bool {
        let last = |right: bool| {
            let named = |column: &usize| !self.columns[*column].name.is_empty();
            let first = (0..self.columns.len()).find(named);
            let is_one = |column: &usize| self.columns[*column].right == right;
            (0..self.columns.len()).rfind(|column| is_one(column) && Some(*column) != first)
        };
        let Some(gone) = last(false).or_else(|| last(true)) else { return false };
        self.columns.remove(gone);
        self.rows.iter_mut().for_each(|row| drop(row.remove(gone)));
        true
    }

    fn line(&self, cells: &[String], widths: &[usize]) -> String {
        let cells = self.columns.iter().zip(cells).zip(widths);
        let cells: Vec<_> =
            cells.map(|((column, cell), width)| column.aligned(cell, *width)).collect();
        cells.join("  ").trim_end().to_owned()
    }
}

/// The text, or its beginning and a sign that it is cut.
fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut short = String::new();
    for c in text.chars() {
        if short.width() + c.width().unwrap_or(0) + 1 > width {
            break;
        }
        short.push(c);
    }
    short + "…"
}

/// Columns between two cells.
const GAP: usize = 2;
/// Columns to which a text is cut at most.
const SHORTEST: usize = 8;

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headings =
            self.columns.iter().map(|column| text::line(&column.name).into_owned()).collect();
        let rows = self
            .rows
            .iter()
            .map(|row| row.iter().map(|cell| text::line(cell).into_owned()).collect());
        let lines: Vec<Vec<String>> = std::iter::once(headings).chain(rows).collect();
        let width = |column: usize| lines.iter().map(|line| line[column].width()).max();
        let widths: Vec<usize> = (0..self.columns.len()).filter_map(width).collect();
        writeln!(f, "{}", self.line(&lines[0], &widths))?;
        let rule: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
        writeln!(f, "{}", rule.join("  "))?;
        lines[1..].iter().try_for_each(|row| writeln!(f, "{}", self.line(row, &widths)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new([Column::text("mode"), Column::number("rate")]);
        table.row(["native", "1.23 Mpps"]).row(["µ", "9 pps"]);
        table
    }

    #[test]
    fn text_on_the_left_numbers_on_the_right() {
        let want = "\
mode         rate
──────  ─────────
native  1.23 Mpps
µ           9 pps
";
        assert_eq!(table().to_string(), want);
        assert_eq!(Table::new([Column::text("a")]).to_string(), "a\n─\n");
    }

    #[test]
    fn wide_characters_take_two_columns() {
        let mut table = Table::new([Column::text("name"), Column::number("n")]);
        table.row(["東京", "1"]).row(["e\u{301}", "2"]);
        assert_eq!(table.to_string(), "name  n\n────  ─\n東京  1\ne\u{301}     2\n");
    }

    #[test]
    fn as_markdown() {
        let mut table = Table::new([Column::text(""), Column::number("median")]);
        table.row(["a | b", "1"]);
        assert_eq!(table.to_markdown(), "|  | median |\n| --- | --: |\n| a \\| b | 1 |");
    }

    #[test]
    fn cells_cannot_break_out() {
        let mut table = table();
        table.row(["\x1b[2J\nx", "<img src=x>"]);
        assert!(!table.to_string().contains('\x1b'));
        assert_eq!(table.to_string().lines().count(), 5);
        let html = table.to_html();
        assert!(html.contains("<td class=\"r\">&lt;img src=x&gt;</td>"), "{html}");
    }

    #[test]
    #[should_panic(expected = "a row has one cell for each column")]
    fn a_short_row_is_a_bug() {
        table().row(["alone"]);
    }

    #[test]
    fn narrow_tables_keep_their_first_column_and_numbers() {
        let texts = ["", "rule", "what"].map(Column::text);
        let numbers = ["packets", "rate"].map(Column::number);
        let mut table = Table::new(texts.into_iter().chain(numbers));
        let what = "drop udp dport {19, 53, 123, 389, 1900} from @everywhere";
        table.row(["1", "amplification", what, "1.23 M", "45.6 kpps"]);
        let whole = table.to_string();
        assert_eq!(table.within(200), whole);
        for width in [80, 60, 40, 30] {
            let text = table.within(width);
            assert!(text.lines().all(|line| line.width() <= width), "{width}:\n{text}");
            assert!(text.contains("amplif") && text.contains("45.6 kpps"), "{width}:\n{text}");
        }
        assert!(table.within(60).contains("drop udp") && table.within(60).contains('…'));
        assert!(!table.within(40).contains("drop udp"), "{}", table.within(40));
        assert!(table.within(5).contains("amplif"), "one column is left");
    }
}
