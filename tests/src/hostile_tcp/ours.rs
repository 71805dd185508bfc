//! Our TCP endpoint: the program that receives, with flows in any state.

use std::net::SocketAddr;

use packet::Mac;
use spec::{Expect, Map, Verdict};
use sys::net::Ifindex;
use traffic::tcp::abi::{Flow, Reason, State as FlowState};
use traffic::tcp::{Config, Path, Plan, plan};

use super::{Case, Effect, Side, State};
use crate::bpf::{Arm, Judge, Judgement};

/// Flows of the run; the answers are for one of them.
pub const FLOWS: u32 = 8;
const PORTS: u16 = 4;
const FIRST_PORT: u16 = 40_000;
const MSS: u16 = 1460;
/// Initial sequence numbers: ours wraps within the data, theirs near the sign bit.
const ISS: u32 = u32::MAX - 50;
const IRS: u32 = 0x7fff_fff0;
const STAMP: u32 = 0xffff_ff00;
/// `TCP_HAS_*` and `TCP_OWES_*`.
const HAS_TIMESTAMPS: u8 = 1;
const HAS_SACK: u8 = 2;
const HAS_PLACE: u8 = 4;
const OWES_ACK: u8 = 2;
const OWES_RESET: u8 = 8;

/// The program for one family of addresses, on one runtime.
#[derive(Debug)]
pub struct Ours<R: Arm> {
    judge: Judge<R>,
    is_ipv6: bool,
    now: fn() -> u64,
}

/// What an answer did to a flow.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    pub verdict: Verdict,
    pub reason: String,
    /// Without times.
    pub flow: Flow,
    pub effect: Effect,
}

impl<R: Arm> Ours<R> {
    /// `now` is the time that programs see.
    pub fn new(is_ipv6: bool, now: fn() -> u64) -> Self {
        let ip = |last: u8| -> std::net::IpAddr {
            let text = if is_ipv6 { format!("fd00::{last}") } else { format!("10.0.0.{last}") };
            text.parse().unwrap()
        };
        let config = Config {
            ports: FIRST_PORT..=FIRST_PORT + PORTS - 1,
            sources: FLOWS.div_ceil(PORTS.into()),
            flows: FLOWS,
            bytes: Some(1_000_000),
            mss: Some(MSS - if is_ipv6 { 20 } else { 0 }),
            ..Config::new("eth0", SocketAddr::new(ip(9), 5001))
        };
        let path =
            Path { ifindex: Ifindex(1), mtu: 1500, mac: MACS[0], next_hop: MACS[1], source: ip(1) };
        let plan = Plan::new(&config, &path, now(), 1).unwrap();
        let judge = Judge::load_only(&plan.object(0).unwrap(), plan::RECEIVE);
        Self { judge, is_ipv6, now }
    }

    /// What an answer does to flow 5, while the others are in the same state.
    pub fn take(&mut self, case: &Case) -> Outcome {
        let before = flow(case, (self.now)());
        for number in 0..FLOWS {
            self.write(number, &before);
        }
        let frame = case.answer.frame(&self.side(&before));
        let judgement = self.judge.judge(&frame, 1);
        for number in (0..FLOWS).filter(|number| *number != TAKEN) {
            assert_eq!(self.read(number), before, "flow {number} changed: {case:?}");
        }
        let after = self.read(TAKEN);
        if judgement.reason != Reason::Taken.label() && judgement.reason != UNACCEPTABLE {
            assert_eq!(after, before, "{}: {case:?}", judgement.reason);
        }
        assert_eq!(judgement.packet, frame, "what is received is not written to");
        check(&after, case);
        let effect = effect(&before, &after);
        let Judgement { verdict, reason, .. } = judgement;
        Outcome { verdict, reason, flow: timeless(after), effect }
    }

    fn side(&self, flow: &Flow) -> Side {
        let own = if self.is_ipv6 { "[fd00::2]:40001" } else { "10.0.0.2:40001" };
        let peer = if self.is_ipv6 { "[fd00::9]:5001" } else { "10.0.0.9:5001" };
        Side {
            macs: MACS,
            peer: peer.parse().unwrap(),
            own: own.parse().unwrap(),
            una: flow.iss.wrapping_add(flow.una as u32),
            next: if flow.state == FlowState::SynSent as u8 { IRS } else { flow.rcv_nxt },
            stamp: STAMP,
            echo: (flow.opened >> 10) as u32,
        }
    }

    fn write(&self, number: u32, flow: &Flow) {
        let value = [&[0; plan::FLOW_AT][..], &flow.to_bytes()].concat();
        let map = self.judge.map(plan::FLOWS);
        map.update(&number.to_ne_bytes(), &value, Expect::Any).unwrap();
    }

    fn read(&self, number: u32) -> Flow {
        let value = self.judge.map(plan::FLOWS).lookup(&number.to_ne_bytes()).unwrap().unwrap();
        Flow::from_bytes(value[plan::FLOW_AT..].first_chunk().unwrap())
    }
}

/// A flow in the state of a case.
fn flow(case: &Case, now: u64) -> Flow {
    let mss = MSS - if case.is_ipv6 { 20 } else { 0 };
    let opening = Flow {
        nxt: 1,
        limit: 1_000_000,
        opened: now,
        deadline: now + 1_000_000_000,
        timeout: 1_000_000_000,
        iss: ISS,
        state: FlowState::SynSent as u8,
        has: HAS_PLACE,
        ..Flow::default()
    };
    if case.state == State::SynSent {
        return opening;
    }
    let ours = u64::from(case.state.has_our_fin());
    let una = if case.state == State::FinWait2 { 2 } else { 1 };
    Flow {
        una,
        nxt: 1 + u64::from(case.sent) + ours,
        limit: if ours == 1 { case.sent.into() } else { 1_000_000 },
        edge: 1 + 65_535,
        rcv_nxt: IRS + 1 + u32::from(case.state.has_their_fin()),
        window_seq: IRS,
        window: 65_535,
        window_most: 65_535,
        ts_recent: STAMP,
        cwnd: 10 * u32::from(mss),
        ssthresh: 1 << 30,
        mss: mss - if case.has_timestamps { 12 } else { 0 },
        state: state(case.state) as u8,
        has: HAS_PLACE
            | if case.has_timestamps { HAS_TIMESTAMPS } else { 0 }
            | if case.may_sack { HAS_SACK } else { 0 },
        ..opening
    }
}

fn state(state: State) -> FlowState {
    match state {
        State::SynSent => FlowState::SynSent,
        State::Established => FlowState::Established,
        State::FinWait1 => FlowState::FinWait1,
        State::FinWait2 => FlowState::FinWait2,
        State::CloseWait => FlowState::CloseWait,
        State::Closing => FlowState::Closing,
        State::LastAck => FlowState::LastAck,
    }
}

/// What holds of a flow whatever arrived.
fn check(flow: &Flow, case: &Case) {
    let is_right = flow.una <= flow.nxt
        && flow.lost <= flow.nxt
        && flow.ranges <= 16
        && (flow.mss == 0 || (36..=MSS).contains(&flow.mss))
        && flow.scale <= 14;
    assert!(is_right, "{case:?}: {flow:?}");
    let mut last = flow.una;
    for range in &flow.range[..flow.ranges.into()] {
        let is_right = last < range.start && range.start < range.end && range.end <= flow.nxt;
        assert!(is_right, "{case:?}: {flow:?}");
        last = range.end;
    }
}

fn effect(before: &Flow, after: &Flow) -> Effect {
    let is_in = |flow: &Flow, state: FlowState| flow.state == state as u8;
    let ended = |end: u8| END_BY_RST.contains(&end);
    let was_opening = is_in(before, FlowState::SynSent);
    let received = if was_opening { 0 } else { after.rcv_nxt.wrapping_sub(before.rcv_nxt) };
    Effect {
        is_reset: ended(after.end) && !ended(before.end),
        is_established: was_opening && is_in(after, FlowState::Established),
        acknowledged: (after.una - before.una) as u32,
        received,
        answers: after.owes & OWES_ACK != 0,
        resets: after.owes & OWES_RESET != 0,
    }
}

/// Times differ between runtimes.
fn timeless(flow: Flow) -> Flow {
    Flow {
        deadline: u64::from(flow.deadline > 0),
        opened: 0,
        established: u64::from(flow.established > 0),
        progress: 0,
        ended: u64::from(flow.ended > 0),
        rtt: 0,
        rtt_variation: 0,
        timeout: 0,
        rtt_last: 0,
        rtt_least: 0,
        epoch: 0,
        ..flow
    }
}

/// Destination's place in a frame first: the endpoint, then its peer.
const MACS: [Mac; 2] = [Mac([2, 0x78, 0x77, 0, 0, 1]), Mac([2, 0x78, 0x77, 0, 0, 2])];
/// The flow of the second address and port.
const TAKEN: u32 = 5;
const UNACCEPTABLE: &str = "unacceptable";
/// `TCP_END_REFUSED` and `TCP_END_RESET`.
const END_BY_RST: [u8; 2] = [2, 3];
