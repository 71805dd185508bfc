//! Composition at load time: several XDP programs become one, with a generated main.
//!
//! A generated `xway_main` runs the programs in order, counts packets and bytes by program and
//! verdict, and continues with the next one or returns, according to each program's set of
//! verdicts. It inlines their entry functions, or calls them as static functions where that is
//! impossible. What comes out is an ordinary [`Spec`] that the verifier checks as a whole.
//!
//! ```text
//!  xway_main:  counters → length → first → count → next? → second → count → verdict
//!  helper_of_first: …
//! ```
//!
//! Rule: a composed program gives the verdict that its parts give, and touches no packet itself.
//! A [`Probe`] sees each packet before the first program and after the final verdict.
//! [`store_decisions`] makes members store for it why they decided.
//! Besides, [`splice`] puts generated code into one program, in the place of one of its functions,
//! and [`precede`] puts it before a program. [`count_blocks`] counts how
//! often each instruction runs.
//!
//! Limits that the kernel checks at load: 16 bytes of the 512-byte stack are main's own; a program
//! that must be called has its frame below main's; only 256 bytes may lie above a function that
//! makes tail calls; at most 8 functions call each other. Subtracting packet pointers needs
//! `CAP_PERFMON`. Not here: tail calls as the way out, attaching, pinning.

mod blocks;
mod decisions;
mod error;
mod inline;
mod liveness;
mod main;
mod merge;
mod parts;
mod precede;
mod splice;
mod timing;
mod types;
mod verdicts;

pub use blocks::{Block, CountedBlocks, HITS_MAP, count_blocks};
pub use decisions::{DECISIONS_MAP, decisions_map, store_decisions};
pub use error::Error;
pub(crate) use inline::{distance, refers_to_function, with_distance};
pub use main::Form;
pub use precede::precede;
pub use splice::{globalize, inline, splice};
pub use verdicts::{ENTRIES, LONGEST_RUN, SlotTotals, VERDICTS_MAP, slots, value_size};

use crate::model::{Program, ProgramKind, Spec, Target};
use crate::runtime::Verdict;

/// A map of this name is a program's own statistics.
pub const OWN_STATS_MAP: &str = "xway_stats";

/// Name of the generated entry function.
pub const MAIN: &str = "xway_main";

/// Programs of one chain.
pub const MAX_LINKS: usize = 64;

/// Load flag of programs that take packets of several buffers.
const XDP_HAS_FRAGS: u32 = ProgramKind::XDP_FRAGS.flags;

/// One program of a chain, by priority.
#[derive(Clone, Copy, Debug)]
pub struct Link<'a> {
    /// The object that contains the program.
    pub spec: &'a Spec,
    /// A program of `spec`.
    pub program: &'a str,
    /// After these verdicts the next program runs; any other one is final. The last program's
    /// verdict is always final.
    pub go_on: VerdictSet,
}

/// What a chain counts and times of its programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counters {
    /// For each program in order.
    pub of_link: Vec<LinkCounter>,
    /// Slots of the map, used or not. A chain that keeps the map when its programs change needs
    /// one of constant size.
    pub slots: u32,
    /// Whether the programs are timed: about one packet of 1,024.
    pub timed: bool,
}

/// Where a program is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkCounter {
    /// Number of its slot in the map.
    pub slot: u32,
    /// Whether its verdicts are counted.
    pub counts: bool,
}

impl Counters {
    /// A slot for each of a number of programs, in order; their verdicts are counted.
    pub fn in_order(links: usize) -> Self {
        let slots = u32::try_from(links).unwrap_or(u32::MAX);
        let of_link = (0..slots).map(|slot| LinkCounter { slot, counts: true }).collect();
        Self { of_link, slots, timed: false }
    }

    /// Nothing is counted, as for a part of a chain that counts.
    pub fn none(links: usize) -> Self {
        let of_link = vec![LinkCounter { slot: 0, counts: false }; links];
        Self { of_link, slots: 0, timed: false }
    }

    /// Whether there is anything to count or to time.
    fn is_needed(&self) -> bool {
        self.timed || self.of_link.iter().any(|one| one.counts)
    }
}

/// Two programs of an object that see each packet of a chain: as it comes, and after the verdict
/// that is final. They must not change packets; what they return has no effect.
#[derive(Clone, Copy, Debug)]
pub struct Probe<'a> {
    /// The object that contains the programs.
    pub spec: &'a Spec,
    /// Receives the context in R1.
    pub before: &'a str,
    /// Receives the context, the verdict, and the number of the link that gave it, in R1 to R3.
    pub after: &'a str,
}

impl<'a> Probe<'a> {
    /// Its programs in the form of links, which are never final.
    fn links(&self) -> [Link<'a>; 2] {
        [self.before, self.after].map(|program| {
            let go_on = VerdictSet::default();
            Link { spec: self.spec, program, go_on }
        })
    }
}

/// Several programs as one.
#[derive(Clone, Debug)]
pub struct Composed {
    /// The object with the composed program.
    pub spec: Spec,
    /// For each program in order: names of its maps in its own object and in the composed one.
    pub maps: Vec<MapNames>,
    /// Names of the maps of the probe; empty without one.
    pub probe_maps: MapNames,
}

/// Names of maps in their own object and in a composed one.
pub type MapNames = Vec<(String, String)>;

/// A set of verdicts. The default is `Pass` alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VerdictSet(u8);

impl VerdictSet {
    /// The empty set.
    pub const EMPTY: Self = Self(0);

    /// Whether the verdict is in the set.
    pub fn contains(self, verdict: Verdict) -> bool {
        self.0 & 1 << verdict as u32 != 0
    }

    /// The verdicts of the set, in the order of their numbers.
    pub fn iter(self) -> impl Iterator<Item = Verdict> {
        Verdict::ALL.into_iter().filter(move |verdict| self.contains(*verdict))
    }
}

impl FromIterator<Verdict> for VerdictSet {
    fn from_iter<I: IntoIterator<Item = Verdict>>(verdicts: I) -> Self {
        Self(verdicts.into_iter().fold(0, |set, verdict| set | 1 << verdict as u32))
    }
}

impl Default for VerdictSet {
    fn default() -> Self {
        Self::from_iter([Verdict::Pass])
    }
}

/// One program with a main in front that counts its verdicts in [`VERDICTS_MAP`].
///
/// The result has all programs of `spec`, this one in its old place and under its old name.
///
/// # Errors
/// See [`Error`]; `spec` is untouched.
pub fn counted(spec: &Spec, program: &str) -> Result<Spec, Error> {
    chain(&[Link { spec, program, go_on: VerdictSet::EMPTY }])
}

/// All programs as one, in the place and under the name of the first.
///
/// The programs and maps of the first one are followed by those of the others, for program arrays
/// and device maps. A name that is taken gets the number of its link: `flows.2`. Maps pinned by
/// name are shared, and so are all maps of links that borrow the same `Spec`.
///
/// # Errors
/// See [`Error`]; nothing is half-done.
pub fn chain(links: &[Link<'_>]) -> Result<Spec, Error> {
    Ok(compose(links, &Counters::in_order(links.len()), Form::Inline, None)?.spec)
}

/// As [`chain`] or, in the other form, [`chain_of_calls`], with these counters and perhaps a probe,
/// and with the names that maps have in the result.
///
/// # Errors
/// As [`chain`].
///
/// # Panics
/// `counters` is for another number of programs.
pub fn compose(
    links: &[Link<'_>],
    counters: &Counters,
    form: Form,
    probe: Option<Probe<'_>>,
) -> Result<Composed, Error> {
    let mut programs = check(links)?;
    assert_eq!(links.len(), counters.of_link.len(), "one counter for each program");
    let kind = common_kind(&programs)?;
    let all = [links, probe.map(|probe| probe.links()).as_slice().as_flattened()].concat();
    for link in &all[links.len()..] {
        programs.push(check_one(link)?);
    }
    let mut merge = merge::Merge::new(&all)?;
    let mut maps = merge.names();
    let probe_maps = maps.drain(links.len()..).next().unwrap_or_default();
    let map = counters.is_needed().then(|| merge.counters(counters.slots));
    let mut code = main::generate(links, &programs, kind, main::Counting { map, counters }, form)?;
    code.program.name = programs[0].name.clone();
    code.program.section = programs[0].section.clone();
    code.program.autoload = programs[0].autoload;
    Ok(Composed { spec: merge.finish(code, &programs)?, maps, probe_maps })
}

/// Composes programs so that each is called as a function that the kernel verifies separately,
/// once; it needs types. A call costs some nanoseconds, but what the verifier walks is a sum then
/// and no product: for programs in which there are many ways. It counts nothing, so that the result
/// may be a part of another chain.
///
/// # Errors
/// As [`chain`].
pub fn chain_of_calls(links: &[Link<'_>]) -> Result<Spec, Error> {
    Ok(compose(links, &Counters::none(links.len()), Form::Call, None)?.spec)
}

/// Whether a program keeps statistics of its own, so that counting again would be a waste.
pub fn counts_itself(spec: &Spec, program: &str) -> bool {
    let Some(program) = spec.program(program) else { return false };
    let stats = spec.map_index(OWN_STATS_MAP);
    program.fixups.iter().any(|fixup| match fixup.target {
        Target::Map { map } | Target::MapValue { map, .. } => Some(map) == stats,
        _ => false,
    })
}

/// Each link's program, once everything that needs one link alone is right.
fn check<'a>(links: &[Link<'a>]) -> Result<Vec<&'a Program>, Error> {
    if links.is_empty() {
        return Err(Error::Empty);
    }
    if links.len() > MAX_LINKS {
        return Err(Error::TooMany { count: links.len(), limit: MAX_LINKS });
    }
    let before_last = &links[..links.len() - 1];
    if let Some(end) = before_last.iter().find(|link| link.go_on == VerdictSet::EMPTY) {
        return Err(Error::Final { program: end.program.to_owned() });
    }
    links.iter().map(check_one).collect()
}

fn check_one<'a>(link: &Link<'a>) -> Result<&'a Program, Error> {
    let program =
        link.spec.program(link.program).ok_or_else(|| no_program(link.spec, link.program))?;
    let name = || program.name.clone();
    if !program.kind.is_xdp() {
        return Err(Error::NotXdp { program: name(), program_type: program.kind.program_type });
    }
    if program.insns.is_empty() {
        return Err(Error::NoInstructions { program: name() });
    }
    if link.spec.map(VERDICTS_MAP).is_some() {
        return Err(Error::Composed { program: name(), map: VERDICTS_MAP });
    }
    Ok(program)
}

fn no_program(spec: &Spec, program: &str) -> Error {
    let names: Vec<&str> = spec.programs.iter().map(|known| &*known.name).collect();
    Error::NoProgram {
        object: spec.name.clone(),
        program: program.to_owned(),
        known: names.join(", "),
    }
}

/// Multi-buffer packets may come only when every program can take them; all else must agree.
fn common_kind(programs: &[&Program]) -> Result<ProgramKind, Error> {
    let first = programs[0];
    let bare = |kind: ProgramKind| ProgramKind { flags: kind.flags & !XDP_HAS_FRAGS, ..kind };
    for program in programs {
        if bare(program.kind) != bare(first.kind) {
            let [first, second] = [first, *program].map(|program| program.name.clone());
            return Err(Error::KindsDiffer { first, second });
        }
    }
    let all = programs.iter().fold(XDP_HAS_FRAGS, |all, program| all & program.kind.flags);
    Ok(ProgramKind { flags: bare(first.kind).flags | all, ..first.kind })
}

#[cfg(test)]
mod splice_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod timing_tests;
