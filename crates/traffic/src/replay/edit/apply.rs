//! Applies edits to one frame.

use packet::{Mac, word};

use super::super::layers::{Ip, Layers};
use super::sum::Difference;
use super::{Edits, Side};

impl Edits {
    /// Applies all edits to a frame of at least an Ethernet header; returns whether it changed.
    pub(in super::super) fn apply(&self, frame: &mut Vec<u8>) -> bool {
        if *self == Self::default() {
            return false;
        }
        let layers = Layers::of(frame);
        let mut changes = self.map_macs(frame);
        if let Some(ip) = layers.ip {
            changes |= self.map_ip(frame, ip);
        }
        changes | self.vlan.is_some_and(|vlan| vlan.apply(frame, &layers))
    }

    fn map_macs(&self, frame: &mut [u8]) -> bool {
        let mut changes = false;
        for (side, at) in [(Side::Destination, 0), (Side::Source, 6)] {
            let place = &mut frame[at..at + 6];
            let old = Mac::from_slice(place);
            let new = old.and_then(|old| self.macs.iter().find_map(|map| map.map(side, old)));
            if let Some(new) = new {
                changes |= place != new.0;
                place.copy_from_slice(&new.0);
            }
        }
        changes
    }

    fn map_ip(&self, frame: &mut [u8], ip: Ip) -> bool {
        let (mut header, mut pseudo) = (Difference::default(), Difference::default());
        let mut changes = self.map_address(frame, ip, Side::Source, &mut pseudo);
        if ip.is_final {
            changes |= self.map_address(frame, ip, Side::Destination, &mut pseudo);
        } else {
            changes |= self.map_address(frame, ip, Side::Destination, &mut header);
        }
        if let Some(checksum) = ip.checksum {
            (header + pseudo).apply(frame, checksum, false);
        }
        let Some(transport) = ip.transport else { return changes };
        let mut sum = pseudo;
        if let Some([source, destination]) = transport.ports {
            changes |= self.map_port(frame, source, Side::Source, &mut sum);
            changes |= self.map_port(frame, destination, Side::Destination, &mut sum);
        }
        if let Some(checksum) = transport.checksum {
            sum.apply(frame, checksum, transport.is_optional);
        }
        changes
    }

    fn map_address(&self, frame: &mut [u8], ip: Ip, side: Side, sum: &mut Difference) -> bool {
        let at = if side == Side::Source { ip.source } else { ip.destination };
        let old = &frame[at..at + ip.width];
        let new = self.addresses.iter().find_map(|map| map.map(side, old));
        new.is_some_and(|new| sum.put(frame, at, &new))
    }

    fn map_port(&self, frame: &mut [u8], at: usize, side: Side, sum: &mut Difference) -> bool {
        let old = word(frame, at);
        let new = old.and_then(|old| self.ports.iter().find_map(|map| map.map(side, old)));
        new.is_some_and(|new| sum.put(frame, at, &new.to_be_bytes()))
    }
}

#[cfg(test)]
mod tests;
