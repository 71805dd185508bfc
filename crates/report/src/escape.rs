//! External text, made safe for HTML, SVG and Markdown; for a terminal it is `text`.
//!
//! Rule: everything that comes from outside passes through here once, where it is written.

use crate::text;

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
            c if text::is_hidden(c) => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// `text` as one line of Markdown that is only text.
pub(crate) fn markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text::line(text).chars() {
        if "\\`*_[]<>|#~".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
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
        assert_eq!(markdown("a_b <b>\n[x](y) `rm`"), "a\\_b \\<b\\>\\\\n\\[x\\](y) \\`rm\\`");
    }
}
