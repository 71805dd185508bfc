//! Every figure, read back as XML: well formed, whole and finite whatever goes in, and identical to
//! the approved snapshots (`snapshots/`; `INSTA_UPDATE=always` approves new ones).

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use proptest::prelude::*;
use report::figure::XAxis;
use report::plot::{Bars, Chart, Curves, Grouped, Panel, Phase, Point, Tone};
use report::{Stats, Svg};

/// What is drawn, without the style sheet that all figures share.
fn marks(figure: &Svg) -> String {
    let (head, rest) = figure.as_str().split_once("<style>").unwrap();
    let (_, body) = rest.split_once("</style>\n").unwrap();
    format!("{head}{body}")
}

/// The text elements of a figure, in drawing order.
fn texts(figure: &Svg) -> Vec<String> {
    let document = roxmltree::Document::parse(figure.as_str()).unwrap();
    let texts = document.descendants().filter(|node| node.has_tag_name("text"));
    texts.map(|node| node.text().unwrap_or_default().to_owned()).collect()
}

/// Numbers of all attributes of `class`, to see where a mark lies.
fn widths(figure: &Svg, class: &str) -> Vec<f64> {
    let document = roxmltree::Document::parse(figure.as_str()).unwrap();
    let marks = document.descendants().filter(|node| node.attribute("class") == Some(class));
    marks.map(|node| node.attribute("width").unwrap().parse().unwrap()).collect()
}

/// Fails on markup that is broken, or a coordinate that is not a number or outside the card.
fn check(figure: &Svg) {
    let document = roxmltree::Document::parse(figure.as_str()).unwrap();
    let view = document.root_element().attribute("viewBox").unwrap();
    let height: f64 = view.split(' ').next_back().unwrap().parse().unwrap();
    for node in document.descendants() {
        for (name, bound) in [("x", 640.0), ("width", 640.0), ("y", height), ("height", height)] {
            let Some(value) = node.attribute(name) else { continue };
            let value: f64 = value.parse().unwrap();
            assert!((0.0..=bound).contains(&value), "{name}={value} in {node:?}");
        }
        let path = node.attribute("d").unwrap_or_default();
        let numbers = path.split(['M', 'L', 'Z', ' ']).filter(|word| !word.is_empty());
        for number in numbers {
            let value: f64 = number.parse().unwrap();
            assert!((0.0..=height.max(640.0)).contains(&value), "{number} in {path}");
        }
    }
}

fn stats(min: f64, median: f64, max: f64) -> Stats {
    Stats { min, median, max, rounds: 5 }
}

fn phase(name: &str, start: f64, end: f64) -> Phase {
    Phase { name: name.into(), start, end, tone: Tone::Danger }
}

#[test]
fn bars_look_as_they_did() {
    let mut bars = Bars::new("Drop", "pps");
    bars.bar("native", stats(9e6, 10e6, 12e6)).mark("the sender is the limit");
    bars.reference("native", 5e6, "a talk").missing("offload");
    bars.absent("nft", "nft is not installed: apt install nftables")
        .bound("limit", stats(12e6, 12e6, 12e6));
    let figure = bars.to_svg();
    check(&figure);
    assert_eq!(widths(&figure, "s0 bar")[0], 2.0 * widths(&figure, "s8 reference")[0]);
    insta::assert_snapshot!("bars", marks(&figure));
}

#[test]
fn groups_look_as_they_did() {
    let mut grouped = Grouped::new("Drop", "pps");
    grouped.series("ours").reference("theirs", "a paper");
    grouped.group("1 core", [Some(stats(1e6, 2e6, 3e6)), Some(Stats::single(4e6))]);
    grouped.group("2 cores", [None, Some(Stats::single(8e6))]);
    check(&grouped.to_svg());
    insta::assert_snapshot!("grouped", marks(&grouped.to_svg()));
}

#[test]
fn charts_look_as_they_did() {
    let points = vec![(0.0, 0.0), (1.0, 2e6), (2.0, f64::NAN), (3.0, 1e6), (4.0, 1e6)];
    let panel = Panel::new("Packets", "pps").area("sent", 0, points.clone());
    let panel = panel.line("seen", 1, points.clone()).reference("theirs", points);
    let chart = Chart::new("Flood", "s").phase(phase("calm", 0.0, 2.0));
    let chart = chart.phase(phase("storm, heavy", 2.0, 4.0)).phase(phase("never", 4.0, 4.0));
    let figure = chart.panel(panel.notes(vec!["1 Mpps".into(), "too long for a phase".repeat(2)]));
    let figure = figure.to_svg();
    check(&figure);
    insta::assert_snapshot!("chart", marks(&figure));
}

/// A curve with a value at each place, one of them marked and one missing.
fn curves(is_logarithmic: bool) -> Curves {
    let x = XAxis { label: "offered load".into(), unit: "pps".into(), is_logarithmic };
    let mut curves = Curves::new("Idle", "%", x);
    let point = |x: f64, idle: f64| Point {
        x,
        stats: Some(stats(idle - 2.0, idle, idle + 1.0)),
        marks: vec![],
    };
    let marked = Point { marks: vec!["the sender is the limit".into()], ..point(1e6, 60.0) };
    let gap = Point { x: 5e5, stats: None, marks: vec![] };
    curves.curve("XDP", [point(0.0, 99.0), point(2.5e5, 90.0), gap, marked]);
    curves.curve("stack", [point(1e6, 20.0), point(0.0, 98.0), point(2.5e5, 70.0)]);
    curves.reference("XDP", vec![(0.0, 100.0), (1e6, 80.4), (2.48e7, 0.0)], "a paper");
    curves.remark("offload is not here: no such card");
    curves
}

#[test]
fn curves_look_as_they_did() {
    for (name, is_logarithmic) in [("curves", false), ("curves_logarithmic", true)] {
        let figure = curves(is_logarithmic).to_svg();
        check(&figure);
        insta::assert_snapshot!(name, marks(&figure));
    }
}

#[test]
fn a_published_line_does_not_squash_ours() {
    let said = |figure: &Svg, words: &str| texts(figure).iter().any(|text| text == words);
    let figure = curves(false).to_svg();
    assert!(said(&figure, "offered load, Mpps") && said(&figure, "1.0"));
    assert!(!said(&figure, "25"), "the published line goes on to 25 Mpps");
    let mut bars = Bars::new("Drop", "pps");
    bars.bar("native", Stats::single(2e6)).reference("native", 1e7, "a talk");
    let figure = bars.to_svg();
    check(&figure);
    assert!(widths(&figure, "s0 bar")[0] > 200.0);
    assert!(said(&figure, "beyond the scale →"));
}

#[test]
fn a_value_that_is_not_a_number_is_not_measured() {
    let mut bars = Bars::new("t", "ns");
    bars.bar("nan", stats(1.0, f64::NAN, 2.0)).bar("endless", Stats::single(f64::INFINITY));
    let texts = texts(&bars.to_svg());
    assert_eq!(texts.iter().filter(|text| *text == "not measured").count(), 2, "{texts:?}");
}

#[test]
fn empty_figures_are_still_figures() {
    check(&Bars::new("", "").to_svg());
    check(&Grouped::new("", "").to_svg());
    check(&Chart::new("", "").to_svg());
    let nowhere = XAxis { label: String::new(), unit: String::new(), is_logarithmic: true };
    check(&Curves::new("", "", nowhere).to_svg());
    check(&Chart::new("t", "s").panel(Panel::new("p", "").line("l", 0, vec![])).to_svg());
}

#[test]
fn a_title_without_end_is_clipped_not_spilled() {
    let name = "x".repeat(500);
    let mut bars = Bars::new(&name, "pps");
    bars.bar(&name, Stats::single(1.0));
    let long = texts(&bars.to_svg()).into_iter().map(|text| text.chars().count()).max();
    assert!(long.unwrap() < 60, "{long:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_bars_are_sound(
        title in ".{0,80}", unit in ".{0,8}",
        values in prop::collection::vec(
            (".{0,60}", any::<f64>(), any::<f64>(), any::<f64>()),
            0..6,
        ),
    ) {
        let mut bars = Bars::new(title, &unit);
        let mut grouped = Grouped::new("t", unit);
        grouped.series("one").reference("two", "three");
        for (name, a, b, c) in &values {
            bars.bar(name, stats(*a, *b, *c)).reference(name, *b, name);
            grouped.group(name, [Some(stats(*a, *b, *c)), Some(Stats::single(*c))]);
        }
        check(&bars.to_svg());
        check(&grouped.to_svg());
    }

    #[test]
    fn any_curves_are_sound(
        name in ".{0,60}", is_logarithmic in any::<bool>(),
        points in prop::collection::vec((any::<f64>(), any::<f64>()), 0..9),
        near in prop::collection::vec((0f64..10.0, -1e9f64..1e9), 0..9),
    ) {
        let x = XAxis { label: name.clone(), unit: "pps".into(), is_logarithmic };
        let mut curves = Curves::new(&name, "ns", x);
        for points in [&points, &near] {
            curves.curve(&name, points.iter().map(|(x, y)| {
                Point { x: *x, stats: Some(stats(*y, *y, *x)), marks: vec![name.clone()] }
            }));
            curves.reference(&name, points.clone(), &name).remark(&name);
        }
        check(&curves.to_svg());
    }

    #[test]
    fn any_chart_is_sound(
        name in ".{0,40}",
        phases in prop::collection::vec((any::<f64>(), any::<f64>()), 0..4),
        points in prop::collection::vec((any::<f64>(), any::<f64>()), 0..20),
        near in prop::collection::vec((-10f64..10.0, -1e9f64..1e9), 0..20),
    ) {
        let mut chart = Chart::new(&name, "s").subtitle(&name);
        for (start, end) in phases {
            chart = chart.phase(phase(&name, start, end));
        }
        let panel = Panel::new(&name, "pps").area(&name, 7, points).line(&name, 1, near);
        check(&chart.panel(panel.notes(vec![name.clone(); 4])).to_svg());
    }
}
