//! Numbered packets from host `a` to host `b` while something else happens.

use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use lab::TwoHosts;
use lab::frame::{Flow, Side};
use traffic::generator::{Config, Generator, Load};
use traffic::template::{Draw, Field, Order, Values};
use traffic::{Rate, Template};

use super::PATIENCE;

pub(super) const PORT: u16 = 4242;
/// Numbers are below this.
pub(super) const MOST: u64 = 1_500_000;
/// Slow enough for the numbers to last, however long others keep each change waiting.
const RATE_PPS: u64 = 10_000;
/// When numbers and rate end it anyway.
const LONGEST: Duration = Duration::from_secs(MOST / RATE_PPS + 10);
/// Frames that a redirecting sender may have counted and not yet sent.
pub const BATCH: u64 = 64;

/// What sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The kernel redirects frames into the link, at an even rate.
    Redirect,
    /// A UDP socket, whose skbs pass the stack of `a`, at the same rate if it can.
    Socket,
}

#[derive(Debug)]
pub struct Traffic {
    sender: Sender,
    over: Arc<AtomicBool>,
    /// Sends, or keeps the sender's processor from being quiet.
    thread: JoinHandle<Option<()>>,
}

#[derive(Debug)]
enum Sender {
    Redirect(Generator),
    Socket(Arc<AtomicU64>),
}

impl Traffic {
    pub fn start(net: &TwoHosts, source: Source) -> Self {
        match source {
            Source::Redirect => Self::redirect(net),
            Source::Socket => Self::socket(net),
        }
    }

    pub fn sent(&self) -> u64 {
        match &self.sender {
            Sender::Redirect(generator) => generator.given(),
            Sender::Socket(sent) => sent.load(Ordering::Acquire),
        }
    }

    /// Waits until `count` more are sent.
    pub fn pass(&self, count: u64) {
        let goal = self.sent() + count;
        assert!(goal <= MOST, "all {MOST} numbers are used up: the changes took too long");
        let passed = || Ok((self.sent() >= goal).then_some(()));
        lab::until(&format!("{count} packets more"), PATIENCE, passed).unwrap();
    }

    /// Ends it; answers how many were sent.
    pub fn stop(self) -> u64 {
        self.over.store(true, Ordering::Release);
        self.thread.join().unwrap().unwrap();
        match self.sender {
            Sender::Redirect(generator) => generator.stop().unwrap().totals.streams[0],
            Sender::Socket(sent) => sent.load(Ordering::Acquire),
        }
    }

    /// The kernel's loop of live frames is one long RCU reader while nothing else wants its
    /// processor, and each attach and update waits for readers: a tenth of a second instead of
    /// some milliseconds. So a second thread wants that processor now and then.
    fn redirect(net: &TwoHosts) -> Self {
        let source = Side::new("02:78:77:00:00:63", "10.0.0.99", 9).unwrap();
        let (mac, ip) = (net.b.mac("eth0").unwrap(), net.b.ipv4("eth0").unwrap());
        let flow = Flow::new(source, Side { mac, ip: ip.into(), port: PORT });
        let load = Load::Streams(vec![numbered(flow.udp_of_length(60).unwrap())]);
        let config = Config {
            profile: Rate::PacketsPerSecond(RATE_PPS as f64).into(),
            count: Some(MOST),
            duration: Some(LONGEST),
            cpus: vec![CPU],
            held: true,
            ..Config::new("eth0", load)
        };
        let over = Arc::<AtomicBool>::default();
        let enough = Arc::clone(&over);
        let disturb = move || {
            sys::cpu::set_affinity(&[CPU]).unwrap();
            while !enough.load(Ordering::Acquire) {
                thread::sleep(Duration::from_micros(500));
            }
        };
        // A generator does not start when its peer does not listen, as here it sometimes will not.
        let features = net.b.ethtool().unwrap().features("eth0").unwrap();
        let gro = features.iter().any(|feature| feature.name == "rx-gro" && feature.active);
        net.b.set_feature("eth0", "gro", true).unwrap();
        let generator = net.a.run(|| Generator::start(config)).unwrap().unwrap();
        net.b.set_feature("eth0", "gro", gro).unwrap();
        generator.go();
        let thread = net.a.spawn(disturb).unwrap();
        Self { sender: Sender::Redirect(generator), over, thread }
    }

    fn socket(net: &TwoHosts) -> Self {
        let socket = net.a.run(|| UdpSocket::bind("10.0.0.1:0")).unwrap().unwrap();
        socket.connect((net.b.ipv4("eth0").unwrap(), PORT)).unwrap();
        let (sent, over) = (Arc::<AtomicU64>::default(), Arc::<AtomicBool>::default());
        let (count, enough) = (Arc::clone(&sent), Arc::clone(&over));
        let send = move || {
            let start = Instant::now();
            for number in 0..MOST {
                let due = Duration::from_secs(number) / RATE_PPS as u32;
                while start.elapsed() < due && !enough.load(Ordering::Acquire) {
                    thread::yield_now();
                }
                if enough.load(Ordering::Acquire) {
                    return;
                }
                assert_eq!(socket.send(&number.to_be_bytes()).unwrap(), 8);
                count.store(number + 1, Ordering::Release);
            }
        };
        Self { sender: Sender::Socket(sent), over, thread: net.a.spawn(send).unwrap() }
    }
}

/// Frames whose payload begins with their number, of eight bytes; nothing covers it.
fn numbered(frame: Vec<u8>) -> Template {
    let number = Field {
        name: "number".into(),
        bit_at: 42 * 8,
        bits: 64,
        draw: 0,
        values: Values::Range { first: 0, step: 1 },
    };
    Template {
        draws: vec![Draw { last: u32::MAX.into(), order: Order::Sequence }],
        fields: vec![number],
        headers: 42,
        ..Template::constant("numbered", frame)
    }
}

/// Processor of the redirecting sender.
const CPU: usize = 0;
