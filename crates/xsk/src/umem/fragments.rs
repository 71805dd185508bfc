//! The bytes of a packet, which may be in several chunks.
//!
//! Rule: the place of a fragment was checked when it was a frame of its own, and does not change
//! while it is a fragment. `frame` chains chunks.

use std::marker::PhantomData;
use std::slice;

use super::frame::{Frame, IntoParts, Parts};

/// The bytes of a packet, chunk by chunk.
#[derive(Debug)]
pub struct Fragments<'a> {
    parts: Parts<'a>,
}

/// The bytes of a packet, chunk by chunk, for writing.
#[derive(Debug)]
pub struct FragmentsMut<'a> {
    parts: IntoParts,
    _frame: PhantomData<&'a mut Frame>,
}

impl Frame {
    /// Number of bytes of the packet in all its chunks.
    #[inline]
    pub fn packet_len(&self) -> usize {
        if self.is_fragmented() { self.fragments().map(<[u8]>::len).sum() } else { self.len() }
    }

    /// The bytes of each chunk, in order.
    pub fn fragments(&self) -> Fragments<'_> {
        Fragments { parts: self.parts() }
    }

    /// The bytes of each chunk, in order, for writing.
    pub fn fragments_mut(&mut self) -> FragmentsMut<'_> {
        FragmentsMut { parts: self.parts().parts, _frame: PhantomData }
    }

    /// Copies the packet, or its beginning if the buffer is shorter; returns the number of bytes.
    pub fn copy_to(&self, buffer: &mut [u8]) -> usize {
        let mut at = 0;
        for part in self.fragments() {
            let room = &mut buffer[at..];
            let fitting = part.len().min(room.len());
            room[..fitting].copy_from_slice(&part[..fitting]);
            at += fitting;
        }
        at
    }

    /// Overwrites bytes of the packet from byte `at` on, across chunks. `false`, and nothing is
    /// written, when the packet ends before.
    pub fn write_at(&mut self, at: usize, bytes: &[u8]) -> bool {
        if at.checked_add(bytes.len()).is_none_or(|end| end > self.packet_len()) {
            return false;
        }
        let (mut skip, mut rest) = (at, bytes);
        for part in self.fragments_mut() {
            let start = skip.min(part.len());
            skip -= start;
            let (now, later) = rest.split_at(rest.len().min(part.len() - start));
            part[start..start + now.len()].copy_from_slice(now);
            rest = later;
        }
        true
    }
}

impl<'a> Iterator for Fragments<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let region = self.parts.parts.region();
        let (chunk, offset, len) = self.parts.next()?;
        // SAFETY: alive, because the frame's chunks are counted; only shared access.
        let start = unsafe { region.as_ref() }.start(chunk);
        // SAFETY: offset and length are inside the chunk, as checked when it was a frame.
        let start = unsafe { start.add(offset as usize) };
        // SAFETY: as above; the frame, borrowed for `'a`, owns the chunk.
        Some(unsafe { slice::from_raw_parts(start.as_ptr(), len as usize) })
    }
}

impl<'a> Iterator for FragmentsMut<'a> {
    type Item = &'a mut [u8];

    fn next(&mut self) -> Option<&'a mut [u8]> {
        let region = self.parts.region();
        let (chunk, offset, len) = self.parts.next()?;
        // SAFETY: alive, because the frame's chunks are counted; only shared access.
        let start = unsafe { region.as_ref() }.start(chunk);
        // SAFETY: offset and length are inside the chunk, as checked when it was a frame.
        let start = unsafe { start.add(offset as usize) };
        // SAFETY: as above; the frame, exclusively borrowed for `'a`, owns the chunk, and each
        // chunk is returned once.
        Some(unsafe { slice::from_raw_parts_mut(start.as_ptr(), len as usize) })
    }
}

#[cfg(test)]
mod tests {
    use crate::Umem;

    /// A packet of parts of these lengths, with bytes 0, 1, 2 and so on.
    fn packet(umem: &Umem, lens: &[usize]) -> crate::Frame {
        let mut byte = 0u8;
        let mut parts = lens.iter().map(|len| {
            let mut part = umem.alloc().unwrap();
            assert!(part.resize(*len));
            for place in part.iter_mut() {
                *place = byte;
                byte = byte.wrapping_add(1);
            }
            part
        });
        let mut packet = parts.next().unwrap();
        parts.for_each(|part| packet.append(part).unwrap());
        packet
    }

    #[test]
    fn bytes_are_read_and_written_across_chunks() {
        let umem = Umem::builder().frames(8).build().unwrap();
        for lens in [&[10][..], &[4, 6], &[1, 1, 8], &[3, 0, 7], &[0, 10]] {
            let mut packet = packet(&umem, lens);
            assert_eq!(packet.packet_len(), 10);
            for room in 0..12 {
                let mut buffer = vec![0xff; room];
                let copied = packet.copy_to(&mut buffer);
                assert_eq!(copied, room.min(10), "{lens:?}");
                let bytes: Vec<u8> = (0..copied as u8).collect();
                assert_eq!(buffer[..copied], bytes, "{lens:?}");
            }
            for at in 0..=10 {
                for len in 0..=10 - at {
                    let mut expected: Vec<u8> = (0..10).collect();
                    let new = vec![0xee; len];
                    expected[at..at + len].copy_from_slice(&new);
                    assert!(packet.write_at(at, &new));
                    let mut now = [0; 10];
                    packet.copy_to(&mut now);
                    assert_eq!(now[..], expected, "{len} bytes at {at} of {lens:?}");
                    assert!(packet.write_at(0, &(0..10).collect::<Vec<u8>>()));
                }
            }
            for (at, len) in [(0, 11), (10, 1), (11, 0), (usize::MAX, 1)] {
                assert!(!packet.write_at(at, &vec![1; len]), "{len} bytes at {at}");
            }
        }
        assert!(umem.audit().is_all_free());
    }
}
