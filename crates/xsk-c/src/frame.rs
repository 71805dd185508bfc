//! `struct xway_xsk_frame`: a frame that C owns, as it sees it.
//!
//! Rule: what C may change (where data starts, how long it is) is believed only as far as it stays
//! inside of the frame; what it must not change is a token that is looked up.

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr;

use xsk::Frame;

use crate::books::{Books, Token};
use crate::border::Plain;
use crate::error::{Error, Result, partly};

/// Bytes of the program's own, or part of a packet.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Packet {
    pub data: *mut c_void,
    /// Bytes that are there; where something is to be received: that fit, and then how long the
    /// packet is, which may be more.
    pub len: usize,
}

/// A frame that the program owns: a packet in memory that is shared with the kernel, or an empty
/// one to be written. It is owned until it is submitted or released; then `data` is NULL. A copy
/// of this struct is not another frame: of two, the one that is used second is an error.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CFrame {
    /// Where data starts. May be moved inside of the frame to take bytes off the front, or to
    /// add some there.
    pub data: *mut u8,
    /// Bytes of data; of the first part when there are more.
    pub len: u32,
    /// Bytes that fit, counted from `data`.
    pub capacity: u32,
    /// Parts of a long packet behind this first one; see xway_xsk_umem_parts().
    pub more: u32,
    /// Who it is: not to be changed.
    pub token: [u32; 3],
}

// SAFETY: of integers and a raw pointer.
unsafe impl Plain for Packet {}
// SAFETY: of integers and a raw pointer.
unsafe impl Plain for CFrame {}

impl CFrame {
    const EMPTY: Self = Self { data: ptr::null_mut(), len: 0, capacity: 0, more: 0, token: [0; 3] };

    #[inline]
    fn new(books: &Books, mut frame: Frame) -> Self {
        let (data, len) = (frame.as_mut_ptr(), frame.len() as u32);
        let capacity = frame.capacity() as u32;
        let more = match frame.is_fragmented() {
            true => frame.fragments().count() as u32 - 1,
            false => 0,
        };
        let Token { memory, chunk, generation } = books.put(frame);
        Self { data, len, capacity, more, token: [memory, chunk, generation] }
    }

    #[inline]
    fn token(&self) -> Token {
        let [memory, chunk, generation] = self.token;
        Token { memory, chunk, generation }
    }

    /// What C did to start and length.
    #[inline]
    fn apply(&self, frame: &mut Frame) -> Result<()> {
        let (before, len) = (frame.len(), self.len as usize);
        let by = self.data.addr().wrapping_sub(frame.as_ptr().addr()) as isize;
        let (headroom, capacity) = (frame.headroom() as isize, frame.capacity() as isize);
        if !(-headroom..=capacity).contains(&by) {
            return Err(Error::argument("the data of a frame starts outside of it"));
        }
        if len as isize > capacity - by {
            return Err(Error::argument(format!(
                "a frame of {len} bytes: from where its data starts, it has room for {}",
                capacity - by
            )));
        }
        if by != 0 {
            let fits = frame.resize(before.max(by.max(0) as usize));
            assert!(fits, "it was checked that data starts inside");
            if !frame.move_head(by) {
                frame.resize(before);
                let text = "the data of a frame stays where it is once something is asked for it";
                return Err(Error::argument(text));
            }
        }
        let fits = frame.resize(len);
        assert!(fits, "the length was checked");
        Ok(())
    }
}

/// Gives frames to C, one for each place as long as there are any; tells how many.
#[inline]
pub fn hand_out(
    books: &Books,
    places: &mut [MaybeUninit<CFrame>],
    mut next: impl FnMut() -> Option<Frame>,
) -> c_int {
    let mut count = 0;
    for place in places {
        let Some(frame) = next() else { break };
        place.write(CFrame::new(books, frame));
        count += 1;
    }
    count
}

/// Takes C's frames as they are; the first that is none ends it. Tells how many.
#[inline]
pub fn take_back(
    books: &Books,
    frames: &mut [CFrame],
    mut give: impl FnMut(Frame),
) -> Result<c_int> {
    each(frames, |frame| {
        give(books.take(frame.token())?);
        Ok(())
    })
}

/// Takes C's frames with what it did to them. What `send` does not take stays C's, and ends it.
#[inline]
pub fn submit(
    books: &Books,
    frames: &mut [CFrame],
    mut send: impl FnMut(Frame) -> Result<(), xsk::socket::Rejected>,
) -> Result<c_int> {
    each(frames, |seen| {
        let mut frame = books.take(seen.token())?;
        if let Err(error) = seen.apply(&mut frame) {
            books.put_back(frame, seen.token());
            return Err(error);
        }
        send(frame).map_err(|rejected| {
            books.put_back(rejected.frame, seen.token());
            rejected.why.into()
        })
    })
}

/// Works on one frame of C's, with what C did to it; it stays C's.
pub fn edit<T>(
    books: &Books,
    seen: &CFrame,
    act: impl FnOnce(&mut Frame) -> Result<T>,
) -> Result<T> {
    let mut frame = books.take(seen.token())?;
    let done = seen.apply(&mut frame).and_then(|()| act(&mut frame));
    books.put_back(frame, seen.token());
    done
}

/// `tail` becomes the end of `head`.
pub fn append(books: &Books, head: &mut CFrame, tail: &mut CFrame) -> Result<()> {
    let mut first = books.take(head.token())?;
    let mut last = match books.take(tail.token()) {
        Ok(last) => last,
        Err(error) => {
            books.put_back(first, head.token());
            return Err(error);
        }
    };
    let applied = head.apply(&mut first).and_then(|()| tail.apply(&mut last));
    let refused = match applied {
        Ok(()) => first.append(last).err().map(|last| (last, too_many_parts())),
        Err(error) => Some((last, error)),
    };
    head.more = first.fragments().count() as u32 - 1;
    books.put_back(first, head.token());
    match refused {
        None => *tail = CFrame::EMPTY,
        Some((last, error)) => {
            books.put_back(last, tail.token());
            return Err(error);
        }
    }
    Ok(())
}

/// Shows the parts of a packet; tells how many it has, which may be more than there are places.
pub fn parts(books: &Books, frame: &CFrame, places: &mut [MaybeUninit<Packet>]) -> Result<c_int> {
    let packet = books.take(frame.token())?;
    let mut places = places.iter_mut();
    let mut count = 0;
    for part in packet.fragments() {
        if let Some(place) = places.next() {
            place.write(Packet { data: part.as_ptr().cast_mut().cast(), len: part.len() });
        }
        count += 1;
    }
    books.put_back(packet, frame.token());
    Ok(count)
}

fn too_many_parts() -> Error {
    Error::argument(format!("a packet has at most {} parts", xsk::limits::FRAGMENTS))
}

/// Does something with each frame, which is empty then; the first failure ends it.
#[inline]
fn each(frames: &mut [CFrame], mut act: impl FnMut(&CFrame) -> Result<()>) -> Result<c_int> {
    let mut count = 0;
    for frame in frames {
        if let Err(error) = act(frame) {
            return partly(count, error);
        }
        *frame = CFrame::EMPTY;
        count += 1;
    }
    Ok(count)
}
