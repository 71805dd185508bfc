//! What stands above and below the marks of every figure: title, subtitle, legend, notes.
//!
//! Rule: each part takes the y where it may start and returns the y where it ends.

use super::canvas::{Anchor, Area, Canvas, LEFT, RIGHT, balanced, clip, letters};
use super::marker::marker;
use super::theme::{self, LETTER, LINE, SMALL_LETTER, TITLE_LETTER};

/// One entry of a legend.
#[derive(Debug, Clone)]
pub(super) struct Key {
    /// The sample of color and shape.
    pub swatch: Swatch,
    /// Name of the series.
    pub name: String,
}

/// What stands before a name in a legend.
#[derive(Debug, Clone)]
pub(super) enum Swatch {
    /// A box of these classes.
    Box(String),
    /// A piece of a line of these classes.
    Line(String),
    /// The line of this series, with its marker.
    Curve(usize),
}

/// Title in bold and subtitle below it, both wrapped.
pub(super) fn heading(canvas: &mut Canvas, title: &str, subtitle: &str) -> f64 {
    let mut y = 12.0;
    for line in balanced(title, letters(RIGHT - LEFT, TITLE_LETTER)) {
        y += LINE + 2.0;
        canvas.text("title", (LEFT, y - 4.0), Anchor::Start, &line);
    }
    note(canvas, y, subtitle) + 10.0
}

/// Soft small text over the whole width.
pub(super) fn note(canvas: &mut Canvas, mut y: f64, words: &str) -> f64 {
    for line in balanced(words, letters(RIGHT - LEFT, SMALL_LETTER)) {
        y += LINE - 3.0;
        canvas.text("small soft", (LEFT, y - 5.0), Anchor::Start, &line);
    }
    y
}

/// Draws swatches and names, wrapped to the width.
pub(super) fn legend(canvas: &mut Canvas, y: f64, keys: &[Key]) -> f64 {
    let (mut x, mut top) = (LEFT, y);
    for Key { swatch, name } in keys {
        let name = clip(name, letters(RIGHT - LEFT - KEY, LETTER));
        let width = swatch.width() + KEY + LETTER * name.chars().count() as f64;
        if x > LEFT && x + width > RIGHT {
            (x, top) = (LEFT, top + LINE);
        }
        swatch.draw(canvas, x, top + 13.0);
        canvas.text("", (x + swatch.width() + 6.0, top + 19.0), Anchor::Start, &name);
        x += width;
    }
    if keys.is_empty() { y } else { top + LINE + 4.0 }
}

impl Swatch {
    fn width(&self) -> f64 {
        if matches!(self, Swatch::Box(_)) { 16.0 } else { 32.0 }
    }

    /// With its middle at the height `y`.
    fn draw(&self, canvas: &mut Canvas, x: f64, y: f64) {
        let line = [(x, y), (x + self.width(), y)];
        match self {
            Swatch::Box(class) => {
                let area = Area { x, y: y - 7.0, width: self.width(), height: 14.0 };
                canvas.rect(class, area, 2.0);
            }
            Swatch::Line(class) => canvas.path(class, &line, false),
            Swatch::Curve(series) => {
                canvas.path(&format!("{} line", theme::colour(*series)), &line, false);
                marker(canvas, *series, (x + self.width() / 2.0, y), false);
            }
        }
    }
}

/// The remark below lighter marks, with where they come from.
pub(super) fn references(canvas: &mut Canvas, y: f64, sources: &[String]) -> f64 {
    if sources.is_empty() {
        return y;
    }
    let words = format!("Lighter, dashed: other hardware ({})", sources.join("; "));
    note(canvas, y + 2.0, &words)
}

/// The classes of a bar, measured here or elsewhere.
pub(super) fn bar_class(series: usize, is_reference: bool) -> String {
    format!("{} {}", theme::colour(series), if is_reference { "reference" } else { "bar" })
}

/// What a key takes beside its swatch and its name.
const KEY: f64 = 24.0;
