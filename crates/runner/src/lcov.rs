//! Coverage as `lcov` tracefiles have it (geninfo(1)): what `genhtml` and code hosts read.
//!
//! A conditional jump is a block of its own with two branches: 0 taken, 1 not taken.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::results::{Covered, CoveredLine};

/// The whole file, one record a source file.
pub fn lcov(covered: &Covered) -> String {
    let files: BTreeSet<_> = covered.lines.iter().map(|line| line.file.as_str()).collect();
    let records = files.into_iter().map(|file| record(covered, file));
    records.collect::<Vec<_>>().concat()
}

fn record(covered: &Covered, file: &str) -> String {
    let lines: Vec<_> = covered.lines.iter().filter(|line| line.file == file).collect();
    let mut text = format!("TN:\nSF:{file}\n");
    functions(&mut text, covered, file);
    branches(&mut text, &lines);
    for line in &lines {
        add(&mut text, format_args!("DA:{},{}", line.line, line.hits));
    }
    let hit = lines.iter().filter(|line| line.hits > 0).count();
    add(&mut text, format_args!("LF:{}\nLH:{hit}\nend_of_record", lines.len()));
    text
}

/// A function that several programs hold counts once.
fn functions(text: &mut String, covered: &Covered, file: &str) {
    let mut functions: BTreeMap<(u32, &str), u64> = BTreeMap::new();
    for function in covered.functions.iter().filter(|function| function.file == file) {
        *functions.entry((function.line, &function.name)).or_default() += function.hits;
    }
    for (line, name) in functions.keys() {
        add(text, format_args!("FN:{line},{name}"));
    }
    for ((_, name), hits) in &functions {
        add(text, format_args!("FNDA:{hits},{name}"));
    }
    let hit = functions.values().filter(|hits| **hits > 0).count();
    add(text, format_args!("FNF:{}\nFNH:{hit}", functions.len()));
}

fn branches(text: &mut String, lines: &[&CoveredLine]) {
    let (mut all, mut hit) = (0, 0);
    for line in lines {
        for (block, counts) in line.branches.iter().enumerate() {
            for (branch, count) in [counts.taken, counts.not_taken].into_iter().enumerate() {
                let reached = counts.taken + counts.not_taken > 0;
                let count = if reached { count.to_string() } else { "-".to_owned() };
                add(text, format_args!("BRDA:{},{block},{branch},{count}", line.line));
            }
            all += 2;
            hit += counts.hit();
        }
    }
    add(text, format_args!("BRF:{all}\nBRH:{hit}"));
}

fn add(text: &mut String, line: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _always = writeln!(text, "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{BranchCounts, CoveredFunction};

    fn function(program: &str, hits: u64) -> CoveredFunction {
        CoveredFunction {
            program: program.to_owned(),
            name: "parse".to_owned(),
            file: "a.c".to_owned(),
            line: 3,
            hits,
            lines: 2,
            lines_hit: 1,
            branches: 4,
            branches_hit: 1,
        }
    }

    #[test]
    fn a_record_has_functions_branches_and_lines() {
        let line = |file: &str, line, hits, branches| CoveredLine {
            file: file.to_owned(),
            line,
            text: String::new(),
            hits,
            branches,
        };
        let counts = |taken, not_taken| BranchCounts { taken, not_taken };
        let covered = Covered {
            runs: 4,
            functions: vec![function("one", 4), function("other", 1)],
            lines: vec![
                line("a.c", 3, 5, vec![counts(0, 5), counts(0, 0)]),
                line("a.c", 4, 0, vec![]),
                line("b.h", 9, 1, vec![]),
            ],
            instructions: Vec::new(),
        };
        let want = "TN:\nSF:a.c\nFN:3,parse\nFNDA:5,parse\nFNF:1\nFNH:1\nBRDA:3,0,0,0\n\
                    BRDA:3,0,1,5\nBRDA:3,1,0,-\nBRDA:3,1,1,-\nBRF:4\nBRH:1\nDA:3,5\nDA:4,0\n\
                    LF:2\nLH:1\nend_of_record\nTN:\nSF:b.h\nFNF:0\nFNH:0\nBRF:0\nBRH:0\nDA:9,1\n\
                    LF:1\nLH:1\nend_of_record\n";
        assert_eq!(lcov(&covered), want);
    }
}
