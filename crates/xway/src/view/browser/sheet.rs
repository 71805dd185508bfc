//! `Sheet`: a table whose rows can be sorted by any column.

use std::cmp::Ordering;

use report::number::human;
use report::table::{Column, Table};

/// A table with a name.
#[derive(Clone, Debug)]
pub struct Sheet {
    pub name: &'static str,
    headings: Vec<Heading>,
    rows: Vec<Vec<Cell>>,
    /// Shown instead of rows where there are none.
    pub empty: String,
}

/// What the reader chose for a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// Number of the column that rows are sorted by; the table's own order without it.
    pub sort: Option<usize>,
    pub is_reversed: bool,
    /// Text that rows must contain; case does not matter.
    pub filter: String,
    /// Number of rows above the first one that is shown.
    pub skipped: usize,
}

/// The heading of a column.
#[derive(Clone, Copy, Debug)]
pub struct Heading {
    name: &'static str,
    is_number: bool,
}

impl Heading {
    /// A column of text.
    pub const fn text(name: &'static str) -> Self {
        Self { name, is_number: false }
    }

    /// A column of numbers, which is sorted with the largest first.
    pub const fn number(name: &'static str) -> Self {
        Self { name, is_number: true }
    }
}

/// A cell: its text, and its number if it has one.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    text: String,
    number: Option<f64>,
}

impl Cell {
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), number: None }
    }

    /// A number with a unit, in a form that people read.
    pub fn number(number: f64, unit: &str) -> Self {
        Self { text: human(number, unit), number: Some(number) }
    }

    /// A number with all its digits.
    pub fn count(number: usize) -> Self {
        Self { text: number.to_string(), number: Some(number as f64) }
    }

    /// A number that is not known.
    pub fn unknown() -> Self {
        Self { text: "-".to_owned(), number: None }
    }

    fn compare(&self, other: &Self) -> Ordering {
        match (self.number, other.number) {
            (Some(one), Some(two)) => one.total_cmp(&two),
            (one, two) => one.is_some().cmp(&two.is_some()).then(self.text.cmp(&other.text)),
        }
    }
}

impl Sheet {
    pub fn new(name: &'static str, headings: impl IntoIterator<Item = Heading>) -> Self {
        let headings = headings.into_iter().collect();
        Self { name, headings, rows: Vec::new(), empty: String::new() }
    }

    /// Adds a row, which has one cell for each heading.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(cells.into_iter().collect());
    }

    pub fn columns(&self) -> usize {
        self.headings.len()
    }

    /// Number of rows that contain the filter's text.
    pub fn len(&self, choice: &Choice) -> usize {
        self.rows.iter().filter(|row| contains(row, &choice.filter)).count()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// All rows in the table's own order.
    pub fn table(&self) -> Table {
        self.shown(&Choice::default(), usize::MAX)
    }

    /// The rows that the choice shows, at most `height` of them. The heading of the column that
    /// sorts them has a mark.
    pub fn shown(&self, choice: &Choice, height: usize) -> Table {
        let columns = self.headings.iter().enumerate().map(|(number, heading)| {
            let mark = match (choice.sort == Some(number), is_descending(heading, choice)) {
                (false, _) => "",
                (true, true) => "▼",
                (true, false) => "▲",
            };
            let name = format!("{}{mark}", heading.name);
            if heading.is_number { Column::number(&name) } else { Column::text(&name) }
        });
        let mut table = Table::new(columns);
        let rows = self.ordered(choice).into_iter().skip(choice.skipped).take(height);
        rows.for_each(|row| {
            table.row(row.iter().map(|cell| cell.text.as_str()));
        });
        table
    }

    fn ordered(&self, choice: &Choice) -> Vec<&Vec<Cell>> {
        let matching = self.rows.iter().filter(|row| contains(row, &choice.filter));
        let mut rows: Vec<_> = matching.collect();
        if let Some((column, heading)) =
            choice.sort.and_then(|column| Some((column, self.headings.get(column)?)))
        {
            rows.sort_by(|one, two| one[column].compare(&two[column]));
            if is_descending(heading, choice) {
                rows.reverse();
            }
        } else if choice.is_reversed {
            rows.reverse();
        }
        rows
    }
}

fn is_descending(heading: &Heading, choice: &Choice) -> bool {
    heading.is_number != choice.is_reversed
}

fn contains(row: &[Cell], filter: &str) -> bool {
    let filter = filter.to_lowercase();
    filter.is_empty() || row.iter().any(|cell| cell.text.to_lowercase().contains(&filter))
}
