//! What tests of packets share: two ends of a link with a socket each, and exchanges that end.

use std::time::{Duration, Instant};

use lab::{Host, LinkOptions, TwoHosts};
use xsk::umem::Builder;
use xsk::{Frame, Interface, Rx, Tx, Umem, interface, socket};

/// How long anything may take.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// A socket on `eth0` of a host, and its memory.
#[derive(Debug)]
pub struct End {
    pub tx: Tx,
    pub rx: Rx,
    pub umem: Umem,
}

impl End {
    pub fn new(host: &Host, memory: Builder, multi_buffer: bool) -> Self {
        Self::with(host, memory, |it| it, |socket| socket.multi_buffer(multi_buffer))
    }

    pub fn with(
        host: &Host,
        memory: Builder,
        interface: impl FnOnce(interface::Builder) -> interface::Builder + Send,
        socket: impl FnOnce(socket::Builder<'_>) -> socket::Builder<'_> + Send,
    ) -> Self {
        let umem = memory.build().unwrap();
        let opened = host.run(|| {
            let interface = interface(Interface::builder("eth0")).open()?;
            socket(interface.socket(0).umem(&umem).rings(64).fill(128)).open()
        });
        let (tx, rx) = opened.unwrap().unwrap_or_else(|error| panic!("{error}")).split();
        Self { tx, rx, umem }
    }

    /// Closes the socket; every frame must be back.
    pub fn close(self) {
        let Self { tx, rx, umem } = self;
        assert_eq!((tx.counters().invalid, rx.counters().invalid), (0, 0));
        let kernel = rx.stats().unwrap().kernel;
        assert_eq!((kernel.tx_invalid, kernel.fill_invalid), (0, 0));
        drop((tx, rx));
        assert!(umem.audit().is_all_free(), "{:?}", umem.audit());
    }
}

pub fn link(mtu: u32) -> TwoHosts {
    TwoHosts::build(&LinkOptions { mtu, ..LinkOptions::default() }).unwrap()
}

/// Sets the MTU of a host's `eth0`.
pub fn set_mtu(host: &Host, mtu: u32) {
    let ifindex = host.ifindex("eth0").unwrap();
    host.netlink().unwrap().set_mtu(ifindex, mtu).unwrap();
}

/// Memory of 512 frames.
pub fn memory(frame_size: u32, headroom: u32) -> Builder {
    let unaligned = !frame_size.is_power_of_two();
    Umem::builder().frames(512).frame_size(frame_size).headroom(headroom).unaligned(unaligned)
}

/// A packet of ours to everybody, other bytes for each `seed`.
pub fn packet(len: usize, seed: usize) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..len).map(|at| (at / 251 + at + seed * 7) as u8).collect();
    let header = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 1, OURS[0], OURS[1]];
    let there = len.min(header.len());
    bytes[..there].copy_from_slice(&header[..there]);
    bytes
}

/// Passes on the frames that arrive because of `send`, in order: a marker sent after them ends it.
pub fn exchange(tx: &mut Tx, rx: &mut Rx, send: impl FnOnce(&mut Tx), mut take: impl FnMut(Frame)) {
    send(tx);
    let mut marker = packet(60, 0);
    marker[12..14].copy_from_slice(&MARKER);
    tx.send(&marker).unwrap_or_else(|error| panic!("the marker: {error}"));
    let deadline = Instant::now() + PATIENCE;
    let mut is_over = false;
    while !is_over {
        assert!(Instant::now() < deadline, "the marker did not arrive");
        rx.wait(Duration::from_millis(100)).unwrap();
        for frame in rx.batch(64) {
            match frame.get(12..14) {
                Some(kind) if kind == MARKER => is_over = true,
                Some(kind) if kind == OURS => take(frame),
                None => take(frame),
                // The stack talks now and then.
                Some(_) => {}
            }
        }
    }
}

/// The bytes of what came because of `send`, and in how many parts each came.
pub fn arrivals(tx: &mut Tx, rx: &mut Rx, send: impl FnOnce(&mut Tx)) -> Vec<(Vec<u8>, usize)> {
    let mut arrived = Vec::new();
    exchange(tx, rx, send, |frame| arrived.push((bytes(&frame), frame.fragments().count())));
    arrived
}

pub fn bytes(frame: &Frame) -> Vec<u8> {
    let mut bytes = vec![0; frame.packet_len()];
    assert_eq!(frame.copy_to(&mut bytes), bytes.len());
    bytes
}

/// EtherTypes for experiments.
pub const OURS: [u8; 2] = [0x88, 0xb5];
const MARKER: [u8; 2] = [0x88, 0xb6];
