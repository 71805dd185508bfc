//! `Engine`: the programs under test, on two processors of the virtual machine, as a `Sender`.
//!
//! The first processor sends live frames, the second receives, as on a host with two processors.
//! Frames are recycled as in the kernel: they return with the changes of their receiver, which
//! overwrites them here.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use packet::Mac;
use spec::{Expect, Input, Map as _, Verdict};
use sys::net::Ifindex;
use traffic::tcp::{self, Path, abi, plan};
use vm::{Machine, Map, Options, Worker, World};

use super::model::Algorithm;
use super::simulation::Sender;
use super::{SECOND, Time};

/// The configuration of the programs.
#[derive(Clone, Debug)]
pub struct Plan {
    pub flows: u32,
    /// Bytes of each flow.
    pub bytes: u64,
    pub algorithm: Algorithm,
    pub is_ipv6: bool,
    /// Number of local ports of each address.
    pub ports: u16,
    /// MSS over IPv4; twenty less over IPv6.
    pub mss: u16,
    pub quantum: u32,
    pub batch: u32,
    /// The initial sequence number of the first flow.
    pub seed: u32,
    pub retries: u8,
}

impl Plan {
    /// A plan with one flow.
    pub fn bytes(bytes: u64) -> Self {
        Self {
            flows: 1,
            bytes,
            algorithm: Algorithm::NewReno,
            is_ipv6: false,
            ports: 20_000,
            mss: 1460,
            quantum: 32,
            batch: 8,
            seed: 0x1234_5678,
            retries: 8,
        }
    }

    fn ip(&self, last: u8) -> IpAddr {
        if self.is_ipv6 {
            std::net::Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, last.into()).into()
        } else {
            [10, 0, 0, last].into()
        }
    }

    fn config(&self) -> tcp::Config {
        let last = FIRST_PORT + (self.ports - 1);
        tcp::Config {
            ports: FIRST_PORT..=last,
            sources: self.flows.div_ceil(self.ports.into()),
            flows: self.flows,
            algorithm: match self.algorithm {
                Algorithm::NewReno => tcp::Algorithm::NewReno,
                Algorithm::Cubic => tcp::Algorithm::Cubic,
            },
            mss: Some(self.mss - if self.is_ipv6 { 20 } else { 0 }),
            bytes: Some(self.bytes),
            duration: None,
            opens_per_second: u32::MAX,
            quantum: self.quantum,
            batch: self.batch,
            retries: self.retries,
            least_timeout: Duration::from_millis(200),
            ..tcp::Config::new("eth0", SocketAddr::new(self.ip(200), PEER_PORT))
        }
    }

    fn path(&self) -> Path {
        Path {
            ifindex: Ifindex(IFINDEX),
            mtu: 1500,
            mac: Mac([2, 0, 0, 0, 0, 1]),
            next_hop: Mac([2, 0, 0, 0, 0, 2]),
            source: self.ip(1),
        }
    }
}

#[derive(Debug)]
pub struct Engine {
    plan: Plan,
    totals: Arc<Map>,
    flows: Arc<Map>,
    senders: Arc<Map>,
    sender: Worker,
    receiver: Worker,
    send: usize,
    receive: usize,
    /// A live frame before the program changed it.
    frame: Vec<u8>,
    /// The headers of the last frame.
    recycled: Vec<u8>,
}

impl Engine {
    pub fn new(plan: &Plan) -> Self {
        let told = tcp::Plan::new(&plan.config(), &plan.path(), START, plan.seed).unwrap();
        let spec = told.object(0).unwrap();
        let mut world = World::default();
        (world.clock.start_ns, world.clock.step_ns) = (START, 1);
        let machine = Machine::load(&spec, &Options { cpus: 2, world, ..Options::default() });
        let machine = machine.unwrap();
        Self {
            plan: plan.clone(),
            totals: machine.map(plan::TOTALS).unwrap(),
            flows: machine.map(plan::FLOWS).unwrap(),
            senders: machine.map(plan::SENDERS).unwrap(),
            sender: machine.worker(0),
            receiver: machine.worker(1),
            send: machine.program(plan::SEND).unwrap(),
            receive: machine.program(plan::RECEIVE).unwrap(),
            frame: told.frame(),
            recycled: Vec::new(),
        }
    }

    /// Whether the programs pass the frame to the host's stack.
    pub fn is_passed(&mut self, frame: &[u8]) -> bool {
        self.take(frame) == Verdict::Pass
    }

    /// Runs the receiving program on a frame.
    pub fn take(&mut self, frame: &[u8]) -> Verdict {
        let input = Input { packet: frame.to_vec(), ..Input::default() };
        self.receiver.put(&input).unwrap();
        let code = self.receiver.execute(self.receive).unwrap();
        assert_eq!(self.receiver.packet(), frame, "a received frame is not changed");
        Verdict::from_code(code)
    }

    /// Number of flows by outcome.
    pub fn ends(&self) -> Vec<(&'static str, u64)> {
        let mut ends = [0; ENDS.len()];
        for totals in self.totals() {
            ends.iter_mut().zip(totals.ends).for_each(|(sum, count)| *sum += count);
        }
        ENDS.into_iter().zip(ends).filter(|(_, count)| *count > 0).collect()
    }

    /// Totals of each processor.
    pub fn totals(&self) -> Vec<abi::Totals> {
        let all = self.totals.lookup(&ONLY).unwrap().unwrap();
        let all = all.as_chunks::<{ abi::Totals::SIZE }>().0;
        all.iter().map(abi::Totals::from_bytes).collect()
    }

    pub fn flow(&self, number: u32) -> abi::Flow {
        let entry = self.flows.lookup(&number.to_ne_bytes()).unwrap().unwrap();
        abi::Flow::from_bytes(entry[plan::FLOW_AT..].first_chunk().unwrap())
    }

    /// Begins a call, which does not wait for work.
    fn begin(&self) {
        let sender = self.senders.lookup(&ONLY).unwrap().unwrap();
        let sender = abi::Sender::from_bytes(sender.first_chunk().unwrap());
        let sender = abi::Sender { runs: 0, last: 0, ..sender };
        self.senders.update(&ONLY, &sender.to_bytes(), Expect::Any).unwrap();
    }

    /// Sends one frame of a batch.
    fn send_one(&mut self) -> Option<Vec<u8>> {
        // A frame as the kernel provides it: complete, with the headers of its last use.
        let mut packet = self.frame.clone();
        packet[..self.recycled.len()].copy_from_slice(&self.recycled);
        let input = Input { packet, ingress_ifindex: IFINDEX, ..Input::default() };
        self.sender.put(&input).unwrap();
        let verdict = Verdict::from_code(self.sender.execute(self.send).unwrap());
        match verdict {
            Verdict::Redirect => {
                assert_eq!(self.sender.redirect_ifindex(), Some(IFINDEX));
                let frame = self.sender.packet().into_owned();
                self.recycled = frame[..HEADERS].iter().map(|byte| !byte).collect();
                Some(frame)
            }
            Verdict::Drop => None,
            other => panic!("live frames are sent or dropped, not {other}"),
        }
    }
}

impl Sender for Engine {
    fn send(&mut self, now: Time) -> Vec<Vec<u8>> {
        self.begin();
        self.sender.set_clock_ns(START + now);
        (0..self.plan.batch).filter_map(|_| self.send_one()).collect()
    }

    fn batch(&self) -> usize {
        self.plan.batch as usize
    }

    fn receive(&mut self, now: Time, frame: &[u8]) -> Option<Vec<u8>> {
        self.receiver.set_clock_ns(START + now);
        let verdict = self.take(frame);
        assert!(verdict == Verdict::Drop, "{verdict} for a segment of ours: {frame:02x?}");
        None
    }

    fn is_done(&self) -> bool {
        self.ends().iter().map(|(_, count)| count).sum::<u64>() == u64::from(self.plan.flows)
    }
}

const ONLY: [u8; 4] = [0; 4];
const IFINDEX: u32 = 7;
const FIRST_PORT: u16 = 20_000;
const PEER_PORT: u16 = 5001;
/// Ethernet, IPv4, TCP.
const HEADERS: usize = 14 + 20 + 20;
/// The clock when the simulation begins.
const START: Time = 1000 * SECOND;
/// `enum tcp_end`.
const ENDS: [&str; 7] =
    ["none", "closed", "refused", "reset", "unanswered", "timed_out", "aborted"];
