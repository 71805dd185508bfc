//! `filter explain --live`: the same for packets as they arrive at an interface.
//!
//! Rule: verdict, reason and rule are what the program in force said; why not the rules before is
//! the model's. Time and number are bounded; when others change rules, the look is over.

use std::time::Instant;

use anyhow::{Context as _, Result};
use control::filter::FilterPlacement;
use control::filter::sampler::{MAX_BYTES, PacketSampler, SampleFilter, SampleRate};
use control::filter::update::Update;
use filter::abi::Need;
use filter::runtime::tap::TappedPacket;
use filter::{Frame, Model, Needs, Ruleset, model};
use sys::signal::Stop;

use super::{explained, interfaces};
use crate::args::FilterExplainArgs;
use crate::cmd::{Context, Exit, LOOK_EVERY};
use crate::dissect::dissect;
use crate::view::filter::explain::Arrived;
use crate::view::say;

pub fn run(args: &FilterExplainArgs, context: &Context) -> Result<Exit> {
    let interface = args.what.to_str().context("an interface's name is text")?;
    let stop = Stop::new()?;
    let (rules, bans, watch) = begin(args, context, interface)?;
    let mut teller = Teller::new(&rules, bans);
    let told = tell(args, context, &stop, watch, &mut teller)?;
    let seconds = teller.begin.elapsed().as_secs_f64();
    if told.other_rules {
        say("xway: other rules were loaded meanwhile, so the observation ended early");
    }
    say(&format!("{} of {} packets in {seconds:.1} s", told.packets, told.met));
    Ok(if told.packets > 0 { Exit::Done } else { Exit::No })
}

/// The rules in force, whether there may be bans, and packets. Nobody changes anything until they
/// are shown.
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

/// What a look was.
#[derive(Default)]
struct Told {
    packets: u64,
    /// That came meanwhile.
    met: u64,
    other_rules: bool,
}

/// Until there are enough, the time is over, somebody interrupts, or other rules are in force.
fn tell(
    args: &FilterExplainArgs,
    context: &Context,
    stop: &Stop,
    mut watch: PacketSampler,
    teller: &mut Teller<'_>,
) -> Result<Told> {
    let mut told = Told::default();
    for number in 1.. {
        let left = args.time.saturating_sub(teller.begin.elapsed());
        let is_over = left.is_zero() || stop.wait(left.min(LOOK_EVERY))?.is_some();
        told.other_rules = (is_over || number % ASK_EVERY == 0) && !watch.runs()?;
        let mut shown = Ok(true);
        let look = watch.read(|seen| {
            if told.packets < args.count && matches!(shown, Ok(true)) {
                told.packets += 1;
                shown = context.show_next(&teller.arrived(told.packets, seen));
            }
        })?;
        told.met += look.met;
        if !shown? || is_over || told.other_rules || told.packets >= args.count {
            break;
        }
    }
    Ok(told)
}

/// Knows why.
struct Teller<'a> {
    rules: &'a Ruleset,
    model: Model<'a>,
    begin: Instant,
}

impl<'a> Teller<'a> {
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

    /// What was not copied of a long frame is zeros here.
    fn arrived(&mut self, n: u64, sample: &TappedPacket<'_>) -> Arrived {
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
        Arrived {
            t: self.begin.elapsed().as_secs_f64(),
            summary: dissect(sample.bytes).summary,
            length: sample.length,
            queue: sample.queue,
            explained: explained(n, &judgement, self.rules),
        }
    }
}

/// At each of so many looks it asks whether its program still runs.
const ASK_EVERY: u32 = 10;
