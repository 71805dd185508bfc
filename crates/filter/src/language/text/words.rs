//! `Words`: the text of a rule as words.
//!
//! Words end at spaces. Braces, comparison signs and, within braces, commas are words of their own.
//! Text in double quotes is one word, in which a backslash escapes the next character.

use std::borrow::Cow;

use super::word::Word;
use super::{Error, Rule};

/// The words of a rule that were not read yet.
#[derive(Clone, Debug)]
pub(super) struct Words<'a> {
    text: &'a str,
    words: Vec<Word<'a>>,
    read: usize,
}

impl<'a> Words<'a> {
    /// Splits a text into words.
    ///
    /// # Errors
    /// A quote or brace is not closed.
    pub fn new(text: &'a str) -> Result<Self, Error> {
        let mut words = Vec::new();
        let (mut at, mut inside) = (0, false);
        while let Some(first) = text[at..].chars().next() {
            if first.is_whitespace() {
                at += first.len_utf8();
                continue;
            }
            let (word, length) = match first {
                '"' => quoted(text, at)?,
                _ => plain(text, at, inside),
            };
            inside = if inside { !word.is("}") } else { word.is("{") };
            at += length;
            words.push(word);
        }
        if inside {
            return Err(Error::end(text, "a closing `}`"));
        }
        Ok(Self { text, words, read: 0 })
    }

    /// Takes the next word; `None` at the end of the rule.
    pub fn next(&mut self) -> Option<Word<'a>> {
        let word = self.words.get(self.read).cloned();
        self.read += usize::from(word.is_some());
        word
    }

    /// The next word, which is not taken.
    pub fn peek(&self) -> Option<&Word<'a>> {
        self.words.get(self.read)
    }

    /// Takes the next word; `expected` describes it in the error at the end of the rule.
    pub fn expect(&mut self, expected: &str) -> Result<Word<'a>, Error> {
        self.next().ok_or_else(|| Error::end(self.text, expected))
    }

    /// Takes the next word if it is this one.
    pub fn take(&mut self, text: &str) -> bool {
        let found = self.peek().is_some_and(|word| word.is(text));
        self.read += usize::from(found);
        found
    }

    /// Takes the name before a rule, with its colon.
    pub fn label(&mut self) -> Result<Option<String>, Error> {
        let Some(word) = self.peek().filter(|word| !word.quoted) else { return Ok(None) };
        let Some(name) = word.text.strip_suffix(':') else { return Ok(None) };
        let name = checked(name, word)?;
        self.read += 1;
        Ok(Some(name))
    }

    /// Takes a name.
    pub fn name(&mut self) -> Result<String, Error> {
        let word = self.expect("a name")?;
        checked(&word.text, &word)
    }
}

fn checked(name: &str, word: &Word<'_>) -> Result<String, Error> {
    if Rule::is_name(name) {
        return Ok(name.to_owned());
    }
    Err(Error::at(word, "invalid name; expected up to 63 of a-z, A-Z, 0-9, `_`, `.` and `-`"))
}

fn plain(text: &str, at: usize, inside: bool) -> (Word<'_>, usize) {
    let rest = &text[at..];
    let ends = |letter: char| {
        letter.is_whitespace() || SIGNS.contains(letter) || (inside && letter == ',')
    };
    let length = match rest.find(ends) {
        Some(0) => SIGN_PAIRS.iter().find(|pair| rest.starts_with(**pair)).map_or(1, |it| it.len()),
        Some(length) => length,
        None => rest.len(),
    };
    (Word { text: Cow::Borrowed(&rest[..length]), at, quoted: false }, length)
}

fn quoted(text: &str, at: usize) -> Result<(Word<'_>, usize), Error> {
    let mut content = String::new();
    let mut letters = text[at..].char_indices().skip(1);
    while let Some((place, letter)) = letters.next() {
        match letter {
            '"' => {
                let word = Word { text: Cow::Owned(content), at, quoted: true };
                return Ok((word, place + 1));
            }
            '\\' => content.extend(letters.next().map(|(_, next)| next)),
            _ => content.push(letter),
        }
    }
    Err(Error::end(text, "a closing quote"))
}

const SIGNS: &str = "{}\"<>=!";
const SIGN_PAIRS: [&str; 4] = ["<=", ">=", "==", "!="];

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<(String, usize)> {
        let words = Words::new(text).unwrap().words;
        words.into_iter().map(|word| (word.text.into_owned(), word.at)).collect()
    }

    #[test]
    fn words_and_signs() {
        let words = |list: &[(&str, usize)]| -> Vec<(String, usize)> {
            list.iter().map(|(text, at)| ((*text).to_owned(), *at)).collect()
        };
        assert_eq!(split(""), []);
        assert_eq!(split(" a  b "), words(&[("a", 1), ("b", 4)]));
        assert_eq!(split("f a/b,c"), words(&[("f", 0), ("a/b,c", 2)]));
        assert_eq!(
            split("p {1,22-3}"),
            words(&[("p", 0), ("{", 2), ("1", 3), (",", 4), ("22-3", 5), ("}", 9)])
        );
        assert_eq!(split("t<=5"), words(&[("t", 0), ("<=", 1), ("5", 3)]));
        assert_eq!(split("t < 5"), words(&[("t", 0), ("<", 2), ("5", 4)]));
        assert_eq!(split(r#"e "a {\"b\\" c"#), words(&[("e", 0), ("a {\"b\\", 2), ("c", 13)]));
    }

    #[test]
    fn what_does_not_end() {
        for text in ["e \"abc", "e \"abc\\\"", "p {1, 2"] {
            let error = Words::new(text).unwrap_err();
            assert_eq!((error.word, error.at), (None, text.len()), "{text}");
        }
    }
}
