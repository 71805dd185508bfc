//! Every figure, read back as XML: well formed, whole and finite whatever goes in, and looking
//! as it did when somebody last looked (`snapshots/`; `INSTA_UPDATE=always` accepts new looks).

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use proptest::prelude::*;
use report::plot::{Bars, Chart, Grouped, Panel, Phase, Tone};
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

/// Fails on markup that is broken, or a coordinate that is no number or off the card.
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
    bars.bar("native", stats(9e6, 10e6, 12e6)).missing("offload");
    bars.reference("published", 5e6, "a talk");
    let figure = bars.to_svg();
    check(&figure);
    assert_eq!(widths(&figure, "s0 bar")[0], 2.0 * widths(&figure, "s5 reference")[0]);
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

#[test]
fn what_is_no_number_is_not_measured() {
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
