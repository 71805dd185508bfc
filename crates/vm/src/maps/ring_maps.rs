//! Ring buffer maps: records from programs to user space, or in the reverse direction
//! (`user_ringbuf`).
//!
//! They have no elements: operations on elements are refused, as for every type that lacks them.

use super::ringbuf::Ring;
use super::{MapAttributes, Storage};
use crate::errno::Errno;

#[derive(Debug)]
pub(crate) struct RingMap(pub Ring);

impl RingMap {
    pub fn create(attributes: &MapAttributes) -> Result<Self, Errno> {
        Ring::create(attributes).map(Self)
    }
}

impl Storage for RingMap {
    fn ring(&self) -> Option<&Ring> {
        Some(&self.0)
    }
}
