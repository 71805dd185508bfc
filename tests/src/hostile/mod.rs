//! Frames that an attacker would send to a host or a router: usual ones, alone or in a tunnel, with
//! some defects; and packets in fragments. All of it comes from a seed.
//!
//! Rule: a frame carries its number where no fault changes it, in the identification of IPv4 or the
//! flow label of IPv6 of its outermost IP header, so that a receiver can identify it.
//! Not here: what a program or Linux should do with them.

pub mod compare;
mod faults;
mod fragments;
mod frame;
mod place;
mod settings;
pub mod site;
mod transport;
mod tunnel;

pub use fragments::fragments;
pub use place::{HOST, Place, ROUTER};
pub use settings::Settings;

use lab::LinkOptions;

use self::frame::Frame;
use crate::random::Random;

/// Numbers that a frame can have.
pub const NUMBERS: u16 = u16::MAX;
/// The sender uses an address of the receiver or of its networks as its own.
pub const OWN_SOURCE: &str = "a source that is the receiver";

/// A frame, and what is wrong with it.
#[derive(Clone, Debug)]
pub struct Hostile {
    pub bytes: Vec<u8>,
    pub faults: Vec<&'static str>,
}

/// The next frame from the sender to the receiver of a place; `number` is not 0.
pub fn frame(random: &mut Random, place: &'static Place, number: u16) -> Hostile {
    let is_ipv6 = random.below(2) == 0;
    let base = if random.below(4) == 0 {
        tunnel::around(random, place, is_ipv6, 1 + random.clone().below(3))
    } else {
        place.usual(random, is_ipv6)
    };
    spoiled(random, place, number, base)
}

/// A hostile frame made of a given one, which has no tags and no options in its IP header.
pub fn spoiled(random: &mut Random, place: &'static Place, number: u16, base: Vec<u8>) -> Hostile {
    let mut frame = Frame::new(place, base);
    frame.number(number);
    let faults = faults::apply(random, &mut frame);
    Hostile { bytes: frame.finish(), faults }
}

/// A frame that our programs and nft read differently on purpose; `number` is not 0.
pub fn frame_unlike_nft(random: &mut Random, place: &'static Place, number: u16) -> Hostile {
    let is_ipv6 = random.below(2) == 0;
    let mut frame = Frame::new(place, place.usual(random, is_ipv6));
    frame.number(number);
    let faults = faults::apply_unlike_nft(random, &mut frame);
    Hostile { bytes: frame.finish(), faults }
}

/// Links on which frames remain in order if the calling thread sends them: GRO, which would hold
/// back segments of TCP, is off, and the thread is bound to one processor, whose queue has them
/// all.
pub fn in_order() -> LinkOptions {
    let first = sys::cpu::online().expect("processors")[0];
    sys::cpu::set_affinity(&[first]).expect("a processor");
    LinkOptions { gro: false, ..LinkOptions::default() }
}

/// The number of a frame, if it is one of these.
pub fn number(bytes: &[u8]) -> Option<u16> {
    let at = match bytes.get(12..14)? {
        [0x08, 0x00] => 18,
        [0x86, 0xdd] => 16,
        _ => return None,
    };
    let number = bytes.get(at..at + 2)?;
    Some(u16::from_be_bytes(number.try_into().ok()?)).filter(|number| *number != 0)
}
