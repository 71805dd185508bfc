//! `bench balancer`: each case has a row of the program and one of the code around it, and every
//! batch is checked for what was sent; packets come back through each balancer of the kernel.

use bench::balancer::{Case, End, Plan, Way, measure};
use bench::{Harness, Silent};
use report::Host;

#[test]
fn each_case_is_measured_without_the_code_around_it() {
    let mut silent = Silent;
    let plan = Plan { flows: 1000 };
    let bench = measure(&mut Harness::new(5, 0.01, &mut silent), plan).unwrap();
    let absent: Vec<_> = bench.notes().absent.iter().map(|gone| gone.name.as_str()).collect();
    let has_katran = std::env::var_os("KATRAN_OBJECT").is_some();
    let has_ipvs = std::path::Path::new("/proc/net/ip_vs").exists();
    let missing = [("katran", has_katran), (Way::Ipvs.row(), has_ipvs)];
    let missing = missing.into_iter().filter(|(_, is_there)| !is_there).map(|(name, _)| name);
    assert_eq!(absent, missing.collect::<Vec<_>>(), "{:?}", bench.notes().absent);
    let report = bench.finish(Host::default()).unwrap();
    let names: Vec<_> = report.rows.iter().map(|row| row.name.as_str()).collect();
    let mut expected = Vec::new();
    for case in Case::ALL.map(Case::name).into_iter().chain(End::ALL.map(End::name)) {
        for row in ["alone/CASE/ours", "alone/CASE/base", "extra/alone/CASE/ours"] {
            expected.push(row.replace("CASE", case));
        }
    }
    for way in Way::ALL.into_iter().filter(|way| *way != Way::Ipvs || has_ipvs) {
        expected.extend([way.row().to_owned(), format!("lost/{}", way.row())]);
    }
    let others = ["change/one-of-1000", "memory/table", "memory/million-flows", "sync/full"];
    expected.extend(others.map(str::to_owned));
    expected.extend(["send", "receive", "bytes"].map(|part| format!("sync/full/{part}")));
    expected.push("sync/idle".to_owned());
    for row in expected {
        assert!(names.contains(&row.as_str()), "{row}: {names:?}");
    }
    let json = serde_json::to_value(&report).unwrap();
    let ratios = json["ratios"].as_array().unwrap();
    let of = |a: &str, b: &str| ratios.iter().any(|one| one["a"] == a && one["b"] == b);
    assert!(of("live/ours", "live/xdp-tx") && of("live/ours", "live/nft-jhash"), "{ratios:?}");
}
