//! `Watch`: packets as they come, with what the rules in force make of them.
//!
//! Rule: the rules in force decide and count as ever, with their own maps. What chooses packets
//! runs in front of them and has maps of its own; its program is there only while somebody looks.

use anyhow::{Context as _, Result};
use functions::filter::act::{COUNTS, RULES};
use functions::filter::sample::Sample;
use functions::filter::trial::new_name;
use functions::filter::watch::{self, Chosen, WATCHED};
use functions::filter::{Rule, Test};
use kernel::{Object, RingBuffer};

use super::beside::Parts;
use super::change::Change;
use super::live::{Live, NAME};
use super::{file, rules};
use crate::state;

/// A program that hands out packets.
#[derive(Debug)]
pub struct Watch {
    object: Object,
    ring: RingBuffer,
}

/// Which packets are chosen.
#[derive(Clone, Debug)]
pub struct Choice {
    /// That hold for a packet; none: every packet.
    pub tests: Vec<Test>,
    /// One in so many of these.
    pub one_in: u32,
}

impl Choice {
    /// `only` is as tests of a rule are written; sets are those of the rules in force.
    pub fn new(live: &Live, only: Option<&str>, one_in: u32) -> Result<Self> {
        let Some(only) = only else { return Ok(Self { tests: Vec::new(), one_in }) };
        let mut scope = live.file()?.scope;
        scope.compile = rules::expression;
        let rule = Rule::parse(&format!("count {only}"), &scope);
        let rule = rule.with_context(|| format!("--only '{only}' is no test of a rule"))?;
        Ok(Self { tests: rule.tests, one_in })
    }
}

impl Watch {
    /// Takes the place of the filter in force, for now: dropped, the change brings it back.
    pub fn begin(change: &Change, live: &Live, choice: &Choice) -> Result<(Self, state::Change)> {
        let refused = "the packets cannot be watched";
        let chooser = watch::rules(choice.tests.clone(), choice.one_in);
        let mut front = file::compiled(&chooser, false, &change.target).context(refused)?;
        let bans = live.may_ban()?;
        let mut behind = file::compiled(&live.rules()?, bans, &change.target).context(refused)?;
        watch::make_front(&mut front.spec)?;
        watch::make_behind(&mut behind.spec)?;
        let parts = Parts { front: front.spec, acts: front.acts, behind: behind.spec };
        let installed = parts.load(change, live, |object, program, placement| {
            let change = change.target.install(NAME, &object, program, placement)?;
            Ok((object, change))
        });
        let (object, change) = installed.context(refused)?;
        let ring = RingBuffer::new(object.map(WATCHED)?)?;
        Ok((Self { object, ring }, change))
    }

    /// Packets that came since the last call.
    pub fn packets(&mut self) -> Vec<Sample> {
        let mut samples = Vec::new();
        self.ring.drain(|record| samples.extend(Sample::parse(record)));
        samples
    }

    /// What was met and chosen so far, handed out or not.
    pub fn chosen(&self) -> Result<Chosen> {
        Ok(watch::chosen(self.object.map(&new_name(COUNTS))?)?)
    }

    /// Chooses one in so many from now on.
    pub fn choose(&self, one_in: u32) -> Result<()> {
        Ok(watch::choose(self.object.map(&new_name(RULES))?, one_in)?)
    }
}
