//! `scale`: frames dropped in the driver a second, by queues, with a sender and a processor for
//! each; and the cost of reading a frame.
//!
//! On veth the receive queue is that of the sender's processor, which does the receiver's work as
//! well: each further queue is a further processor for both.

mod published;
mod touch;

use std::thread::sleep;
use std::time::Duration;

use anyhow::{Result, ensure};
use lab::LinkOptions;
use report::figure::{Series, XAxis};
use report::{Bench, Figure};
use traffic::Template;
use traffic::generator::{Config, Load};

use crate::field::{Field, Flood, PORT};
use crate::harness::{Arm, Harness, Value};
use crate::hook::{self, Hook, Span, limit, xdp};
use crate::{Effort, Kind, Scenario, Testbed};

/// The scenario `scale`.
pub const SCENARIO: Scenario = Scenario {
    name: "scale",
    kind: Kind::Picture,
    about: "packets dropped in the driver a second, by queues and processors",
    effort: Effort { rounds: 15, seconds: 0.2 },
    run,
};

fn run(harness: &mut Harness, testbed: &Testbed) -> Result<Bench> {
    testbed.lab_only()?;
    let cpus = sys::cpu::affinity()?;
    ensure!(!cpus.is_empty(), "no processor may be used");
    let widths = widths(cpus.len());
    let fields = widths.iter().map(|width| MultiQueueLab::build(&cpus[cpus.len() - width..]));
    let fields = fields.collect::<Result<Vec<_>>>()?;
    let mut bench = Bench::new("scale");
    tell(&mut bench, &fields);
    let pairs = fields.iter().flat_map(|field| HOOKS.iter().map(move |hook| (field, hook)));
    let mut arms: Vec<Arm> = pairs.map(|(field, hook)| field.arm(hook)).collect();
    harness.interleave(&mut bench, &mut arms)?;
    drop(arms);
    compare(&mut bench, &widths);
    Ok(bench)
}

/// One lab, with one queue per sender.
struct MultiQueueLab {
    field: Field,
    cpus: Vec<usize>,
}

impl MultiQueueLab {
    fn build(cpus: &[usize]) -> Result<Self> {
        let options = LinkOptions { queues: cpus.len() as u32, ..LinkOptions::default() };
        Ok(Self { field: Field::lab(&options)?, cpus: cpus.to_vec() })
    }

    fn arm(&self, hook: &'static Hook) -> Arm<'_> {
        let name = point(hook.name, self.cpus.len());
        Arm::wide(&name.clone(), move |window| {
            let span = self.measure(hook, window)?;
            Ok(vec![
                Value::new(&name, "pps", span.rate()),
                Value::new(format!("lost/{name}"), "%", span.lost()),
            ])
        })
    }

    fn measure(&self, hook: &Hook, window: Duration) -> Result<Span> {
        let Self { field, cpus } = self;
        let set = (hook.set)(field)?;
        let frame = Template::constant("flood", field.frame(PORT)?);
        let load = Config::new(field.sender.device(), Load::Streams(vec![frame]));
        let flood = Flood::of(&field.sender, Config { cpus: cpus.clone(), ..load }, window)?;
        hook::warm_up(set.as_ref())?;
        Span::of(&flood, set.as_ref(), || sleep(window))
    }
}

fn tell(bench: &mut Bench, fields: &[MultiQueueLab]) {
    bench
        .method(
            "Each sender has a processor, on which it floods with UDP frames of 60 bytes, made \
                 once and sent by XDP; there is one queue per sender.",
        )
        .method("Counted is what was dropped in the driver of the receiver, in all queues.");
    for hook in HOOKS {
        bench.method(&format!("{}: {}.", hook.name, hook.about));
    }
    for MultiQueueLab { cpus, .. } in fields {
        let (queues, many) = (cpus.len(), if cpus.len() == 1 { "" } else { "s" });
        bench.note(format!(
            "{queues} queue{many}: the sender{many} and the receiver's work on processor{many} \
             {cpus:?}"
        ));
    }
    bench.note(
        "veth has no descriptor rings whose length could be varied: its one ring of 256 \
                frames a queue is fixed",
    );
}

/// Ratios and the figure, of what was measured.
fn compare(bench: &mut Bench, widths: &[usize]) {
    let measured = |row: &str| bench.rounds().iter().any(|rounds| rounds.name == row);
    let mut ratios = Vec::new();
    for hook in HOOKS {
        let more = widths.iter().filter(|width| **width > 1);
        ratios.extend(more.map(|width| (point(hook.name, *width), point(hook.name, 1))));
    }
    for width in widths {
        ratios.push((point(touch::TOUCH.name, *width), point(limit::LIMIT.name, *width)));
    }
    ratios.retain(|(a, b)| measured(a) && measured(b));
    let series = HOOKS.iter().map(|hook| Series {
        name: hook.name.into(),
        points: widths
            .iter()
            .map(|width| (*width as f64, point(hook.name, *width)))
            .filter(|(_, row)| measured(row))
            .collect(),
    });
    let series = series.filter(|series| !series.points.is_empty()).collect();
    let x = XAxis { label: "Queues".into(), unit: String::new(), is_logarithmic: false };
    let title = "Packets dropped in the driver a second, by queues";
    let figure = Figure::curves("scale", title, x, series)
        .subtitle("a sender and a processor for each queue, which on veth receives as well");
    bench.figure(published::add(figure));
    for (a, b) in ratios {
        bench.ratio(&a, &b);
    }
}

fn point(hook: &str, width: usize) -> String {
    format!("{hook}@{width}")
}

/// Numbers of queues: one, doubled again and again, and all.
fn widths(cpus: usize) -> Vec<usize> {
    let most = cpus.min(traffic::limits::THREADS);
    let doubled = std::iter::successors(Some(1), |width| Some(width * 2));
    doubled.take_while(|width| *width < most).chain([most]).collect()
}

const HOOKS: &[Hook] = &[xdp::NATIVE, touch::TOUCH, limit::LIMIT];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_are_doubled_until_all_processors_have_one() {
        for (cpus, expected) in [
            (1, vec![1]),
            (2, vec![1, 2]),
            (6, vec![1, 2, 4, 6]),
            (8, vec![1, 2, 4, 8]),
            (500, vec![1, 2, 4, 8, 16, 32, 64]),
        ] {
            assert_eq!(widths(cpus), expected, "{cpus} processors");
        }
    }
}
