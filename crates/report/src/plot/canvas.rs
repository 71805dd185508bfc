//! The SVG writer: the only place where a figure's markup is made.
//!
//! Rule: coordinates are finite and text is escaped, so no figure can be malformed. Lengths are
//! in units of the view box, [`WIDTH`] of which are the picture's width.

use std::borrow::Cow;
use std::fmt;

use textwrap::{Options, WordSplitter};

use super::theme;
use crate::escape;

/// A whole `<svg>` element; only this crate's figures make one, so it can be put in a page as is.
#[derive(Debug, Clone, PartialEq)]
pub struct Svg(String);

impl Svg {
    /// The markup of the figure.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Svg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[derive(Debug, Default)]
pub(super) struct Canvas {
    body: String,
}

/// Which end of a text its position names.
#[derive(Debug, Clone, Copy)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Area {
    /// Left edge.
    pub x: f64,
    /// Upper edge.
    pub y: f64,
    /// Width of the area.
    pub width: f64,
    /// Height of the area.
    pub height: f64,
}

impl Area {
    /// Right edge.
    pub fn right(&self) -> f64 {
        self.x + self.width
    }

    /// Lower edge.
    pub fn bottom(&self) -> f64 {
        self.y + self.height
    }
}

/// The view box's width, and the margin at each side of it.
pub(super) const WIDTH: f64 = 640.0;
pub(super) const LEFT: f64 = 20.0;
pub(super) const RIGHT: f64 = WIDTH - LEFT;

impl Canvas {
    /// `radius` rounds the corners.
    pub fn rect(&mut self, class: &str, area: Area, radius: f64) {
        let [x, y] = [area.x, area.y].map(length);
        let [width, height, r] = [area.width, area.height, radius].map(length);
        let place = format!("x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"{r}\"");
        self.element(&format!("<rect class=\"{class}\" {place}/>"));
    }

    /// Straight lines from point to point; `closed` joins the last to the first.
    pub fn path(&mut self, class: &str, points: &[(f64, f64)], closed: bool) {
        let mut d = String::new();
        for (index, (x, y)) in points.iter().enumerate() {
            let step = if index == 0 { "M" } else { "L" };
            d.extend([step, &length(*x), " ", &length(*y)]);
        }
        let end = if closed { "Z" } else { "" };
        self.element(&format!("<path class=\"{class}\" d=\"{d}{end}\"/>"));
    }

    /// One line of text with its base line at `at`; empty text writes nothing.
    pub fn text(&mut self, class: &str, at: (f64, f64), anchor: Anchor, words: &str) {
        if words.is_empty() {
            return;
        }
        let [x, y] = [at.0, at.1].map(length);
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let words = escape::markup(words);
        self.element(&format!(
            "<text class=\"{class}\" x=\"{x}\" y=\"{y}\"{anchor}>{words}</text>"
        ));
    }

    /// The figure, on a card of `height`; `label` is read to those who do not see it.
    pub fn finish(self, label: &str, height: f64) -> Svg {
        let mut card = Canvas::default();
        let area = Area { x: 0.5, y: 0.5, width: WIDTH - 1.0, height: height - 1.0 };
        card.rect("card", area, 10.0);
        let size = format!("viewBox=\"0 0 {} {}\"", length(WIDTH), length(height));
        let head = "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"xway\" role=\"img\"";
        let label = escape::markup(label);
        let style = theme::STYLE;
        let (card, body) = (card.body, self.body);
        Svg(format!(
            "{head} {size} aria-label=\"{label}\">\n<style>\n{style}</style>\n{card}{body}</svg>\n"
        ))
    }

    fn element(&mut self, markup: &str) {
        self.body.push_str(markup);
        self.body.push('\n');
    }
}

/// A length to a tenth of a unit, in as few characters as it takes.
fn length(value: f64) -> String {
    assert!(value.is_finite(), "figures are laid out in finite numbers");
    format!("{}", (value * 10.0).round() / 10.0 + 0.0)
}

/// `text` in lines of at most `limit` characters, broken at spaces; longer words are cut.
pub(super) fn wrap(text: &str, limit: usize) -> Vec<String> {
    let words: Vec<_> = text.split_whitespace().map(|word| clip(word, limit)).collect();
    let options = Options::new(limit).break_words(false).word_splitter(WordSplitter::NoHyphenation);
    let text = words.join(" ");
    let lines = textwrap::wrap(&text, options);
    lines.into_iter().filter(|line| !line.is_empty()).map(Cow::into_owned).collect()
}

/// As [`wrap`], in lines of about the same length.
pub(super) fn balanced(text: &str, limit: usize) -> Vec<String> {
    let greedy = wrap(text, limit);
    let least = text.chars().count() / greedy.len().max(1);
    let longest_word = text.split_whitespace().map(|word| word.chars().count()).max();
    let from = least.max(longest_word.unwrap_or(0)).min(limit);
    let narrower = (from..limit).map(|limit| wrap(text, limit));
    narrower.into_iter().find(|lines| lines.len() == greedy.len()).unwrap_or(greedy)
}

/// `text` cut to `limit` characters, with an ellipsis where something is missing.
pub(super) fn clip(text: &str, limit: usize) -> String {
    if text.chars().count() <= limit {
        return text.to_owned();
    }
    let mut cut: String = text.chars().take(limit.saturating_sub(1)).collect();
    cut.push('…');
    cut
}

/// How many letters of width `letter` fit in `width`.
pub(super) fn letters(width: f64, letter: f64) -> usize {
    (width / letter).floor().max(1.0) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_short() {
        let table = [(0.0, "0"), (-0.01, "0"), (1.25, "1.3"), (640.0, "640"), (0.1 + 0.2, "0.3")];
        for (value, want) in table {
            assert_eq!(length(value), want);
        }
    }

    #[test]
    fn text_is_wrapped_and_clipped() {
        assert_eq!(wrap("flood, native XDP", 12), ["flood,", "native XDP"]);
        assert_eq!(wrap("unbreakable", 6), ["unbre…"]);
        assert_eq!(wrap("  ", 6), Vec::<String>::new());
        assert_eq!(wrap("one two three four", 14), ["one two three", "four"]);
        assert_eq!(balanced("one two three four", 14), ["one two", "three four"]);
        assert_eq!(balanced("unbreakable", 6), ["unbre…"]);
        assert_eq!(balanced("", 6), Vec::<String>::new());
        assert_eq!(clip("µµµµ", 4), "µµµµ");
        assert_eq!(clip("", 1), "");
    }
}
