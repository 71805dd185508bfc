//! Text of what a comparison of runtimes left out.

use runner::NotCompared;

/// One line, or nothing.
pub fn text(left_out: &NotCompared) -> String {
    let counted = [(left_out.verdicts, "verdicts"), (left_out.packets, "bytes")];
    let counted = counted.into_iter().filter(|(count, _)| *count > 0);
    let mut parts: Vec<String> =
        counted.map(|(count, what)| format!("{what} of {count} packets")).collect();
    parts.extend(left_out.maps.keys().map(|map| format!("map `{map}`")));
    if parts.is_empty() {
        return String::new();
    }
    let causes: Vec<_> = left_out.causes.iter().copied().collect();
    let (parts, causes) = (parts.join(", "), causes.join(", "));
    format!("not compared, differs by nature ({causes}): {parts}\n")
}
