//! `filter explain --live`: explains packets as they arrive at an interface.
//!
//! Rule: verdict, reason and rule are those of the active program; the model explains why earlier
//! rules do not decide. Time and number are bounded; a change of rules ends the observation.

use std::time::Instant;

use anyhow::{Context as _, Result};
use control::filter::FilterPlacement;
use control::filter::explanation::{ArrivedPacket, Explanation};
use control::filter::sampler::{MAX_BYTES, PacketSampler, SampleFilter, SampleRate};
use control::filter::update::Update;
use filter::abi::Need;
use filter::runtime::tap::TappedPacket;
use filter::{Frame, Model, Needs, Ruleset, model};
use packet::dissect::dissect;
use sys::signal::Stop;

use super::interfaces;
use crate::args::FilterExplainArgs;
use crate::cmd::{Context, Exit, POLL_INTERVAL};
use crate::view::say;

pub fn run(args: &FilterExplainArgs, context: &Context) -> Result<Exit> {
    let interface = args.what.to_str().context("the name of the interface is not valid UTF-8")?;
    let stop = Stop::new()?;
    let (rules, bans, watch) = begin(args, context, interface)?;
    let mut explainer = Explainer::new(&rules, bans);
    let totals = explain(args, context, &stop, watch, &mut explainer)?;
    let seconds = explainer.begin.elapsed().as_secs_f64();
    if totals.other_rules {
        say("xway: other rules were loaded meanwhile, so the observation ended early");
    }
    say(&format!("{} of {} packets in {seconds:.1} s", totals.packets, totals.met));
    Ok(if totals.packets > 0 { Exit::Done } else { Exit::No })
}

/// The active rules, whether there may be bans, and a sampler. The writers' lock is held until the
/// sampler runs.
fn begin(
    args: &FilterExplainArgs,
    context: &Context,
    interface: &str,
) -> Result<(Ruleset, bool, PacketSampler)> {
    let update = Update::begin(&context.control, interface)?;
    let active = update.required()?;
    let tests = SampleFilter::tests(active, args.only.as_deref())?;
    let choice = SampleFilter { tests, rate: SampleRate::OneIn(args.sample), bytes: MAX_BYTES };
    let claim = update.claim(&context.control)?;
    let (rules, bans) = (active.rules()?, active.may_ban()?);
    let watch = PacketSampler::begin(&update, &FilterPlacement::default(), &choice, claim)?;
    Ok((rules, bans, watch))
}

/// Totals of an observation.
#[derive(Default)]
struct Totals {
    packets: u64,
    /// Packets that arrived meanwhile.
    met: u64,
    other_rules: bool,
}

/// Explains packets until there are enough, the time is over, a signal arrives, or other rules are
/// loaded.
fn explain(
    args: &FilterExplainArgs,
    context: &Context,
    stop: &Stop,
    mut watch: PacketSampler,
    explainer: &mut Explainer<'_>,
) -> Result<Totals> {
    let mut totals = Totals::default();
    for number in 1.. {
        let left = args.time.saturating_sub(explainer.begin.elapsed());
        let is_over = left.is_zero() || stop.wait(left.min(POLL_INTERVAL))?.is_some();
        totals.other_rules = (is_over || number % CHECK_EVERY == 0) && !watch.runs()?;
        let mut shown = Ok(true);
        let batch = watch.read(|seen| {
            if totals.packets < args.count && matches!(shown, Ok(true)) {
                totals.packets += 1;
                shown = context.show_next(&explainer.arrived(totals.packets, seen));
            }
        })?;
        totals.met += batch.met;
        if !shown? || is_over || totals.other_rules || totals.packets >= args.count {
            break;
        }
    }
    Ok(totals)
}

/// Explains sampled packets by the model.
struct Explainer<'a> {
    rules: &'a Ruleset,
    model: Model<'a>,
    begin: Instant,
}

impl<'a> Explainer<'a> {
    fn new(rules: &'a Ruleset, bans: bool) -> Self {
        let links = interfaces();
        let ifindex = |name: &str| links.iter().find(|(known, _)| known == name).map(|(_, n)| *n);
        let mut needs = Needs::of(rules);
        if bans {
            needs = needs.with(Need::Network);
        }
        let model = Model::new(rules, ifindex).with_needs(needs);
        Self { rules, model, begin: Instant::now() }
    }

    /// Explains a packet. The part of a long frame that was not copied is replaced with zeros.
    fn arrived(&mut self, n: u64, sample: &TappedPacket<'_>) -> ArrivedPacket {
        let mut bytes = sample.bytes.to_vec();
        bytes.resize(sample.length as usize, 0);
        let frame = Frame { bytes: &bytes, ifindex: sample.interface, queue: sample.queue };
        let seen = model::ProgramDecision {
            verdict: sample.decision.verdict,
            reason: sample.decision.reason,
            rule: sample
                .decision
                .rule
                .map(|rule| rule as usize)
                .filter(|rule| *rule < self.rules.rules.len()),
        };
        let judgement = self.model.judge(&frame, sample.time_ns).with_decision(seen);
        ArrivedPacket {
            t: self.begin.elapsed().as_secs_f64(),
            summary: dissect(sample.bytes).summary,
            length: sample.length,
            queue: sample.queue,
            explanation: Explanation::new(n, &judgement, self.rules),
        }
    }
}

/// Number of readings after which it checks whether its program still runs.
const CHECK_EVERY: u32 = 10;
