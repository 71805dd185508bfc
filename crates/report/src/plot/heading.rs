//! What stands above and below the marks of every figure: title, subtitle, legend, notes.
//!
//! Rule: each part takes the y where it may start and returns the y where it ends.

use super::canvas::{Anchor, Area, Canvas, LEFT, RIGHT, balanced, letters};
use super::theme::{self, LETTER, LINE, SMALL_LETTER, TITLE_LETTER};

/// One entry of a legend: the classes of its swatch, and its name.
#[derive(Debug, Clone)]
pub(super) struct Key {
    pub swatch: String,
    pub name: String,
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

/// Swatches and names in as many lines as they need.
pub(super) fn legend(canvas: &mut Canvas, y: f64, keys: &[Key]) -> f64 {
    let (mut x, mut top) = (LEFT, y);
    for Key { swatch, name } in keys {
        let width = 40.0 + LETTER * name.chars().count() as f64;
        if x > LEFT && x + width > RIGHT {
            (x, top) = (LEFT, top + LINE);
        }
        canvas.rect(swatch, Area { x, y: top + 6.0, width: 16.0, height: 14.0 }, 2.0);
        canvas.text("", (x + 22.0, top + 19.0), Anchor::Start, name);
        x += width;
    }
    if keys.is_empty() { y } else { top + LINE + 4.0 }
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
