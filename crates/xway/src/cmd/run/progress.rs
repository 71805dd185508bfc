//! A progress bar for large captures.

use std::io::IsTerminal;
use std::sync::OnceLock;

use indicatif::{ProgressBar, ProgressStyle};
use runner::Progress;

/// A function that shows the progress, until it is dropped.
pub fn shown() -> impl Fn(Progress) + Send + Sync {
    let shown = OnceLock::new();
    move |progress: Progress| {
        shown.get_or_init(|| bar(progress.size)).set_position(progress.bytes);
    }
}

/// A progress bar, hidden for small captures and without a terminal; cleared when it is dropped.
fn bar(size: u64) -> ProgressBar {
    if size < BIG || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let template = "{bar:40} {bytes}/{total_bytes} {bytes_per_sec} {eta}";
    let style = ProgressStyle::with_template(template);
    ProgressBar::new(size).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

/// Bytes of a capture from which a progress bar is shown.
const BIG: u64 = 8 << 20;
