//! Compares frames with a model of plain bytes: after every sequence of steps both are equal.

use proptest::prelude::*;
use spec::Input;

use super::Frame;
use crate::errno::Errno;
use crate::memory::Memory;

#[derive(Clone, Copy, Debug)]
enum Step {
    Head(i32),
    Meta(i32),
    Tail(i32),
    Pull(u32),
    Write(u64, u8),
}

/// The packet and its metadata.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Bytes {
    packet: Vec<u8>,
    metadata: Vec<u8>,
}

impl Bytes {
    /// Applies a successful step. Bytes that a step uncovers at the front are taken from `now`.
    fn take(&mut self, step: Step, now: &Self) {
        match step {
            Step::Head(delta) if delta < 0 => {
                let new = &now.packet[..delta.unsigned_abs() as usize];
                self.packet.splice(..0, new.iter().copied());
            }
            Step::Head(delta) => drop(self.packet.drain(..delta as usize)),
            Step::Meta(delta) if delta < 0 => {
                let new = &now.metadata[..delta.unsigned_abs() as usize];
                self.metadata.splice(..0, new.iter().copied());
            }
            Step::Meta(delta) => drop(self.metadata.drain(..delta as usize)),
            Step::Tail(delta) => {
                let len = self.packet.len() as i64 + i64::from(delta);
                self.packet.resize(len as usize, 0);
            }
            Step::Pull(_) => {}
            Step::Write(at, byte) => self.packet[at as usize] = byte,
        }
    }
}

fn act(frame: &mut Frame, memory: &mut Memory, step: Step) -> Result<(), Errno> {
    let result = match step {
        Step::Head(delta) => frame.adjust_head(memory, delta),
        Step::Meta(delta) => frame.adjust_meta(delta),
        Step::Tail(delta) => frame.adjust_tail(memory, delta),
        Step::Pull(len) => frame.pull(memory, len),
        Step::Write(at, byte) => frame.copy_in(memory, at, &[byte]).ok_or(Errno::EINVAL),
    };
    frame.moved(memory);
    result
}

/// The bytes of the frame, read through both interfaces.
fn read(frame: &Frame, memory: &Memory) -> Bytes {
    let mut packet = Vec::new();
    frame.append_packet(memory, &mut packet);
    let mut copy = vec![0; frame.len() as usize];
    frame.copy_out(memory, 0, &mut copy).expect("all of it is there");
    assert_eq!(packet, copy);
    assert_eq!(frame.copy_out(memory, 1, &mut copy), None, "one byte too far");
    Bytes { packet, metadata: frame.metadata(memory).to_vec() }
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (-300..300).prop_map(Step::Head),
        (-60..60).prop_map(|words: i32| Step::Meta(words * 4)),
        (-5000..600).prop_map(Step::Tail),
        (0_u32..3800).prop_map(Step::Pull),
        (0_u64..9000, any::<u8>()).prop_map(|(at, byte)| Step::Write(at, byte)),
    ]
}

proptest! {
    #[test]
    fn frames_are_bytes(
        len in prop_oneof![14_usize..200, 3400_usize..3700, 14_usize..12000],
        words in 0_usize..=54,
        steps in proptest::collection::vec(step(), 0..30),
    ) {
        let packet: Vec<u8> = (0..len).map(|at| (at ^ at >> 8) as u8).collect();
        let metadata = vec![0x5a; words * 4];
        let mut memory = Memory::new();
        let mut frame = Frame::install(&mut memory);
        let expected = Bytes { packet, metadata };
        let Bytes { packet, metadata } = expected.clone();
        let input = Input { packet, metadata, ..Input::default() };
        frame.put(&mut memory, &input).expect("the sizes are allowed");
        frame.grows = true;
        let mut expected = expected;
        for step in steps {
            if act(&mut frame, &mut memory, step).is_ok() {
                expected.take(step, &read(&frame, &memory));
            }
            prop_assert_eq!(&read(&frame, &memory), &expected, "{:?}", step);
        }
    }
}
