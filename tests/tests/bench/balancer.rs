//! `bench balancer`: each case has a row of the program and one of the code around it, and every
//! batch is checked for what was sent.

use bench::balancer::{Case, measure};
use bench::{Harness, Silent};
use report::Host;

#[test]
fn each_case_is_measured_without_the_code_around_it() {
    let mut silent = Silent;
    let bench = measure(&mut Harness::new(5, 0.01, &mut silent)).unwrap();
    let absent: Vec<_> = bench.notes().absent.iter().map(|gone| gone.name.as_str()).collect();
    let is_peer_there = std::env::var_os("KATRAN_OBJECT").is_some();
    assert_eq!(absent, if is_peer_there { vec![] } else { vec!["katran"] });
    let report = bench.finish(Host::default()).unwrap();
    let names: Vec<_> = report.rows.iter().map(|row| row.name.as_str()).collect();
    for case in Case::ALL {
        for row in ["alone/CASE/ours", "alone/CASE/base", "extra/alone/CASE/ours"] {
            let row = row.replace("CASE", case.name());
            assert!(names.contains(&row.as_str()), "{row}: {names:?}");
        }
    }
}
