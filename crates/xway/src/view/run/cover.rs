//! Text of `run --cover`: which source lines ran, how often, and which branches were taken.

use report::table::Column;
use report::{Table, text};
use runner::{Covered, CoveredFunction, CoveredInsn, CoveredLine};

use crate::view::Paint;

pub fn text(coverage: &Covered, paint: Paint) -> String {
    let mut text = format!("\n{}\n", paint.bold("coverage"));
    let mut file = "";
    for line in &coverage.lines {
        if line.file != file {
            file = &line.file;
            text.push_str(&format!("\n{}\n", paint.bold(file)));
        }
        text.push_str(&line_text(line, paint));
    }
    for insn in &coverage.instructions {
        let CoveredInsn { program, slot, text: words, hits } = insn;
        let insn = format!("{program} {slot:>5}: {words}");
        text.push_str(&format!("{} {}\n", margin(*hits, paint), text::line(&insn)));
    }
    text.push_str(&format!("\n{}\n", table(coverage)));
    text.push_str(&format!("{}\n", sum(coverage)));
    text
}

/// By lines of the source: a line counts once, however many functions it was inlined into.
fn sum(coverage: &Covered) -> String {
    let lines_hit = coverage.lines.iter().filter(|line| line.hits > 0).count();
    let counts = coverage.lines.iter().flat_map(|line| &line.branches);
    let (all, hit) = counts.fold((0, 0), |(all, hit), counts| (all + 2, hit + counts.hit()));
    format!("lines {}, branches {}", share(lines_hit, coverage.lines.len()), share(hit, all))
}

fn table(coverage: &Covered) -> String {
    let mut table = Table::new([
        Column::text("function"),
        Column::number("runs"),
        Column::number("lines"),
        Column::number("branches"),
    ]);
    for function in &coverage.functions {
        let CoveredFunction { lines, lines_hit, branches, branches_hit, .. } = function;
        table.row([
            function.name.clone(),
            function.hits.to_string(),
            share(*lines_hit, *lines),
            share(*branches_hit, *branches),
        ]);
    }
    table.to_string()
}

fn line_text(line: &CoveredLine, paint: Paint) -> String {
    let counts: Vec<_> = line
        .branches
        .iter()
        .map(|counts| format!("{}/{}", counts.taken, counts.not_taken))
        .collect();
    let source = line.text.replace('\t', "    ");
    let source = text::line(source.trim_end());
    let counts = match counts.is_empty() {
        true => String::new(),
        false => paint.dim(&format!("  [{}]", counts.join(" "))),
    };
    let (margin, line) = (margin(line.hits, paint), line.line);
    format!("{margin} {line:>5}  {source}{counts}\n")
}

/// A count, or a mark where nothing ran.
fn margin(hits: u64, paint: Paint) -> String {
    match hits {
        0 => paint.bad(&format!("{:>9}", "#####")),
        hits => format!("{hits:>9}"),
    }
}

fn share(hit: usize, all: usize) -> String {
    match all {
        0 => "none".to_owned(),
        _ => format!("{hit} of {all} ({:.1} %)", 100.0 * hit as f64 / all as f64),
    }
}
