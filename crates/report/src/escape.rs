//! Text from outside, made safe for HTML, SVG and a terminal.
//!
//! Rule: everything that comes from outside passes through here once, where it is written.

/// `text` for element content and for attribute values in double quotes; control characters,
/// which XML refuses, become U+FFFD.
pub(crate) fn markup(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(c),
            c if is_unprintable(c) => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// `text` as one line of a terminal: no escape sequence, line break or change of direction.
pub(crate) fn terminal(text: &str) -> String {
    text.chars().map(|c| if is_unprintable(c) { '\u{fffd}' } else { c }).collect()
}

/// `text` as one line of Markdown that is only text.
pub(crate) fn markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in terminal(text).chars() {
        if "\\`*_[]<>|#~".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

fn is_unprintable(c: char) -> bool {
    let bidi =
        matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || bidi || matches!(c, '\u{fffe}' | '\u{ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_has_no_live_character() {
        let table = [
            ("a<b", "a&lt;b"),
            ("</script>", "&lt;/script&gt;"),
            ("\" onload='x'", "&quot; onload=&#39;x&#39;"),
            ("&amp;", "&amp;amp;"),
            ("nul\0esc\x1b", "nul\u{fffd}esc\u{fffd}"),
            ("two\nlines", "two\nlines"),
            ("µs · 12 %", "µs · 12 %"),
        ];
        for (text, want) in table {
            assert_eq!(markup(text), want);
        }
    }

    #[test]
    fn markdown_is_only_text() {
        assert_eq!(markdown("a_b <b>\n[x](y) `rm`"), "a\\_b \\<b\\>\u{fffd}\\[x\\](y) \\`rm\\`");
    }

    #[test]
    fn terminal_text_stays_on_its_line() {
        assert_eq!(terminal("\x1b[31mred\n\u{202e}x"), "\u{fffd}[31mred\u{fffd}\u{fffd}x");
    }
}
