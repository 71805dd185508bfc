//! A line as tokens.
//!
//! Rule: total. A character that belongs to nothing becomes a token of its own, which no grammar
//! accepts, so that one place alone reports mistakes. Comments start with `;`, `//` or a `#` that
//! follows white space (`call bpf_redirect#23` contains none).

/// A piece of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::asm) struct Token<'a> {
    /// Kind of the token.
    pub kind: Kind,
    /// Text of the token.
    pub text: &'a str,
    /// Byte in the line where it starts.
    pub at: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::asm) enum Kind {
    /// A mnemonic, register, label or keyword.
    Word,
    /// Starts with a digit.
    Number,
    Symbol,
    /// The text between the brackets right after `map`, `btf`, `ksym` or `subprog`: a name may
    /// contain any character.
    Name,
    /// Text in double quotes, with the quotes.
    Text,
}

pub(super) fn tokens(line: &str) -> Vec<Token<'_>> {
    let line = without_comment(line);
    let mut tokens: Vec<Token<'_>> = Vec::new();
    let mut at = 0;
    while let Some(c) = line[at..].chars().next() {
        if c.is_whitespace() {
            at += c.len_utf8();
            continue;
        }
        let glued = tokens.last().filter(|last| last.at + last.text.len() == at);
        let token = next(&line[at..], at, glued);
        at += token.text.len();
        if token.kind == Kind::Name {
            let brackets = Token { text: &token.text[1..token.text.len() - 1], ..token };
            tokens.push(Token { at: token.at + 1, ..brackets });
        } else {
            tokens.push(token);
        }
    }
    tokens
}

/// The token that `rest`, which is not empty, starts with.
fn next<'a>(rest: &'a str, at: usize, glued: Option<&Token<'_>>) -> Token<'a> {
    let first = rest.chars().next().unwrap_or_default();
    let (kind, len) = if let Some(len) = name(rest, glued) {
        (Kind::Name, len)
    } else if first == '"' {
        quoted(rest)
    } else if let Some(symbol) = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
        (Kind::Symbol, symbol.len())
    } else if first.is_ascii_digit() {
        (Kind::Number, run(rest))
    } else if is_word(first) {
        (Kind::Word, run(rest))
    } else if first == '%' && rest[1..].starts_with(is_word) {
        (Kind::Word, 1 + run(&rest[1..]))
    } else {
        (Kind::Symbol, first.len_utf8())
    };
    Token { kind, text: &rest[..len], at }
}

/// `"…"`, in which a backslash keeps the quote after it from ending it. Without an end it is the
/// whole rest of the line, so that each line is searched once.
fn quoted(rest: &str) -> (Kind, usize) {
    let mut escaped = false;
    let end = rest.bytes().skip(1).position(|byte| {
        let end = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        end
    });
    end.map_or((Kind::Symbol, rest.len()), |end| (Kind::Text, end + 2))
}

/// Length of `[…]` after a word that introduces a name.
fn name(rest: &str, glued: Option<&Token<'_>>) -> Option<usize> {
    let named = glued.is_some_and(|word| NAMERS.contains(&word.text));
    if !named || !rest.starts_with('[') {
        return None;
    }
    let end = rest.bytes().take(NAME).position(|byte| byte == b']')?;
    Some(end + 1)
}

fn run(rest: &str) -> usize {
    rest.find(|c: char| !is_word(c)).unwrap_or(rest.len())
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '.' | '$' | '@')
}

fn without_comment(line: &str) -> &str {
    let mut before = ' ';
    let mut quoted_until = 0;
    for (at, c) in line.char_indices() {
        if at < quoted_until {
            continue;
        }
        if c == '"' {
            quoted_until = at + quoted(&line[at..]).1;
        }
        let comment = match c {
            ';' => true,
            '#' => before.is_whitespace(),
            '/' => line[at..].starts_with("//"),
            _ => false,
        };
        if comment {
            return &line[..at];
        }
        before = c;
    }
    line
}

/// Bytes of a name in brackets: none of an object is longer, and a bracket that nothing closes is
/// not searched to the end of the line each time.
const NAME: usize = 1 << 10;

const NAMERS: [&str; 4] = ["map", "btf", "ksym", "subprog"];

/// Longer ones first: the first that fits is taken. Single characters need no entry.
const SYMBOLS: &[&str] = &[
    "s>>=", "s>=", "s<=", "s/=", "s%=", "<<=", ">>=", "s>", "s<", "==", "!=", ">=", "<=", "+=",
    "-=", "*=", "/=", "%=", "&=", "|=", "^=",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_that_nothing_closes() {
        let line = "map[".repeat(20_000);
        assert_eq!(tokens(&line).len(), 40_000);
        let long = format!("map[{}]", "a".repeat(NAME));
        assert_eq!(tokens(&long)[1].text, "[", "longer than any name");
    }

    #[test]
    fn lines_fall_apart_where_one_expects() {
        for (line, expected) in [
            ("", ""),
            ("   # nothing", ""),
            ("mov %r0, -1 # why", "mov %r0 , - 1"),
            ("ldxw %r1,[%r2+0x4]", "ldxw %r1 , [ %r2 + 0x4 ]"),
            ("r2 = *(u32 *)(r1 +4)", "r2 = * ( u32 * ) ( r1 + 4 )"),
            ("w1 s>>= 3", "w1 s>>= 3"),
            ("r1 s%= r2 // odd", "r1 s%= r2"),
            ("r1 %= r2", "r1 %= r2"),
            ("r1 %=%r2", "r1 %= %r2"),
            ("if r1 s< r2 goto L1", "if r1 s< r2 goto L1"),
            ("call bpf_redirect#23 ; r0", "call bpf_redirect # 23"),
            ("r1 = map[.bss][0]+8", "r1 = map .bss [ 0 ] + 8"),
            ("r1 = map[a b]", "r1 = map a b"),
            ("r1 = map[open", "r1 = map [ open"),
            (r#".ascii "a # b; c" # d"#, r#".ascii "a # b; c""#),
            (r#""\"" "\\" ; d"#, r#""\"" "\\""#),
            (r#"" a ; b"#, r#"" a ; b"#),
            ("skb[r1 + 2]", "skb [ r1 + 2 ]"),
            ("é§", "é §"),
        ] {
            let texts: Vec<_> = tokens(line).into_iter().map(|token| token.text).collect();
            assert_eq!(texts.join(" "), expected, "{line}");
        }
    }
}
