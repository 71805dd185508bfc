//! `PacketSampler`: samples arriving packets, with the verdicts of the active rules.
//!
//! Rule: the active rules decide and count as before, with their own maps. The sampling program
//! runs before them and has maps of its own. It is a trial, so other processes may change rules
//! meanwhile, and it samples only while it is read regularly.

use std::fs::File;
use std::time::{Duration, Instant};

use filter::abi::TapCounts;
use filter::maps::{KEPT, SEEN, WATCHING};
use filter::runtime::parts::new_name;
use filter::runtime::tap::{self, TappedPacket};
use filter::{self, Rule, Test};
use kernel::{Map, RingBuffer};
use spec::Spec;
use sys::thread::monotonic_ns;

use super::active::ActiveFilter;
use super::load::FilterPlacement;
use super::pair::Pair;
use super::ruleset::{self, Attempt};
use super::source;
use super::update::Update;
use crate::error::{Context as _, Result};
use crate::state;

/// A sampling program on an interface. Dropping it restores the previous program.
#[derive(Debug)]
pub struct PacketSampler {
    kept: Map,
    watching: Map,
    ring: RingBuffer,
    rate: SampleRate,
    one_in: u32,
    last_read: Instant,
    met: TapCounts,
    trial: state::Trial,
    /// Declared after the trial, so that it is released later: one sampler at a time.
    claim: File,
}

/// The packets that are sampled.
#[derive(Clone, Debug)]
pub struct SampleFilter {
    /// Tests that a packet must pass; every packet passes without tests.
    pub tests: Vec<Test>,
    pub rate: SampleRate,
    /// Bytes of each packet that are copied.
    pub bytes: usize,
}

/// How often packets are sampled.
#[derive(Clone, Copy, Debug)]
pub enum SampleRate {
    /// One of this number of packets.
    OneIn(u32),
    /// About this number of packets per second; adjusted at each reading.
    About(u32),
}

/// Counts of the interval since the previous reading.
#[derive(Clone, Copy, Debug)]
pub struct SampleBatch {
    pub elapsed: Duration,
    /// Packets that arrived and passed the tests.
    pub met: u64,
    /// Sampled packets that were read.
    pub read: u64,
    /// Sampled packets that were lost, because the ring buffer was full.
    pub lost: u64,
    /// One of this number of packets was sampled.
    pub one_in: u32,
    /// One of this number of packets is sampled until the next reading.
    pub next: u32,
}

impl SampleFilter {
    /// Parses tests as they are written in a rule, such as `udp dport 53`. They may refer to sets
    /// of the active rules.
    ///
    /// # Errors
    /// The text is not a sequence of tests.
    pub fn tests(active: &ActiveFilter, only: Option<&str>) -> Result<Vec<Test>> {
        let Some(only) = only else { return Ok(Vec::new()) };
        let mut scope = active.file()?.scope;
        scope.compile = source::expression;
        let rule = Rule::parse(&format!("count {only}"), &scope);
        Ok(rule.with_context(|| format!("--only '{only}' is not a test of a rule"))?.tests)
    }
}

impl PacketSampler {
    /// Replaces the active filter, if there is one, for the time of sampling. `claim` is held until
    /// sampling ends. The caller must drop `update` before the sampler.
    ///
    /// # Errors
    /// The kernel refuses the program.
    pub fn begin(
        update: &Update,
        asked: &FilterPlacement,
        choice: &SampleFilter,
        claim: File,
    ) -> Result<Self> {
        let chooser = tap::rules(choice.tests.clone());
        let begun = ruleset::by_form(|Attempt { form, tentative }| {
            let first = ruleset::compiled(&chooser, false, &update.target, form)?;
            let active = update.compile_active(form)?;
            let separate = |first: &mut Spec, active: &mut Spec| {
                tap::make_tap(first, choice.bytes)?;
                tap::make_active_part(active)
            };
            let parts = Pair { first, active, tentative };
            parts.load(update, &chooser, asked, separate, |loaded| {
                let ring = RingBuffer::new(loaded.map(SEEN)?)?;
                let kept = loaded.map(KEPT)?.duplicate()?;
                let watching = loaded.map(&new_name(WATCHING))?.duplicate()?;
                set_sampling(&watching, choice.rate.first())?;
                Ok((ring, kept, watching, loaded.try_out(update)?))
            })
        });
        let (ring, kept, watching, trial) = begun.context("the packets cannot be sampled")?;
        let (last_read, met, rate) = (Instant::now(), TapCounts::default(), choice.rate);
        let one_in = rate.first();
        Ok(Self { kept, watching, ring, rate, one_in, last_read, met, trial, claim })
    }

    /// Passes the packets that were sampled since the previous reading to `each`, and extends the
    /// time for which the program samples.
    pub fn read(&mut self, mut each: impl FnMut(&TappedPacket<'_>)) -> Result<SampleBatch> {
        let mut read = 0;
        self.ring.drain(|record| {
            if let Some(seen) = TappedPacket::parse(record) {
                read += 1;
                each(&seen);
            }
        });
        let met = tap::counts(&self.kept)?;
        let (elapsed, one_in) = (self.last_read.elapsed(), self.one_in);
        let lost = met.lost - self.met.lost;
        let next = self.rate.next(one_in, read + lost, elapsed);
        let came = met.packets - self.met.packets;
        (self.last_read, self.met, self.one_in) = (Instant::now(), met, next);
        set_sampling(&self.watching, next)?;
        Ok(SampleBatch { elapsed, met: came, read, lost, one_in, next })
    }

    /// Whether its program still runs; another process may have changed rules.
    pub fn runs(&self) -> Result<bool> {
        self.trial.runs()
    }

    /// The claim of this sampler, for one that replaces it.
    pub fn claim(&self) -> Result<File> {
        self.claim.try_clone().context("cannot duplicate a descriptor")
    }

    /// Id of the sampling program.
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

fn set_sampling(watching: &Map, one_in: u32) -> Result<()> {
    Ok(tap::set_sampling(watching, one_in, monotonic_ns() + IDLE_LIMIT.as_nanos() as u64)?)
}

/// The program stops sampling if it was not read for this time.
const IDLE_LIMIT: Duration = Duration::from_secs(5);
/// Bytes of a packet that contain its headers, and everything that the model reads.
pub const HEADERS: usize = 128;
/// Most bytes of a packet that can be copied.
pub const MAX_BYTES: usize = filter::runtime::tap::MAX_BYTES;
