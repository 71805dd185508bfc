//! Numbered frames: sent at a rate, and received exactly once or not.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use lab::frame::{Flow, Side};
use lab::{Capture, Host};
use sys::net::PacketSocket;

/// A UDP frame from `src` through its gateway, with its number at the end.
pub fn frame(src: &Host, gateway: packet::Mac, to: Ipv4Addr, port: u16, number: u64) -> Vec<u8> {
    let from = Side {
        mac: src.mac("eth0").unwrap(),
        ip: src.ipv4("eth0").unwrap().into(),
        port: 4000 + port,
    };
    let flow = Flow::new(from, Side { mac: gateway, ip: to.into(), port: DESTINATION });
    let bytes = [MAGIC, &number.to_be_bytes()].concat();
    // Without a checksum, so that only the number differs.
    let mut frame = flow.udp(&bytes).unwrap();
    frame[CHECKSUM..CHECKSUM + 2].fill(0);
    frame
}

/// The number of a frame that [`frame`] made.
pub fn number(frame: &[u8]) -> Option<u64> {
    let payload = frame.get(PAYLOAD..PAYLOAD + MAGIC.len() + 8)?;
    let is_ours = frame[12..14] == [8, 0] && frame[23] == 17 && payload.starts_with(MAGIC);
    is_ours.then(|| u64::from_be_bytes(*payload.last_chunk().unwrap()))
}

/// Sends frames until it is stopped.
#[derive(Debug)]
pub struct Sender {
    over: Arc<AtomicBool>,
    sent: Arc<AtomicU64>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Sender {
    /// Sends copies of a frame of [`frame`] with the numbers from 0, at a rate; after some delay of
    /// this thread at most one batch more, so that no queue overflows.
    pub fn start(src: &Host, frame: Vec<u8>, rate_pps: u64) -> Self {
        let (over, sent) = (Arc::<AtomicBool>::default(), Arc::<AtomicU64>::default());
        let wire = Capture::open(src, "eth0").unwrap();
        let (is_over, count, mut frame) = (Arc::clone(&over), Arc::clone(&sent), frame);
        let batch = (rate_pps / 1000).max(1);
        let pause = Duration::from_secs(1) / u32::try_from(rate_pps / batch).unwrap();
        let thread = sys::thread::spawn("numbered frames", move || {
            while !is_over.load(Ordering::Acquire) {
                let begin = Instant::now();
                for _ in 0..batch {
                    let next = count.load(Ordering::Relaxed);
                    frame[PAYLOAD + MAGIC.len()..][..8].copy_from_slice(&next.to_be_bytes());
                    wire.send(&frame).unwrap();
                    count.store(next + 1, Ordering::Release);
                }
                thread::sleep(pause.saturating_sub(begin.elapsed()));
            }
        });
        Self { over, sent, thread: Some(thread.unwrap()) }
    }

    /// Number of frames so far.
    pub fn sent(&self) -> u64 {
        self.sent.load(Ordering::Acquire)
    }

    /// Ends the stream; returns the number of frames.
    pub fn stop(mut self) -> u64 {
        self.over.store(true, Ordering::Release);
        self.thread.take().unwrap().join().unwrap();
        self.sent()
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
    }
}

/// Counts numbered frames that arrive at an interface.
#[derive(Debug)]
pub struct Receiver {
    over: Arc<AtomicBool>,
    arrived: Arc<AtomicU64>,
    thread: Option<thread::JoinHandle<Vec<bool>>>,
}

impl Receiver {
    /// Begins to count.
    ///
    /// # Panics
    /// Later, if a frame arrives twice or the socket misses one.
    pub fn start(host: &Host, interface: &str) -> Self {
        let ifindex = host.ifindex(interface).unwrap();
        let socket = host.run(|| PacketSocket::open(ifindex)).unwrap().unwrap();
        let (over, arrived) = (Arc::<AtomicBool>::default(), Arc::<AtomicU64>::default());
        let (is_over, count) = (Arc::clone(&over), Arc::clone(&arrived));
        let thread = sys::thread::spawn("received frames", move || {
            let (mut seen, mut frame) = (Vec::new(), Vec::new());
            loop {
                if !socket.receive_into(&mut frame, Duration::from_millis(10)).unwrap() {
                    if is_over.load(Ordering::Acquire) {
                        break;
                    }
                    continue;
                }
                let Some(number) = number(&frame) else { continue };
                let place = usize::try_from(number).unwrap();
                seen.resize(seen.len().max(place + 1), false);
                assert!(!seen[place], "frame {number} arrived twice");
                seen[place] = true;
                count.fetch_add(1, Ordering::Release);
            }
            assert_eq!(socket.missed().unwrap(), 0, "the receiver is too slow");
            seen
        });
        Self { over, arrived, thread: Some(thread.unwrap()) }
    }

    /// Number of frames so far.
    pub fn arrived(&self) -> u64 {
        self.arrived.load(Ordering::Acquire)
    }

    /// Ends; which numbers arrived.
    pub fn stop(mut self) -> Vec<bool> {
        self.over.store(true, Ordering::Release);
        self.thread.take().unwrap().join().unwrap()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
    }
}

const MAGIC: &[u8] = b"xway-line";
/// Discard.
const DESTINATION: u16 = 9;
/// Places in a frame without tags and options.
const CHECKSUM: usize = 14 + 20 + 6;
const PAYLOAD: usize = 14 + 20 + 8;
