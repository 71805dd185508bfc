//! A table, for a terminal (its `Display`) or for a page.
//!
//! Rule: a row has one cell for each column, and cell text cannot break the layout: hidden
//! characters are escaped. Widths are columns of a terminal, so wide scripts line up. Not here:
//! color, and the width of the terminal.

use std::fmt;

use unicode_width::UnicodeWidthStr;

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

    fn line(&self, cells: &[String], widths: &[usize]) -> String {
        let cells = self.columns.iter().zip(cells).zip(widths);
        let cells: Vec<_> =
            cells.map(|((column, cell), width)| column.aligned(cell, *width)).collect();
        cells.join("  ").trim_end().to_owned()
    }
}

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
}
