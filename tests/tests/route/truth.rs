//! Our router beside the kernel's: random tables, rules and packets, a short part of
//! `cargo xtask route-truth`.

use xway_tests::route_truth::{Class, Options, REASONS, Report, run};

fn campaign(seed: u64, packets: usize, case: Option<usize>) -> Report {
    run(&Options { seed, packets, case }, |_| ()).unwrap()
}

#[test]
fn both_routers_do_the_same_or_differ_for_a_listed_reason() {
    for seed in [1, 2] {
        let report = campaign(seed, 1000, None);
        assert_eq!(report.unlisted(), Vec::<&str>::new(), "seed {seed}: {report}");
        let counted: usize = report.differing.iter().map(|class| class.count).sum();
        assert_eq!((report.packets, report.same + counted), (1000, 1000), "each is counted once");
        assert!(report.same > 500, "{report}");
    }
}

#[test]
fn a_case_is_repeated_alone() {
    let report = campaign(3, 250, None);
    let class = report.differing.iter().find(|class| class.name == "padding").unwrap();
    let case = class.cases[0];
    assert!(class.example.starts_with(&format!("--seed 3 --case {case}\n")), "{}", class.example);
    let again = campaign(3, 250, Some(case));
    // Up to what the routers sent, because the kernel's ICMP errors have random identifications.
    let cause = |class: &Class| class.example.split("\nkernel:").next().map(str::to_owned);
    let found: Vec<_> = again.differing.iter().map(|one| (&one.name, cause(one))).collect();
    assert_eq!((again.packets, found), (1, vec![(&class.name, cause(class))]));
}

#[test]
fn each_reason_is_listed_once() {
    let mut names: Vec<_> = REASONS.iter().map(|reason| reason.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), REASONS.len());
}
