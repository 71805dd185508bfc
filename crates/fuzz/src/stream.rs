//! Streams of the generator.

use traffic::stream::File;

/// Streams as TOML or JSON: an error with its place, or templates.
pub fn file(bytes: &[u8]) {
    let Some(text) = super::text(bytes) else { return };
    let Ok(file) = File::parse(text) else { return };
    let _ = file.templates(1500);
}
