//! `filter explain --live`: the same for packets as they arrive at an interface.
//!
//! Rule: verdict, reason and rule are what the program in force said; why not the rules before is
//! the model's. Time and number are bounded; nobody else changes rules meanwhile.

use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use functions::filter::abi::Need;
use functions::filter::model::Seen;
use functions::filter::sample::Sample;
use functions::filter::{Frame, Model, Needs, Ruleset};
use sys::signal::Stop;

use super::super::change::Change;
use super::super::live::{Live, none};
use super::super::watch::{Choice, Watch};
use super::{explained, interfaces};
use crate::args::FilterExplainArgs;
use crate::cmd::{Context, Exit, LOOK_EVERY};
use crate::dissect::dissect;
use crate::view::filter::explain::Arrived;
use crate::view::say;

pub fn run(args: &FilterExplainArgs, context: &Context) -> Result<Exit> {
    let interface = args.what.to_str().context("an interface's name is text")?;
    let stop = Stop::new()?;
    let change = Change::begin(context, interface)?;
    let Some(live) = &change.live else { bail!(none(interface)) };
    let rules = live.rules()?;
    let choice = Choice::new(live, args.only.as_deref(), args.sample)?;
    let mut teller = Teller::new(&rules, live)?;
    let (mut watch, guard) = Watch::begin(&change, live, &choice)?;
    let mut told = 0;
    while told < args.count {
        let left = args.time.saturating_sub(teller.begin.elapsed());
        let is_over = left.is_zero() || stop.wait(left.min(LOOK_EVERY))?.is_some();
        for sample in watch.packets().into_iter().take((args.count - told) as usize) {
            told += 1;
            if !context.show_next(&teller.arrived(told, &sample))? {
                return Ok(Exit::Done);
            }
        }
        if is_over {
            break;
        }
    }
    drop(guard);
    let seconds = teller.begin.elapsed().as_secs_f64();
    say(&format!("{told} of {} packets in {seconds:.1} s", watch.chosen()?.matched));
    Ok(if told > 0 { Exit::Done } else { Exit::No })
}

/// Knows why.
struct Teller<'a> {
    rules: &'a Ruleset,
    model: Model<'a>,
    begin: Instant,
}

impl<'a> Teller<'a> {
    fn new(rules: &'a Ruleset, live: &Live) -> Result<Self> {
        let links = interfaces();
        let ifindex = |name: &str| links.iter().find(|(known, _)| known == name).map(|(_, n)| *n);
        let mut needs = Needs::of(rules);
        if live.may_ban()? {
            needs = needs.with(Need::Network);
        }
        let model = Model::new(rules, ifindex).with_needs(needs);
        Ok(Self { rules, model, begin: Instant::now() })
    }

    /// What was not copied of a long frame is zeros here.
    fn arrived(&mut self, n: u64, sample: &Sample) -> Arrived {
        let mut bytes = sample.bytes.clone();
        bytes.resize(sample.length as usize, 0);
        let frame = Frame { bytes: &bytes, ifindex: sample.interface, queue: sample.queue };
        let seen = Seen {
            verdict: sample.verdict,
            reason: sample.reason,
            rule: sample
                .decided_by
                .map(|rule| rule as usize)
                .filter(|rule| *rule < self.rules.rules.len()),
        };
        let judgement = self.model.judge(&frame, sample.time_ns).as_seen(seen);
        Arrived {
            t: self.begin.elapsed().as_secs_f64(),
            summary: dissect(&sample.bytes).summary,
            length: sample.length,
            queue: sample.queue,
            explained: explained(n, &judgement, self.rules),
        }
    }
}
