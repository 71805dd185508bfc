//! Two runs of the same scenarios beside each other: what became faster, what slower, and
//! whether the pictures are the same.
//!
//! Rule: two rows differ only where the interval of their quotient, of both runs' resampled rounds,
//! does not include 1; rounds of different runs are not pairs. Ratios within a run are more
//! reliable than speeds, because a machine's speed drifts, so they are compared too. Not here:
//! reading the runs (the binary).

mod change;
mod picture;
mod table;

use serde::Serialize;

pub use change::{Change, Verdict};
pub use picture::{Picture, RatioChange};

use crate::run::Measured;
use crate::{Host, Run};

/// Run `b` after run `a`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// Scenarios that both runs have.
    pub scenarios: Vec<Compared>,
    /// Scenarios of one run only.
    pub only_a: Vec<String>,
    /// Scenarios that only the later run has.
    pub only_b: Vec<String>,
    /// Reasons for doubt: other machines, noise, an interrupted run.
    pub doubts: Vec<String>,
}

/// One scenario of both runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Compared {
    /// Name of the scenario.
    pub scenario: String,
    /// Rows that both runs have.
    pub rows: Vec<Change>,
    /// The ratios that the scenario asks for, and the greatest of each figure.
    pub ratios: Vec<RatioChange>,
    /// Figures that both runs have.
    pub figures: Vec<Picture>,
    /// The ratio that changed most, of those and of any two series in one figure.
    pub greatest: Option<RatioChange>,
    /// Whether every figure has its bars in the same order, except for bars that neither run
    /// distinguishes.
    pub same_order: bool,
    /// Rows of one run only.
    pub only_a: Vec<String>,
    /// Rows that only the later run has.
    pub only_b: Vec<String>,
}

impl Run {
    /// How `other`, the later run, differs from this one.
    pub fn compare(&self, other: &Run) -> Comparison {
        let names = |run: &Run| -> Vec<String> {
            run.scenarios.iter().map(|one| one.report.scenario.clone()).collect()
        };
        let both = self.scenarios.iter().filter_map(|a| {
            let mut of_other = other.scenarios.iter();
            let b = of_other.find(|b| b.report.scenario == a.report.scenario)?;
            Some(Compared::of(a, b))
        });
        Comparison {
            scenarios: both.collect(),
            only_a: without(&names(self), &names(other)),
            only_b: without(&names(other), &names(self)),
            doubts: doubts(self, other),
        }
    }
}

impl Compared {
    fn of(a: &Measured, b: &Measured) -> Compared {
        let names = |one: &Measured| -> Vec<String> {
            one.report.rows.iter().map(|row| row.name.clone()).collect()
        };
        let figures = Picture::all(a, b);
        let ratios = picture::ratios(&a.report, &b.report);
        let all = ratios.iter().chain(figures.iter().filter_map(|figure| figure.greatest.as_ref()));
        let greatest = all.max_by(|a, b| a.size().total_cmp(&b.size())).cloned();
        Compared {
            scenario: a.report.scenario.clone(),
            rows: change::rows(a, b),
            greatest,
            same_order: figures.iter().all(|figure| figure.swapped.is_empty()),
            ratios,
            figures,
            only_a: without(&names(a), &names(b)),
            only_b: without(&names(b), &names(a)),
        }
    }

    /// Whether the pictures are the same: the order of all bars, and every ratio within
    /// [`REPEATS`].
    pub fn repeats(&self) -> bool {
        self.same_order && self.greatest.as_ref().is_none_or(|moved| moved.size() <= REPEATS)
    }
}

/// How much a ratio may change between two runs of a quiet machine.
pub const REPEATS: f64 = 0.1;

/// What is in `all` but not in `others`.
fn without(all: &[String], others: &[String]) -> Vec<String> {
    all.iter().filter(|name| !others.contains(name)).cloned().collect()
}

fn doubts(a: &Run, b: &Run) -> Vec<String> {
    let machines = match (a.host(), b.host()) {
        (Some(a), Some(b)) => differences(a, b),
        _ => Vec::new(),
    };
    let machines = (!machines.is_empty()).then(|| {
        let differ = machines.join(", ");
        format!("The hosts differ ({differ}), so only the ratios within each run are meaningful.")
    });
    let noise = [("first", a), ("second", b)].into_iter().flat_map(|(which, run)| {
        let cut = run.scenarios.iter().filter_map(move |measured| {
            let why = measured.report.notes.cut.as_ref()?;
            Some(format!("The {which} run was cut off in {}: {why}.", measured.report.scenario))
        });
        let noise = run.noise();
        let noise =
            noise.into_iter().map(move |noise| format!("The {which} run is noisy: {noise}."));
        cut.chain(noise)
    });
    machines.into_iter().chain(noise).collect()
}

/// Facts that change speeds.
fn differences(a: &Host, b: &Host) -> Vec<&'static str> {
    let facts = [
        ("processor", a.cpu != b.cpu),
        ("cores", a.cores != b.cores),
        ("kernel", a.kernel != b.kernel),
        ("governor", a.governor != b.governor),
        ("BPF JIT", a.bpf_jit != b.bpf_jit),
        ("mitigations", a.mitigations != b.mitigations),
    ];
    facts.into_iter().filter(|(_, differ)| *differ).map(|(name, _)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bench, Figure};

    type Rows<'a> = &'a [(&'a str, &'a str, [f64; 5])];

    fn run(scenario: &str, rows: Rows) -> Run {
        let mut bench = Bench::new(scenario);
        for (name, unit, values) in rows {
            values.iter().for_each(|value| _ = bench.round(name, unit, *value));
        }
        let names = rows.iter().map(|(name, ..)| (*name).to_owned());
        bench.figure(Figure::bars(scenario, scenario, names));
        let mut run = Run::new("xway bench run");
        run.put(&bench, Host::default()).unwrap();
        run
    }

    const STEADY: [f64; 5] = [100.0, 101.0, 99.0, 102.0, 98.0];

    fn times(factor: f64) -> [f64; 5] {
        STEADY.map(|value| value * factor)
    }

    #[test]
    fn a_verdict_needs_more_than_the_rounds_differ() {
        use Verdict::{Faster, Same, Slower};
        let wide = [100.0, 150.0, 60.0, 110.0, 140.0];
        let table = [
            ("native", "pps", STEADY, times(1.2), Faster),
            ("native", "pps", STEADY, times(0.8), Slower),
            ("native", "pps", STEADY, times(1.001), Same),
            ("native", "pps", wide, times(1.2), Same),
            ("trip", "ns", STEADY, times(1.2), Slower),
            ("trip", "ns", STEADY, times(0.8), Faster),
            ("lost/native", "%", STEADY, times(0.8), Faster),
            ("idle@5", "%", STEADY, times(0.8), Slower),
            ("lost/native", "%", [0.0; 5], [0.0; 5], Same),
            ("lost/native", "%", [0.0; 5], STEADY, Slower),
        ];
        for (name, unit, before, after, want) in table {
            let (a, b) = (run("x", &[(name, unit, before)]), run("x", &[(name, unit, after)]));
            let change = &a.compare(&b).scenarios[0].rows[0];
            assert_eq!(change.verdict, want, "{name} {unit}: {change:?}");
        }
    }

    #[test]
    fn a_slower_machine_gives_the_same_picture() {
        let a = run("drop", &[("a", "pps", times(1.0)), ("b", "pps", times(3.0))]);
        let b = run("drop", &[("a", "pps", times(0.5)), ("b", "pps", times(1.53))]);
        let comparison = a.compare(&b);
        let compared = &comparison.scenarios[0];
        assert!(compared.rows.iter().all(|row| row.verdict == Verdict::Slower));
        assert!(compared.same_order && compared.repeats(), "{compared:?}");
        assert!((compared.greatest.as_ref().unwrap().size() - 0.02).abs() < 1e-9);
        assert!(compared.table().to_string().contains("slower"));
        let want = "drop: the same order; the ratio that changed most is a / b, by -2.0 %.";
        assert_eq!(compared.sentence(), want);
    }

    #[test]
    fn another_order_is_another_picture() {
        let rows =
            |a, b| [("a", "pps", times(a)), ("b", "pps", times(b)), ("limit", "pps", STEADY)];
        let comparison = run("drop", &rows(1.0, 1.04)).compare(&run("drop", &rows(1.04, 1.0)));
        let compared = &comparison.scenarios[0];
        assert!(!compared.same_order && !compared.repeats());
        assert_eq!(compared.figures[0].swapped, [("a".to_owned(), "b".to_owned())]);
        assert!(compared.sentence().contains("another order (a, b)"), "{}", compared.sentence());
    }

    #[test]
    fn two_that_neither_run_tells_apart_have_no_order() {
        let apart = |a: f64, b: f64| [("a", "pps", times(a)), ("b", "pps", times(b))];
        // Of each other's rounds: now one is ahead, now the other.
        let near = |a: f64, b: f64| {
            let [one, other] = [[9.0, 12.0, 8.0, 11.0, 10.0], [11.0, 9.0, 10.0, 9.0, 12.0]];
            let scaled = |values: [f64; 5], by: f64| values.map(|value| value * by);
            [("a", "pps", scaled(one, a)), ("b", "pps", scaled(other, b))]
        };
        let neither = "drop: the same order, except for a and b, which neither run distinguishes; \
                       the ratio that changed most is a / b, by -4.0 %.";
        for (before, after, is_same, want) in [
            (near(1.0, 0.99), near(0.97, 1.0), true, neither),
            (near(1.0, 0.99), apart(1.0, 2.0), false, "another order (a, b)"),
            (apart(2.0, 1.0), near(0.97, 1.0), false, "another order (a, b)"),
            (apart(2.0, 1.0), apart(1.0, 2.0), false, "another order (a, b)"),
            (near(1.0, 0.99), near(1.0, 0.98), true, "drop: the same order; "),
        ] {
            let comparison = run("drop", &before).compare(&run("drop", &after));
            let compared = &comparison.scenarios[0];
            assert_eq!(compared.same_order, is_same, "{want}: {compared:?}");
            assert!(compared.sentence().contains(want), "{want}: {}", compared.sentence());
        }
    }

    #[test]
    fn rows_of_one_run_and_doubts_are_reported() {
        let mut a = run("drop", &[("a", "pps", STEADY), ("old", "pps", STEADY)]);
        let mut b = run("drop", &[("a", "pps", STEADY), ("new", "pps", STEADY)]);
        assert_eq!(a.compare(&b).doubts, Vec::<String>::new());
        a.scenarios.extend(run("forward", &[("a", "pps", STEADY)]).scenarios);
        let host = |kernel: &str| Host { kernel: Some(kernel.into()), ..Host::default() };
        a.scenarios[0].report.host = host("6.1");
        b.scenarios[0].report.host = host("6.18");
        b.scenarios[0].report.notes.cut = Some("interrupted".into());
        let comparison = a.compare(&b);
        assert!(comparison.doubts[0].contains("hosts differ (kernel)"), "{:?}", comparison.doubts);
        assert!(comparison.doubts[1].contains("second run was cut off"));
        let want = [
            "scenarios of the first run only: forward",
            "rows of drop of the first run only: old",
            "rows of drop of the second run only: new",
        ];
        assert_eq!(comparison.unpaired(), want);
        assert!(serde_json::to_value(&comparison).unwrap()["scenarios"][0]["same_order"] == true);
    }
}
