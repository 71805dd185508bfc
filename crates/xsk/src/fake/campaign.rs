//! Campaigns: any bytes determine the actions of a program and a kernel. Nothing may panic, no two
//! frames may belong to one chunk, and all frames must be returned in the end.
//!
//! The first byte decides whether the kernel is hostile. If it is not, its packets are checked byte
//! by byte. The bytes that a hostile kernel writes into frames do not matter, so it writes none.

use super::{Answer, Kernel, World};
use crate::ring::Descriptor;
use crate::sync::Ordering;
use crate::{Frame, Rx, Tx, Umem};

/// Runs a campaign until its bytes are used up.
///
/// # Panics
/// If an invariant does not hold.
pub fn campaign(bytes: &[u8]) {
    let mut bytes = Script { bytes };
    let world = bytes.world();
    let is_hostile = bytes.byte() & 1 != 0;
    let (umem, socket, kernel) = world.open();
    let (tx, rx) = socket.split();
    let mut run = Run { umem, tx, rx, kernel, held: Vec::new(), is_hostile };
    while !bytes.bytes.is_empty() {
        run.step(&mut bytes);
        run.check();
    }
    run.end();
}

struct Run {
    umem: Umem,
    tx: Tx,
    rx: Rx,
    kernel: Kernel,
    held: Vec<Frame>,
    is_hostile: bool,
}

impl Run {
    fn step(&mut self, bytes: &mut Script<'_>) {
        let act = bytes.byte() % if self.is_hostile { 17 } else { 12 };
        match act {
            0 => self.receive(bytes),
            1 => self.look(bytes),
            2 => drop(self.tx.send(&vec![SENT; bytes.word() as usize % 2100])),
            3 => self.push(bytes),
            4 => self.give_back(bytes),
            5 => self.shape(bytes),
            6 => self.batch(bytes),
            7 => self.held.extend(self.tx.alloc()),
            8 => self.arrive(bytes),
            9 => _ = self.kernel.state().transmit(u32::from(bytes.byte() % 16)),
            10 => self.answer(bytes),
            11 => self.burst(bytes),
            12 => self.show(bytes),
            13 => self.complete(bytes),
            14 => self.move_index(bytes),
            15 => self.set_flags(bytes),
            _ => _ = self.tx.reset(),
        }
    }

    /// Checks the invariants.
    fn check(&self) {
        let mut chunks: Vec<u32> =
            self.held.iter().flat_map(|frame| frame.parts().map(|(chunk, _, _)| chunk)).collect();
        let region = self.umem.handle().region();
        assert!(
            chunks.iter().all(|chunk| region.owner(*chunk).is_none()),
            "ours, not the kernel's"
        );
        chunks.sort_unstable();
        assert!(chunks.is_sorted_by(|a, b| a < b), "a chunk is in two frames: {chunks:?}");
        let audit = self.umem.audit();
        let sum = audit.free + audit.held + audit.receiving + audit.transmitting;
        assert_eq!(sum, audit.total, "{audit:?}");
        assert!(audit.held as usize >= chunks.len(), "{audit:?}");
    }

    fn end(self) {
        let Self { umem, tx, rx, kernel, held, is_hostile } = self;
        if !is_hostile {
            let counters = (rx.counters(), tx.counters());
            assert_eq!((counters.0.invalid, counters.0.faults, counters.0.too_long), (0, 0, 0));
            assert_eq!((counters.1.invalid, counters.1.faults), (0, 0));
            assert_eq!(kernel.state().refused, 0, "Linux would keep a frame");
        }
        drop((tx, rx));
        assert!(!kernel.state().was_mapped, "unmapped before it is closed");
        drop(held);
        assert!(umem.audit().is_all_free(), "{:?}", umem.audit());
    }

    fn receive(&mut self, bytes: &mut Script<'_>) {
        let (most, take, is_forgotten) = (bytes.byte(), bytes.byte(), bytes.byte() == 0);
        let mut batch = self.rx.batch(usize::from(most % 20));
        let frames: Vec<Frame> = batch.by_ref().take(usize::from(take % 20)).collect();
        if is_forgotten {
            std::mem::forget(batch);
        } else {
            drop(batch);
        }
        for frame in frames {
            assert!(self.is_hostile || is_right(&frame), "what arrived");
            self.held.push(frame);
        }
    }

    fn look(&mut self, bytes: &mut Script<'_>) {
        let is_hostile = self.is_hostile;
        self.rx.for_each(usize::from(bytes.byte() % 20), |frame| {
            assert!(is_hostile || is_right(frame), "what arrived");
        });
    }

    fn push(&mut self, bytes: &mut Script<'_>) {
        let Some(frame) = self.pick(bytes) else { return };
        if let Err(rejected) = self.tx.push(frame) {
            self.held.push(rejected.frame);
        }
    }

    fn give_back(&mut self, bytes: &mut Script<'_>) {
        let Some(frame) = self.pick(bytes) else { return };
        match bytes.byte() % 3 {
            0 => drop(frame),
            1 => self.tx.recycle(frame),
            _ => self.rx.recycle(frame),
        }
    }

    fn shape(&mut self, bytes: &mut Script<'_>) {
        let Some(mut frame) = self.pick(bytes) else { return };
        match bytes.byte() % 4 {
            0 => _ = frame.move_head(bytes.word() as i16 as isize),
            1 => _ = frame.resize(usize::from(bytes.word())),
            2 => _ = frame.write(&vec![SENT; usize::from(bytes.word()) % 2100]),
            _ => {
                if let Some(tail) = self.pick(bytes)
                    && let Err(tail) = frame.append(tail)
                {
                    self.held.push(tail);
                }
            }
        }
        // All bytes of the frame can be written.
        frame.fragments_mut().for_each(|part| part.fill(SENT));
        self.held.push(frame);
    }

    fn burst(&mut self, bytes: &mut Script<'_>) {
        let (count, len) = (bytes.byte() % 40, bytes.word() % 2100);
        _ = self.tx.send_burst(count.into(), len.into(), |packet| packet.fill(SENT));
    }

    fn batch(&mut self, bytes: &mut Script<'_>) {
        let mut batch = self.tx.batch(u32::from(bytes.byte() % 20));
        for _ in 0..bytes.byte() % 8 {
            let _ = batch.send(&[SENT; 60]);
        }
        match bytes.byte() % 3 {
            0 => drop(batch),
            1 => drop(batch.finish()),
            _ => std::mem::forget(batch),
        }
        self.tx.reap();
    }

    fn arrive(&mut self, bytes: &mut Script<'_>) {
        let parts: Vec<Vec<u8>> = (0..1 + bytes.byte() % 4)
            .map(|_| vec![ARRIVED; 1 + usize::from(bytes.word()) % 1700])
            .collect();
        let slices: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
        match self.is_hostile {
            false => _ = self.kernel.state().receive(&slices),
            true => _ = self.kernel.state().receive_nothing(slices.len() as u32),
        }
    }

    fn answer(&mut self, bytes: &mut Script<'_>) {
        self.kernel.state().answer = match bytes.byte() % 4 {
            0 => Answer::Later,
            1 => Answer::Fail(100),
            _ => Answer::Transmit(u32::from(bytes.byte() % 40)),
        };
    }

    fn show(&mut self, bytes: &mut Script<'_>) {
        let mut state = self.kernel.state();
        for _ in 0..1 + bytes.byte() % 20 {
            let address = bytes.address(&self.umem);
            let len = if bytes.byte() & 1 == 0 { bytes.word().into() } else { bytes.long() };
            let options = match bytes.byte() % 4 {
                0 => bytes.long(),
                1 => 1,
                _ => 0,
            };
            state.rx.put(Descriptor { address, len, options });
        }
        state.rx.publish();
    }

    fn complete(&mut self, bytes: &mut Script<'_>) {
        let mut state = self.kernel.state();
        for _ in 0..1 + bytes.byte() % 20 {
            state.completion.put(bytes.address(&self.umem));
        }
        state.completion.publish();
    }

    fn move_index(&mut self, bytes: &mut Script<'_>) {
        let mut state = self.kernel.state();
        let by = match bytes.byte() % 4 {
            0 => 1,
            1 => 1u32.wrapping_neg(),
            2 => u32::from(bytes.byte()),
            _ => bytes.long(),
        };
        let word = match bytes.byte() % 8 {
            0 => state.rx.memory().producer(),
            1 => state.fill.memory().consumer(),
            2 => state.tx.memory().consumer(),
            3 => state.completion.memory().producer(),
            4 => state.rx.memory().consumer(),
            5 => state.fill.memory().producer(),
            6 => state.tx.memory().producer(),
            _ => state.completion.memory().consumer(),
        };
        word.fetch_add(by, Ordering::AcqRel);
    }

    fn set_flags(&mut self, bytes: &mut Script<'_>) {
        let mut state = self.kernel.state();
        state.fill.memory().set_flags(bytes.long());
        state.tx.memory().set_flags(bytes.long());
    }

    fn pick(&mut self, bytes: &mut Script<'_>) -> Option<Frame> {
        let at = usize::from(bytes.byte()).checked_rem(self.held.len())?;
        Some(self.held.swap_remove(at))
    }
}

fn is_right(frame: &Frame) -> bool {
    frame.fragments().flatten().all(|byte| *byte == ARRIVED)
}

/// Numbers from bytes; zeros after their end.
struct Script<'a> {
    bytes: &'a [u8],
}

impl Script<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.bytes.split_first() else { return 0 };
        self.bytes = rest;
        *first
    }

    fn word(&mut self) -> u16 {
        u16::from_be_bytes([self.byte(), self.byte()])
    }

    fn long(&mut self) -> u32 {
        u32::from(self.word()) << 16 | u32::from(self.word())
    }

    fn world(&mut self) -> World {
        let mut world = World::default();
        let shape = self.byte();
        world.rings = 1 << (shape & 3) << (shape >> 2 & 1);
        world.fill = 1 << (shape >> 3 & 3) << (shape >> 5 & 1);
        world.start = u32::MAX.wrapping_sub(u32::from(self.byte() % 64));
        world.options.batch = 1 + u32::from(shape >> 6) * (world.rings - 1) / 3;
        let memory = self.byte();
        world.memory = Umem::builder()
            .frames(u32::from(memory & 31) + 1)
            .headroom(u32::from(memory >> 5 & 1) * 64)
            .transmit_metadata(memory >> 6 & 1 != 0);
        if memory >> 7 != 0 {
            world.memory = world.memory.unaligned(true).frame_size(3000);
        }
        world
    }

    /// An address, often in a chunk of the umem.
    fn address(&mut self, umem: &Umem) -> u64 {
        let geometry = umem.handle().geometry();
        let chunk = u64::from(self.byte()) % u64::from(geometry.frames + 1);
        match self.byte() % 4 {
            0 => u64::from(self.long()) << 32 | u64::from(self.long()),
            1 => chunk * u64::from(geometry.size) + u64::from(self.word()),
            _ => chunk * u64::from(geometry.size) + 256,
        }
    }
}

const ARRIVED: u8 = 0xa5;
const SENT: u8 = 0x5a;
