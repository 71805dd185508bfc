//! Remarks on single marks, numbered where they are pointed at and written below the picture.
//!
//! Rule: one text has one number, however many marks it is of.

use super::canvas::Canvas;
use super::heading::note;

#[derive(Debug, Clone, Default)]
pub(super) struct Footnotes {
    texts: Vec<String>,
}

impl Footnotes {
    /// The sign of `text`, for the name of what it is about.
    pub fn sign(&mut self, text: &str) -> String {
        let known = self.texts.iter().position(|known| known == text);
        let at = known.unwrap_or_else(|| {
            self.texts.push(text.into());
            self.texts.len() - 1
        });
        raised(at + 1)
    }

    /// Draws the footnotes from `y` on; returns the position below them.
    pub fn draw(&self, canvas: &mut Canvas, y: f64) -> f64 {
        let numbered = self.texts.iter().enumerate();
        numbered
            .fold(y, |y, (at, text)| note(canvas, y + 2.0, &format!("{} {text}", raised(at + 1))))
    }
}

fn raised(number: usize) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let digits = number.to_string();
    digits.chars().filter_map(|digit| Some(DIGITS[digit.to_digit(10)? as usize])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_text_has_one_number() {
        let mut notes = Footnotes::default();
        assert_eq!(["a", "b", "a"].map(|text| notes.sign(text)), ["¹", "²", "¹"]);
        assert_eq!(raised(10), "¹⁰");
    }
}
