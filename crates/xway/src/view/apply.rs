//! Text of `apply` and `save`.

use control::apply::{Change, FileError, InterfacePlan, Plan, Saved};
use serde::Serialize;

use super::{Paint, View};

/// What `apply --check` found.
#[derive(Debug, Serialize)]
pub struct Checked {
    /// Number of files.
    pub files: usize,
    /// Files that are not valid.
    pub errors: Vec<FileError>,
}

impl View for Checked {
    fn text(&self, style: Paint) -> String {
        let mut lines = failures(&self.errors, style);
        let valid = self.files - self.errors.len();
        lines.push(match self.files {
            1 => format!("{valid} of 1 file is valid"),
            files => format!("{valid} of {files} files are valid"),
        });
        lines.join("\n")
    }
}

impl View for Plan {
    fn text(&self, style: Paint) -> String {
        let mut lines: Vec<_> = self.interfaces.iter().map(|one| interface(one, style)).collect();
        lines.extend(failures(&self.errors, style));
        if lines.is_empty() {
            lines.push("no interface is declared".to_owned());
        }
        lines.join("\n")
    }
}

fn interface(one: &InterfacePlan, style: Paint) -> String {
    let outcome = match one {
        InterfacePlan { error: Some(error), .. } => painted(&format!("failed: {error}"), style),
        InterfacePlan { present: false, .. } => "no such interface yet".to_owned(),
        InterfacePlan { changes, .. } if changes.is_empty() => "unchanged".to_owned(),
        InterfacePlan { applied: true, .. } => "changed".to_owned(),
        _ => "would change".to_owned(),
    };
    let mut lines = vec![format!("{}: {outcome}", style.bold(&one.name))];
    lines.extend(one.changes.iter().flat_map(|change| change_lines(change, &one.name, style)));
    lines.join("\n")
}

/// A change; of another interface than that of the declaration, with its name.
fn change_lines(change: &Change, own: &str, style: Paint) -> Vec<String> {
    let coloured = |line: &String| match line.as_bytes().first() {
        Some(b'-') => style.bad(line),
        Some(b'+') => style.good(line),
        _ => line.clone(),
    };
    let diff = change.diff.iter().map(|line| format!("      {}", coloured(line)));
    let place =
        if change.interface == own { String::new() } else { format!(" on {}", change.interface) };
    std::iter::once(format!("  {}{place}", change.text)).chain(diff).collect()
}

fn failures(errors: &[FileError], style: Paint) -> Vec<String> {
    errors.iter().map(|one| painted(&one.error, style)).collect()
}

/// An error of one or several lines.
fn painted(error: &str, style: Paint) -> String {
    error.trim_end().lines().map(|line| style.bad(line)).collect::<Vec<_>>().join("\n")
}

impl View for Saved {
    fn text(&self, _style: Paint) -> String {
        let written = self.written.iter().map(|path| format!("wrote {}", path.display()));
        let same = self.unchanged.iter().map(|path| format!("{} is up to date", path.display()));
        let skipped = self
            .skipped
            .iter()
            .map(|one| format!("{} is not saved: {}", one.interface, one.reason));
        let lines: Vec<_> = written.chain(same).chain(skipped).collect();
        if lines.is_empty() { "no interface runs a program".to_owned() } else { lines.join("\n") }
    }
}
