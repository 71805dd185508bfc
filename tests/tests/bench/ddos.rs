//! `bench ddos`: each point has its rows or a reason, and nothing remains. Whether the service
//! survives depends on speed, which tests do not judge.

use std::cell::Cell;
use std::time::Duration;

use bench::hook::answers::Answers;
use bench::{Harness, Scenario, Silent, Testbed};
use lab::stage::{ATTACKER_LINK, COOKIES};
use lab::{Host, Service, Stage};
use report::Bench;
use report::figure::Shape;
use xway_tests::cell::{assert_nothing_left, assert_present, reason, rounds};

/// Where the thread may run and how favoured it is, and what labs there are.
fn surroundings() -> (Vec<usize>, i32, Vec<String>) {
    let labs = lab::list().unwrap().into_iter();
    let ours = labs.filter(|lab| lab.topology.as_deref() == Some("service"));
    let ids = ours.map(|lab| lab.id).collect();
    (sys::cpu::affinity().unwrap(), sys::priority::nice(), ids)
}

#[test]
fn each_point_has_rows_or_a_reason_and_nothing_remains() {
    let before = surroundings();
    let bench = rounds("ddos", 1);
    assert_nothing_left();
    assert_eq!(surroundings(), before);

    let has = |row: &str| bench.median(row).is_some();
    for (defense, rates) in DEFENCES {
        for rate in *rates {
            let point = format!("{defense}@{rate}");
            assert_present(&bench, &point, &point);
            assert_eq!(has(&format!("busy/{point}")), has(&point), "{point}");
            for what in ["offered", "lost", "kept"] {
                let row = format!("{what}/{point}");
                assert_eq!(has(&row), has(&point) && *rate != "0", "{row}");
            }
        }
        let nothing_to_reach = has(&format!("{defense}@0"));
        assert_eq!(nothing_to_reach, rates.contains(&"0"), "{defense} without a flood");
    }
    for row in bench.rounds() {
        let (what, least) = (row.name.split_once('/').map(|(what, _)| what), row.values[0]);
        let expected = match what {
            None => "/s",
            Some("offered") => "pps",
            Some(_) => "%",
        };
        assert_eq!(row.unit, expected, "{}", row.name);
        assert!(least >= 0.0 && (what != Some("lost") || least <= 100.0), "{row:?}");
        assert!(what != Some("offered") || least > 0.0, "{row:?}");
    }
    assert!(reason(&bench, "none@0").is_none());
    figures(&bench);
    let pairs = [
        ("xdp-drop@0", "none@0"),
        ("filter-drop@max", "xdp-drop@max"),
        ("syn-proxy@0", "syn-none@0"),
        ("syn-proxy@1000000", "syn-none@1000000"),
    ];
    let expected = pairs.map(|pair| expected_ratio(&bench, pair));
    let report = bench.finish(report::Host::default()).unwrap();
    let ratios: Vec<_> = report.ratios.iter().map(|it| (it.a.as_str(), it.b.as_str())).collect();
    for pair in expected.into_iter().flatten() {
        assert!(ratios.contains(&pair), "{pair:?} in {ratios:?}");
    }
}

/// How the two are compared; a point without an answer, which a short turn under all that can be
/// sent may well be, is nobody's base.
fn expected_ratio<'r>(
    bench: &Bench,
    (with, without): (&'r str, &'r str),
) -> Option<(&'r str, &'r str)> {
    let is_alive = |row: &str| Some(bench.median(row)? > 0.0);
    match (is_alive(with)?, is_alive(without)?) {
        (_, true) => Some((with, without)),
        (true, false) => Some((without, with)),
        (false, false) => None,
    }
}

/// They show what was measured beside what was published.
fn figures(bench: &Bench) {
    let figures = &bench.notes().figures;
    let names: Vec<&str> = figures.iter().map(|figure| figure.name.as_str()).collect();
    assert_eq!(names, ["ddos", "ddos-kept", "ddos-connections"]);
    let of_connections = |row: &str| row.starts_with("syn-");
    for figure in figures {
        let Shape::Curves { series, .. } = &figure.shape else { panic!("no curves") };
        for (_, row) in series.iter().flat_map(|curve| &curve.points) {
            assert!(bench.median(row).is_some(), "a point without a row: {row}");
            assert_eq!(of_connections(row), figure.name == "ddos-connections", "{row}");
        }
        if figure.name == "ddos-connections" {
            continue;
        }
        let references: Vec<&str> = figure.references.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(references, ["with XDP", "without XDP"]);
        assert!(figure.references.iter().all(|it| it.source.contains("figure 7")));
    }
    // A share begins at the whole, whosever it is.
    for reference in &figures[1].references {
        assert_eq!(reference.points[0], (0.0, 100.0), "{}", reference.name);
    }
}

#[test]
fn interrupted_in_the_middle_it_keeps_what_it_has_and_leaves_nothing() {
    let before = surroundings();
    let asked = Cell::new(0);
    // It is called before each turn, so some have ended by then, in the warm-up and after it.
    let is_over = || {
        asked.set(asked.get() + 1);
        asked.get() > TURNS
    };
    let mut silent = Silent;
    let mut harness = Harness::new(100, 0.01, &mut silent).interrupted_by(&is_over);
    let bench = Scenario::find("ddos").unwrap().run(&mut harness, &Testbed::Lab).unwrap();
    assert_nothing_left();
    assert_eq!(surroundings(), before);
    assert!(bench.notes().cut.as_deref().unwrap().starts_with("interrupted in round "));
    bench.finish(report::Host::default()).unwrap();
}

/// Turns of all kinds share a stage, and each is to find it as it was made.
#[test]
fn what_a_flood_of_requests_needs_is_taken_down_again() {
    let stage = Stage::build().unwrap();
    let state = || {
        let setting = |host: &Host, path| host.netns().sysctl(path).unwrap();
        let Service { server, client, attacker, .. } = &stage.net;
        let door = attacker.netlink().unwrap().link(ATTACKER_LINK).unwrap().xdp;
        let mut routes: Vec<_> = server.netlink().unwrap().routes().unwrap();
        routes.sort_by_key(|route| route.to);
        let settings = [(server, COOKIES), (client, PORTS)].map(|(host, path)| setting(host, path));
        (format!("{door:?}"), routes, settings)
    };
    let before = state();
    assert_eq!(before.2[0], "1", "this is called the kernel's default");
    for _ in 0..2 {
        let answers = Answers::end(&stage).unwrap();
        let cookies = stage.net.server.hold_sysctl(COOKIES, "2").unwrap();
        let clients = stage.newcomers().unwrap();
        lab::until("answers", PATIENCE, || Ok((clients.answers() > 100).then_some(()))).unwrap();
        let now = state();
        assert!(now.0 != before.0 && now.1 != before.1, "{now:?}");
        assert!(now.2[0] == "2" && now.2[1] == "0", "{now:?}");
        drop((clients, cookies, answers));
        assert_eq!(state(), before);
    }
}

#[test]
fn on_a_network_card_it_is_refused_before_anything_is_made() {
    let before = surroundings();
    let testbed = Testbed::Nic { iface: "nowhere0".into(), peer: "nowhere1".into() };
    let mut silent = Silent;
    let mut harness = Harness::new(1, 0.01, &mut silent);
    let fault = Scenario::find("ddos").unwrap().run(&mut harness, &testbed).unwrap_err();
    assert!(fault.to_string().contains("requires a lab and cannot run on nowhere0"), "{fault}");
    assert_eq!(surroundings(), before);
}

/// With the rates of its points.
const DEFENCES: &[(&str, &[&str])] = &[
    ("none", ALL),
    ("none-invented", &["500000", "1000000"]),
    ("xdp-drop", ALL),
    ("xdp-drop", &["0", "max"]),
    ("filter-drop", &["0", "500000", "1000000", "max"]),
    ("filter-limits", &["0", "500000", "1000000", "max"]),
    ("syn-none", ASKED),
    ("syn-proxy", ASKED),
];
const ALL: &[&str] = &["0", "250000", "500000", "1000000", "2000000", "3000000", "5000000"];
const ASKED: &[&str] = &["0", "250000", "500000", "1000000"];
/// What those who connect again and again change on the clients' side.
const PORTS: &str = "ipv4/tcp_max_tw_buckets";
const PATIENCE: Duration = Duration::from_secs(10);
/// More than a round has.
const TURNS: usize = 48;
