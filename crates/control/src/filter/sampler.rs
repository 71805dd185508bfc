//! `PacketSampler`: packets as they come, with what the rules in force make of them.
//!
//! Rule: the rules in force decide and count as ever, with their own maps. What draws packets runs
//! in front of them and has maps of its own; it is a trial, so others may change rules meanwhile,
//! and it draws only as long as somebody looks again and again.

use std::fs::File;
use std::time::{Duration, Instant};

use filter::abi::Met;
use filter::maps::{KEPT, SEEN, WATCHING};
use filter::runtime::parts::new_name;
use filter::runtime::tap::{self, TappedPacket};
use filter::{self, Rule, Test};
use kernel::{Object, RingBuffer};
use spec::Spec;
use sys::thread::monotonic_ns;

use super::active::ActiveFilter;
use super::load::FilterPlacement;
use super::pair::Pair;
use super::update::Update;
use super::{ruleset, source};
use crate::error::{Context as _, Result};
use crate::state;

/// A program that shows packets; dropped, the one of before is back.
#[derive(Debug)]
pub struct PacketSampler {
    object: Object,
    ring: RingBuffer,
    pace: SampleRate,
    one_in: u32,
    looked: Instant,
    met: Met,
    trial: state::Trial,
    /// Behind the trial: nobody else begins one before it is over.
    claim: File,
}

/// Which packets are shown.
#[derive(Clone, Debug)]
pub struct SampleFilter {
    /// That hold for a packet; none: every packet.
    pub tests: Vec<Test>,
    pub pace: SampleRate,
    /// Of a packet.
    pub bytes: usize,
}

/// How many are drawn.
#[derive(Clone, Copy, Debug)]
pub enum SampleRate {
    OneIn(u32),
    /// A second, steered at each look.
    About(u32),
}

/// What happened since the last look.
#[derive(Clone, Copy, Debug)]
pub struct SampleBatch {
    pub elapsed: Duration,
    /// Packets that came.
    pub met: u64,
    /// Of these, those that were read, and those that were to be and had no room.
    pub read: u64,
    pub lost: u64,
    /// One in so many was drawn, and will be until the next look.
    pub one_in: u32,
    pub next: u32,
}

impl SampleFilter {
    /// Tests are as those of a rule are written; sets are those of the rules in force.
    pub fn tests(active: &ActiveFilter, only: Option<&str>) -> Result<Vec<Test>> {
        let Some(only) = only else { return Ok(Vec::new()) };
        let mut scope = active.file()?.scope;
        scope.compile = source::expression;
        let rule = Rule::parse(&format!("count {only}"), &scope);
        Ok(rule.with_context(|| format!("--only '{only}' is not a test of a rule"))?.tests)
    }
}

impl PacketSampler {
    /// Takes the place of the filter in force for now, or of nothing. `claim` is held until the
    /// watch is over. The change may be let go then, and must be before the watch is.
    pub fn begin(
        update: &Update,
        asked: &FilterPlacement,
        choice: &SampleFilter,
        claim: File,
    ) -> Result<Self> {
        let chooser = tap::rules(choice.tests.clone());
        let begun = ruleset::by_form(|form| {
            let front = ruleset::compiled(&chooser, false, &update.target, form)?;
            let behind = update.in_force(form)?;
            let separate = |front: &mut Spec, behind: &mut Spec| {
                tap::make_tap(front, choice.bytes)?;
                tap::make_active_part(behind)
            };
            let parts = Pair { front, behind };
            parts.load(update, &chooser, asked, separate, |object, program, placement| {
                let ring = RingBuffer::new(object.map(SEEN)?)?;
                let one_in = choice.pace.first();
                draw(&object, one_in)?;
                let trial = update.try_out((&object, program), placement)?;
                Ok((object, ring, one_in, trial))
            })
        });
        let (object, ring, one_in, trial) = begun.context("the packets cannot be watched")?;
        let (looked, met, pace) = (Instant::now(), Met::default(), choice.pace);
        Ok(Self { object, ring, pace, one_in, looked, met, trial, claim })
    }

    /// Hands on what was shown since the last look, and says that somebody still looks.
    pub fn look(&mut self, mut each: impl FnMut(&TappedPacket<'_>)) -> Result<SampleBatch> {
        let mut read = 0;
        self.ring.drain(|record| {
            if let Some(seen) = TappedPacket::parse(record) {
                read += 1;
                each(&seen);
            }
        });
        let met = tap::counts(self.object.map(KEPT)?)?;
        let (elapsed, one_in) = (self.looked.elapsed(), self.one_in);
        let lost = met.lost - self.met.lost;
        let next = self.pace.next(one_in, read + lost, elapsed);
        let came = met.packets - self.met.packets;
        (self.looked, self.met, self.one_in) = (Instant::now(), met, next);
        draw(&self.object, next)?;
        Ok(SampleBatch { elapsed, met: came, read, lost, one_in, next })
    }

    /// Whether it still decides: others may have changed rules.
    pub fn runs(&self) -> Result<bool> {
        self.trial.runs()
    }

    /// That for a watch in the place of this one.
    pub fn claim(&self) -> Result<File> {
        self.claim.try_clone().context("a descriptor cannot be doubled")
    }

    /// The program's number.
    pub fn program(&self) -> u32 {
        self.trial.program()
    }
}

impl SampleRate {
    fn first(self) -> u32 {
        match self {
            Self::OneIn(number) => number,
            Self::About(_) => 1,
        }
    }

    fn next(self, one_in: u32, shown: u64, elapsed: Duration) -> u32 {
        match self {
            Self::OneIn(number) => number,
            Self::About(wanted) => tap::next_one_in(one_in, shown, elapsed, wanted),
        }
    }
}

fn draw(object: &Object, one_in: u32) -> Result<()> {
    let watching = object.map(&new_name(WATCHING))?;
    Ok(tap::set_sampling(watching, one_in, monotonic_ns() + HOLDS.as_nanos() as u64)?)
}

/// Nobody looks at what was shown so long ago.
const HOLDS: Duration = Duration::from_secs(5);
/// Enough of a packet for its headers, and for all that the model reads of it.
pub const HEADERS: usize = 128;
pub const MAX_BYTES: usize = filter::runtime::tap::MOST_BYTES;
