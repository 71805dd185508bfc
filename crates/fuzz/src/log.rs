//! What the kernel's verifier writes.

use kernel::VerifierLog;

/// Any text as a log: the decisive line, a hint, and the annotated log.
pub fn parse(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let log = VerifierLog::parse(&text);
    let _ = (log.hint(), log.annotated(), log.to_string());
}
