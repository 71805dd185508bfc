//! A run in all its forms: nothing that it has is lost in any of them, and what is absent is
//! never a zero.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

mod made_up;

use report::{Bench, Figure, Host, Run};

/// The texts of the figure of this name, in the order in which it is drawn.
fn texts(run: &Run, figure: &str) -> Vec<String> {
    let figures = run.figures();
    let (_, svg) = figures.iter().find(|(name, _)| name == figure).unwrap();
    let document = roxmltree::Document::parse(svg.as_str()).unwrap();
    let texts = document.descendants().filter(|node| node.has_tag_name("text"));
    texts.map(|node| node.text().unwrap_or_default().to_owned()).collect()
}

/// Fails unless `parts` are among `texts` in this order.
fn in_order(texts: &[String], parts: &[&str]) {
    let mut rest = texts.iter();
    for part in parts {
        assert!(rest.any(|text| text.contains(part)), "{part} is not in its place: {texts:#?}");
    }
}

#[test]
fn every_form_is_made_of_the_data_alone() {
    let run = made_up::run().unwrap();
    let again: Run = serde_json::from_str(&serde_json::to_string(&run).unwrap()).unwrap();
    assert_eq!(again.figures(), run.figures());
    assert_eq!(again.summary(), run.summary());
    assert_eq!(again.noise(), run.noise());
}

#[test]
fn bars_tell_what_is_published_marked_and_not_here() {
    let texts = texts(&made_up::run().unwrap(), "drop");
    in_order(&texts, &["Packets that end", "limit", "userspace", "published", "783 kpps"]);
    in_order(&texts, &["xdp-native¹", "published", "9.94 Mpps", "beyond the scale"]);
    in_order(&texts, &["nft-netdev", "not here", "nft: Operation not supported"]);
    // No figure asks for it, but its absence is known.
    in_order(&texts, &["xdp-offload", "not here", "14.9 Mpps"]);
    in_order(&texts, &["6 Mpps", "¹ the sender is the limit", "other hardware"]);
}

#[test]
fn curves_tell_what_is_published_marked_and_not_here() {
    let texts = texts(&made_up::run().unwrap(), "cpu");
    in_order(&texts, &["xdp", "raw¹", "af-xdp-busy", "xdp, published", "%", "100"]);
    in_order(&texts, &["offered load, Mpps", "Hollow", "¹ the receiver lost 12 %"]);
    in_order(&texts, &["dpdk is not here: not a part of this run", "other hardware"]);
    assert!(!texts.iter().any(|text| text == "dpdk"), "it has no curve: {texts:?}");
}

#[test]
fn an_arm_that_failed_in_a_later_round_keeps_its_bar_with_a_mark() {
    let mut bench = Bench::new("drop");
    bench.round("a", "pps", 1e6).round("b", "pps", 2e6).round("a", "pps", 1e6);
    bench.absent("b", "in round 2: the hook is gone");
    bench.figure(Figure::bars("drop", "Drop", ["a".to_owned(), "b".to_owned()]));
    let mut run = Run::new("xway bench run drop");
    run.put(&bench, Host::default()).unwrap();
    let texts = texts(&run, "drop");
    in_order(
        &texts,
        &["b¹", "2.00 Mpps", "¹ left out after a while, in round 2: the hook is gone"],
    );
    assert!(!texts.iter().any(|text| text == "not here"), "{texts:?}");
}

#[test]
fn the_page_and_the_summary_begin_with_doubts_and_leave_nothing_out() {
    let run = made_up::run().unwrap();
    let page: Vec<String> = run.page().to_html().lines().map(str::to_owned).collect();
    let summary: Vec<String> = run.summary().lines().map(str::to_owned).collect();
    let both = [
        "xway bench run drop cpu latency scale",
        "2.7 tasks wanted to run on 2 cores",
        "drop",
        "packets that end a second",
        "interrupted in round 6 of 7",
        "is ahead: 2.18 times tc",
        "276 ns",
        "2.15x to 2.36x",
        "Operation not supported",
        "the sender is the limit",
        "they share no core",
        "cpu",
        "1.99 %",
    ];
    in_order(&page, &both);
    in_order(&summary, &both);
    in_order(&page, &["How it was measured", "made once", "The machine", "spectre_v2", "JSON"]);
    in_order(&summary, &["![Packets that end a second, by hook](drop.svg)"]);
    let figures = page.iter().filter(|line| line.contains("<svg")).count();
    assert_eq!(figures, run.figures().len());
}
