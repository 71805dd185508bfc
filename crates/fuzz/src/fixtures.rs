//! Headers of fixtures that the balancer is compared with.

use runner::fixtures::read_header;

/// Any text as a header: what is read has packets of bounded size.
pub fn header(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let Ok(header) = read_header("any.h", &text) else { return };
    for case in header.cases {
        assert!(case.input.len().max(case.expected.frame.len()) < 1 << 17, "{}", case.line);
    }
}
