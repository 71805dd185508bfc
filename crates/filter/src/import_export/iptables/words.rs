//! Words of a line. Quoted ones are as `iptables-save` writes them: between `"`, with `\` before
//! `"` and `\`.

use crate::import_export::error::iptables::ImportError;
use crate::language::bounds::step;

/// Splits a line at spaces.
pub(super) fn split(line: &str) -> Result<Vec<String>, ImportError> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut is_quoted = false;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        step(1);
        match letter {
            '"' => {
                is_quoted = !is_quoted;
                word.get_or_insert_default();
            }
            '\\' if is_quoted => {
                word.get_or_insert_default().push(letters.next().ok_or(ImportError::Quote)?);
            }
            _ if letter.is_whitespace() && !is_quoted => words.extend(word.take()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    if is_quoted {
        return Err(ImportError::Quote);
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_keep_spaces() {
        let words = split(r#"-A  INPUT --comment "a \"b\" \\ c" "" -j x"y z""#).unwrap();
        assert_eq!(words, ["-A", "INPUT", "--comment", r#"a "b" \ c"#, "", "-j", "xy z"]);
        assert_eq!(split(r#"a "b"#), Err(ImportError::Quote));
        assert_eq!(split(r#"a "b\"#), Err(ImportError::Quote));
        assert_eq!(split(" "), Ok(Vec::new()));
    }
}
