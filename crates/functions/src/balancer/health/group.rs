//! `Group`: the backends of a service, and what the results of their checks mean.
//!
//! - A backend is taken out after `fall` failures in a row, and in use again after `rise` successes
//!   in a row. One that was never checked is in use.
//! - Damping: one that was taken out again within `longest-hold` of its return waits for `hold`
//!   before the next return, and each time twice as long, up to `longest-hold`.
//! - Limit: the backends that are out, and those whose last check failed, are counted. While they
//!   are more than the share `most`, nothing more is taken out: the cause is probably not the
//!   backends. What is out remains out. Because single failures count, and `fall` takes some
//!   rounds, a failure of all is noticed before the first one is taken out.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use super::config::Health;
use super::reason::Outcome;

/// The backends of a service.
#[derive(Clone, Debug)]
pub struct Group {
    health: Health,
    members: BTreeMap<IpAddr, Member>,
    /// Whether backends that fail are in use because of the limit.
    is_open: bool,
}

/// A backend.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Member {
    /// Whether it is taken out.
    pub is_out: bool,
    /// Whether it was ever checked.
    pub is_known: bool,
    /// When its state began.
    pub since: Duration,
    /// Why its last failed check failed.
    pub reason: String,
    /// How often it was taken out with short pauses.
    pub flaps: u32,
    /// Results of the same kind in a row.
    good: u32,
    bad: u32,
}

/// State of a backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Not checked yet: in use.
    Unknown,
    Up,
    /// In use only because of the limit.
    Failing,
    /// Taken out.
    Down,
}

/// What a result changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transition {
    /// The first check of a backend succeeded.
    Known(IpAddr),
    /// A backend is in use again.
    Up(IpAddr),
    /// A backend is taken out.
    Down(IpAddr),
    /// This number of backends fails, of all: nothing more is taken out.
    Open { failing: usize, of: usize },
    /// The limit is not exceeded any more.
    Closed,
}

impl State {
    /// As in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Up => "up",
            Self::Failing => "failing",
            Self::Down => "down",
        }
    }
}

impl Group {
    #[must_use]
    pub fn new(health: Health) -> Self {
        Self { health, members: BTreeMap::new(), is_open: false }
    }

    #[must_use]
    pub fn health(&self) -> &Health {
        &self.health
    }

    /// Has the group check these backends with these settings. Those that it had keep their state;
    /// of the others, `known` returns what is remembered.
    pub fn follow(
        &mut self,
        health: &Health,
        backends: impl IntoIterator<Item = IpAddr>,
        known: impl Fn(IpAddr) -> Option<Member>,
    ) {
        let mut before = std::mem::take(&mut self.members);
        let mut member = |backend| before.remove(&backend).or_else(|| known(backend));
        self.members = backends
            .into_iter()
            .map(|backend| (backend, member(backend).unwrap_or_default()))
            .collect();
        if self.health != *health {
            self.health = health.clone();
        }
    }

    /// A check of a backend ended.
    pub fn record(&mut self, backend: IpAddr, outcome: Outcome, now: Duration) -> Vec<Transition> {
        let mut all = Vec::new();
        let Some(member) = self.members.get_mut(&backend) else { return all };
        match outcome {
            Ok(()) => {
                (member.good, member.bad) = (member.good.saturating_add(1), 0);
                let is_held = now < member.since + hold(&self.health, member.flaps);
                if member.is_out && member.good >= self.health.rise && !is_held {
                    (member.is_out, member.since) = (false, now);
                    all.push(Transition::Up(backend));
                } else if !member.is_known && !member.is_out {
                    member.since = now;
                    all.push(Transition::Known(backend));
                }
            }
            Err(reason) => {
                (member.bad, member.good) = (member.bad.saturating_add(1), 0);
                member.reason = reason.to_string();
            }
        }
        member.is_known = true;
        self.limit(now, &mut all);
        all
    }

    /// Takes out what fails, within the limit.
    fn limit(&mut self, now: Duration, all: &mut Vec<Transition>) {
        let fall = self.health.fall;
        let is_failing = |one: &Member| !one.is_out && one.bad >= fall;
        let any = self.members.values().any(is_failing);
        let failing = self.members.values().filter(|one| one.is_out || one.bad > 0).count();
        let of = self.members.len();
        let is_over = failing > self.health.most.of(of);
        if any && is_over && !self.is_open {
            all.push(Transition::Open { failing, of });
        }
        if self.is_open && !(any && is_over) {
            all.push(Transition::Closed);
        }
        self.is_open = any && is_over;
        if self.is_open {
            return;
        }
        let calm = self.health.longest_hold.0;
        for (backend, member) in self.members.iter_mut().filter(|(_, one)| is_failing(one)) {
            let is_flap = member.flaps > 0 && now < member.since + calm;
            member.flaps = if is_flap { member.flaps + 1 } else { 1 };
            (member.is_out, member.since) = (true, now);
            all.push(Transition::Down(*backend));
        }
    }

    #[must_use]
    pub fn members(&self) -> &BTreeMap<IpAddr, Member> {
        &self.members
    }

    /// Whether backends that fail are in use because of the limit.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.is_open
    }

    #[must_use]
    pub fn state(&self, member: &Member) -> State {
        if member.is_out {
            State::Down
        } else if !member.is_known {
            State::Unknown
        } else if member.bad >= self.health.fall {
            State::Failing
        } else {
            State::Up
        }
    }
}

impl Member {
    /// One that is out, or in use, since then.
    #[must_use]
    pub fn new(is_out: bool, since: Duration) -> Self {
        Self { is_out, since, ..Self::default() }
    }
}

/// The time for which a backend remains out that was taken out this number of times with short
/// pauses.
fn hold(health: &Health, flaps: u32) -> Duration {
    // The first time is none of damping.
    let Some(doublings) = flaps.checked_sub(2) else { return Duration::ZERO };
    let factor = 1_u32.checked_shl(doublings).unwrap_or(u32::MAX);
    health.hold.0.saturating_mul(factor).min(health.longest_hold.0)
}

#[cfg(test)]
mod tests {
    use super::super::reason::Reason;
    use super::*;

    fn health(text: &str) -> Health {
        toml::from_str(&format!("check = 'tcp'\n{text}")).unwrap()
    }

    fn backend(number: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, number])
    }

    fn group(text: &str, count: u8) -> Group {
        let health = health(text);
        let mut group = Group::new(health.clone());
        group.follow(&health, (0..count).map(backend), |_| None);
        group
    }

    const FAILED: Outcome = Err(Reason::Timeout);

    /// Results of one backend, by letter and second, and what follows: `u`p or `d`own.
    fn play(group: &mut Group, results: &str) -> String {
        let result = |(second, letter): (usize, char)| {
            let now = Duration::from_secs(second as u64 + 1);
            let outcome = if letter == '+' { Ok(()) } else { FAILED };
            let transitions = group.record(backend(0), outcome, now);
            let change = transitions.iter().find_map(|one| match one {
                Transition::Up(_) => Some('u'),
                Transition::Down(_) => Some('d'),
                Transition::Open { .. } => Some('o'),
                _ => None,
            });
            change.unwrap_or('.')
        };
        results.chars().enumerate().map(result).collect()
    }

    #[test]
    fn rise_and_fall_count_results_in_a_row() {
        let cases = [
            ("rise = 2\nfall = 3", "+--+--+---", ".........d"),
            ("rise = 2\nfall = 3", "---+-++++", "..d...u.."),
            ("rise = 1\nfall = 1", "+-+", ".du"),
            ("rise = 3\nfall = 2", "--++-+++", ".d.....u"),
        ];
        for (text, results, expected) in cases {
            let mut group = group(text, 3);
            assert_eq!(play(&mut group, results), expected, "{text}: {results}");
        }
    }

    #[test]
    fn a_backend_that_flaps_waits_longer() {
        let text = "rise = 1\nfall = 1\nhold = '3s'\nlongest-hold = '6s'";
        let results = "-+-+++-++++++-+++++++-";
        let expected = "du" // The first time without a pause,
            .to_owned() + "d..u" // then for three seconds,
            + "d.....u" // for six,
            + "d.....u" // and never for more.
            + ".d";
        assert_eq!(play(&mut group(text, 3), results), expected);
        // After a time without failure it begins anew.
        let results = "-++++++++-+";
        assert_eq!(play(&mut group(text, 3), results), "du.......du");
    }

    #[test]
    fn when_most_fail_nothing_is_taken_out() {
        let mut group = group("fall = 3", 4);
        let mut opened = 0;
        for round in 0..10 {
            for number in 0..4 {
                for one in group.record(backend(number), FAILED, Duration::from_secs(round)) {
                    assert_eq!(one, Transition::Open { failing: 4, of: 4 });
                    opened += 1;
                }
            }
        }
        assert_eq!(opened, 1, "it is reported once");
        assert!(group.is_open());
        let states = group.members().values().map(|one| group.state(one));
        assert!(states.eq([State::Failing; 4]));

        // Two recover: the other two are within the limit.
        let now = Duration::from_secs(20);
        assert_eq!(group.record(backend(0), Ok(()), now), []);
        let all = group.record(backend(1), Ok(()), now);
        let down = [2, 3].map(|number| Transition::Down(backend(number)));
        assert_eq!(all, [&[Transition::Closed][..], &down].concat());
        assert!(!group.is_open());
    }

    #[test]
    fn what_is_out_remains_out_when_others_fail() {
        let mut group = group("fall = 2\nrise = 1", 4);
        let at = Duration::from_secs;
        group.record(backend(0), FAILED, at(1));
        assert_eq!(group.record(backend(0), FAILED, at(2)), [Transition::Down(backend(0))]);
        for second in 3..6 {
            for number in 1..4 {
                let all = group.record(backend(number), FAILED, at(second));
                assert!(!all.iter().any(|one| matches!(one, Transition::Down(_))), "{all:?}");
            }
        }
        assert!(group.is_open() && group.members()[&backend(0)].is_out);
        assert_eq!(group.record(backend(0), Ok(()), at(9)), [Transition::Up(backend(0))]);
    }

    #[test]
    fn the_only_backend_is_never_taken_out() {
        let mut one = group("fall = 1", 1);
        assert_eq!(play(&mut one, "----"), "o...");
        let mut all = group("fall = 1\nmost = 1.0", 1);
        assert_eq!(play(&mut all, "----"), "d...");
    }

    #[test]
    fn what_is_remembered_continues() {
        let health = health("rise = 2\nfall = 1\nhold = '5s'");
        let mut group = Group::new(health.clone());
        let member =
            Member { is_out: true, flaps: 2, since: Duration::from_secs(1), ..Member::default() };
        let known = |one| (one == backend(0)).then(|| member.clone());
        group.follow(&health, (0..3).map(backend), known);
        assert_eq!(play(&mut group, "++++++"), ".....u", "held until the sixth second");
        group.follow(&health, (0..2).map(backend), |_| None);
        assert_eq!(group.members().len(), 2);
        assert_eq!(group.record(backend(2), FAILED, Duration::ZERO), [], "it is gone");
    }
}
