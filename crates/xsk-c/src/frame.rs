//! `struct xway_xsk_frame`: a frame that the C program owns.
//!
//! Rule: the fields that C may change (start and length of the data) are accepted only within the
//! bounds of the frame; those that it must not change are a token that is looked up.

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr;

use xsk::Frame;

use crate::books::{Books, Token};
use crate::border::Plain;
use crate::error::{Error, Result, partly};

/// Bytes of the program's own memory, or a part of a packet.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Packet {
    pub data: *mut c_void,
    /// Length of the data. On receive: the size of the buffer before the call, the length of the
    /// packet after it, which may be larger.
    pub len: usize,
}

/// A frame that the program owns: a packet in a umem, or a free frame to be filled. The program
/// owns it until it is submitted or released; `data` is NULL afterwards. A copy of this struct is
/// not another frame: using the second one of two copies is an error.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CFrame {
    /// Start of the data. May be moved within the frame to remove a header or to prepend one.
    pub data: *mut u8,
    /// Length of the data; of the first part, if there are more.
    pub len: u32,
    /// Bytes available from `data` to the end of the frame.
    pub capacity: u32,
    /// Number of further parts of a long packet; see xway_xsk_umem_parts().
    pub more: u32,
    /// Identifies the frame; must not be changed.
    pub token: [u32; 3],
}

// SAFETY: consists of an integer and a raw pointer.
unsafe impl Plain for Packet {}
// SAFETY: consists of integers and a raw pointer.
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

    /// Applies the start and length that C set.
    #[inline]
    fn apply(&self, frame: &mut Frame) -> Result<()> {
        let (before, len) = (frame.len(), self.len as usize);
        let by = self.data.addr().wrapping_sub(frame.as_ptr().addr()) as isize;
        let (headroom, capacity) = (frame.headroom() as isize, frame.capacity() as isize);
        if !(-headroom..=capacity).contains(&by) {
            return Err(Error::argument("`data` points outside of the frame"));
        }
        if len as isize > capacity - by {
            return Err(Error::argument(format!(
                "invalid length {len}: from `data`, the frame has space for {} bytes",
                capacity - by
            )));
        }
        if by != 0 {
            let fits = frame.resize(before.max(by.max(0) as usize));
            assert!(fits, "the start of the data is inside the frame");
            if !frame.move_head(by) {
                frame.resize(before);
                let text = "`data` cannot be moved after a request for the frame";
                return Err(Error::argument(text));
            }
        }
        let fits = frame.resize(len);
        assert!(fits, "the length was checked");
        Ok(())
    }
}

/// Passes frames to C until the places or the frames are used up; returns their number.
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

/// Takes frames from C unchanged, until the first that C does not own. Returns their number.
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

/// Takes frames from C with its changes. The first frame that `send` rejects remains with C and
/// ends the call.
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

/// Edits a frame that remains with C, after applying C's changes.
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

/// Appends `tail` to the packet `head`.
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

/// Writes the parts of a packet to `places`; returns their number, which may exceed the places.
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

/// Processes each frame, which is empty afterwards, until the first failure.
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
