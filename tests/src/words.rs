//! The command lines of campaigns.

/// The number after an option.
///
/// # Errors
/// There is no further word, or it is another one; with the usage.
pub fn number<'a>(
    words: &mut impl Iterator<Item = &'a String>,
    usage: &str,
) -> Result<u64, String> {
    let text = words.next().ok_or(usage)?;
    text.parse().map_err(|_| format!("invalid number `{text}`: {usage}"))
}
