//! The words of an expression.

use std::net::{Ipv4Addr, Ipv6Addr};

use packet::Mac;

/// A word of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    Number(i128),
    /// An address in network order.
    Bytes(Vec<u8>),
    Name(String),
    Sign(&'static str),
}

/// Splits the text into words, each with its byte offset.
pub fn tokens(text: &str) -> Result<Vec<(usize, Token)>, String> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(next) = text[at..].chars().next() {
        if next.is_whitespace() {
            at += next.len_utf8();
            continue;
        }
        let (len, token) = token(&text[at..]).ok_or_else(|| format!("unexpected `{next}`"))??;
        tokens.push((at, token));
        at += len;
    }
    Ok(tokens)
}

fn token(text: &str) -> Option<Result<(usize, Token), String>> {
    let run = |accepts: fn(char) -> bool| text.find(|c| !accepts(c)).unwrap_or(text.len());
    let address = run(|c| c.is_ascii_hexdigit() || c == '.' || c == ':');
    if let Some(bytes) = self::address(&text[..address]) {
        return Some(Ok((address, Token::Bytes(bytes))));
    }
    let word = run(|c| c.is_ascii_alphanumeric() || "_#$".contains(c));
    if word > 0 {
        let name = &text[..word];
        return Some(match name.starts_with(|c: char| c.is_ascii_digit()) {
            true => number(name).map(|number| (word, Token::Number(number))),
            false => Ok((word, Token::Name(name.to_owned()))),
        });
    }
    if let Some(rest) = text.strip_prefix('\'') {
        let mut letters = rest.chars();
        return match (letters.next(), letters.next()) {
            (Some(letter), Some('\'')) => {
                let number = i128::from(u32::from(letter));
                Some(Ok((letter.len_utf8() + 2, Token::Number(number))))
            }
            _ => Some(Err("a character is written as 'x'".to_owned())),
        };
    }
    let sign = SIGNS.iter().find(|sign| text.starts_with(**sign))?;
    Some(Ok((sign.len(), Token::Sign(sign))))
}

fn number(word: &str) -> Result<i128, String> {
    let digits = word.replace('_', "").to_ascii_lowercase();
    let parsed = match digits.get(..2) {
        Some("0x") => u64::from_str_radix(&digits[2..], 16),
        Some("0b") => u64::from_str_radix(&digits[2..], 2),
        _ => digits.parse(),
    };
    parsed.map(i128::from).map_err(|_| format!("invalid number `{word}`"))
}

fn address(word: &str) -> Option<Vec<u8>> {
    if word.matches(':').count() == 5
        && let Ok(mac) = word.parse::<Mac>()
    {
        return Some(mac.0.to_vec());
    }
    if let Ok(v4) = word.parse::<Ipv4Addr>() {
        return Some(v4.octets().to_vec());
    }
    word.parse::<Ipv6Addr>().ok().map(|v6| v6.octets().to_vec())
}

/// Longer signs before those that they begin with.
const SIGNS: &[&str] = &[
    "->", "||", "&&", "==", "!=", "<=", ">=", "<<", ">>", "<", ">", "|", "^", "&", "+", "-", "*",
    "/", "%", "!", "~", "(", ")", "[", "]", ":", ".",
];
