//! Removes what killed runs left on a host.
//!
//! Rule: a name holds its process and when that started (`owner`), so only what has no owner any
//! more is removed. In a lab all of it goes with the namespaces.

use std::process::Stdio;

use anyhow::Result;
use sys::process::Process;

use super::Place;
use super::owner::PREFIX;

/// Deletes the nft tables of processes that have ended; returns their number. Without `nft` there
/// are none.
pub fn sweep(place: &Place) -> Result<usize> {
    let Some(list) = nft(place, &["list", "tables"])? else { return Ok(0) };
    let dead: Vec<(&str, &str)> = list.lines().filter_map(table).filter(is_dead).collect();
    for (family, name) in &dead {
        nft(place, &["delete", "table", family, name])?;
    }
    Ok(dead.len())
}

/// The output of a command; empty if there is no such program, or it fails.
fn nft(place: &Place, words: &[&str]) -> Result<Option<String>> {
    let mut command = place.command("nft")?;
    let Ok(output) = command.args(words).stdin(Stdio::null()).output() else { return Ok(None) };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(output.status.success().then_some(text))
}

/// Family and name of a line such as `table ip xway-bench-17-4711`.
fn table(line: &str) -> Option<(&str, &str)> {
    let mut words = line.split_whitespace();
    let ("table", family, name) = (words.next()?, words.next()?, words.next()?) else {
        return None;
    };
    Some((family, name))
}

/// Whether it is a table of this project without a living owner.
fn is_dead((_, name): &(&str, &str)) -> bool {
    let owner = name.strip_prefix(PREFIX).and_then(|rest| {
        let (pid, started) = rest.split_once('-')?;
        Some(Process { pid: pid.parse().ok()?, started: started.parse().ok()? })
    });
    owner.is_some_and(|owner| Process::of(owner.pid) != Ok(owner))
}

#[cfg(test)]
mod tests {
    use super::super::owner::name;
    use super::*;

    #[test]
    fn only_tables_of_dead_runs_are_taken_away() {
        let own = name().unwrap();
        let pid = std::process::id();
        let table_of = |name: &str| format!("table netdev {name}");
        for (name, dead) in [
            (own.as_str(), false),
            (&format!("{PREFIX}{pid}-1"), true),
            (&format!("{PREFIX}{}-1", u32::MAX), true),
            ("filter", false),
            ("xway-bench", false),
            (&format!("{PREFIX}17"), false),
            (&format!("{PREFIX}17-x"), false),
        ] {
            let line = table_of(name);
            assert_eq!(table(&line).filter(is_dead).is_some(), dead, "{name}");
        }
        assert_eq!(table("chain x y"), None);
    }
}
