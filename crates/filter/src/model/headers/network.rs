//! Reads IPv4 with options, and IPv6 with extension headers.

use packet::IpProtocol;

use super::cursor::{Cursor, number, word};
use super::{FragmentKey, Layer, Reader};
use crate::abi::{Extension, Fragment};
use crate::{Field, Reason};

const AUTHENTICATION: u8 = IpProtocol::AH.0;
const HOP_BY_HOP: u8 = IpProtocol::HOP_BY_HOP.0;
const ROUTING: u8 = IpProtocol::ROUTING.0;
const FRAGMENT: u8 = IpProtocol::FRAGMENT.0;
const DESTINATION: u8 = IpProtocol::DESTINATION_OPTIONS.0;
const MAX_EXTENSIONS: usize = 8;
/// IPv4 options for loose and strict source routes.
const SOURCE_ROUTES: [u8; 2] = [131, 137];

/// The result of the network header and its options or extension headers.
#[derive(Debug, Default)]
pub(super) struct Network {
    protocol: Option<u8>,
    /// Fragment offset in bytes, with bit 0 for more fragments.
    fragment: u16,
    identification: u32,
    extensions: u32,
    is_known: bool,
    anomaly: Option<Reason>,
}

impl Network {
    /// The protocol that follows; 0 if it is unknown.
    pub fn protocol(&self) -> u8 {
        self.protocol.unwrap_or_default()
    }

    /// Whether the packet is a fragment.
    pub fn fragment(&self) -> Fragment {
        match self.fragment {
            0 => Fragment::Whole,
            1 => Fragment::First,
            _ => Fragment::Later,
        }
    }

    /// Sets the fields of a layer, including those before a malformed header.
    pub fn set_fields(&self, layer: &mut Layer, is_ipv6: bool) {
        if !self.is_known {
            return;
        }
        let packet = &mut layer.fields;
        packet.set(Field::Fragment, self.fragment() as u32);
        if is_ipv6 {
            packet.set(Field::Extensions, self.extensions);
        }
        if let Some(protocol) = self.protocol {
            packet.set(Field::Protocol, protocol);
        }
        let (source, dest) =
            if is_ipv6 { (Field::Source6, Field::Dest6) } else { (Field::Source4, Field::Dest4) };
        layer.fragment_key = (self.fragment != 0).then(|| FragmentKey {
            source: packet.field(source).unwrap_or_default(),
            dest: packet.field(dest).unwrap_or_default(),
            identification: self.identification,
            is_ipv6,
        });
    }

    /// Adds anomalies of valid headers.
    pub fn add_anomalies(&self, layer: &mut Layer) {
        layer.anomalies.extend(self.anomaly);
        match self.fragment() {
            Fragment::Whole => (),
            Fragment::First => layer.anomalies.push(Reason::FirstFragment),
            Fragment::Later => layer.anomalies.push(Reason::LaterFragment),
        }
    }
}

impl Reader<'_> {
    /// Reads an IPv4 header with its options.
    pub(super) fn ipv4(
        &self,
        layer: &mut Layer,
        cursor: &mut Cursor<'_>,
        network: &mut Network,
    ) -> Result<(), Reason> {
        let header = cursor.take(20)?;
        if header[0] >> 4 != 4 {
            return Err(Reason::BadHeader);
        }
        network.is_known = true;
        let packet = &mut layer.fields;
        packet.set(Field::Source4, number(&header[12..16]));
        packet.set(Field::Dest4, number(&header[16..20]));
        packet.set(Field::Ttl, header[8]).set(Field::Dscp, header[1] >> 2);

        let (length, total) = (usize::from(header[0] & 15) * 4, usize::from(word(header, 2)));
        if length < 20 || total < length {
            return Err(Reason::BadHeader);
        }
        self.bound(cursor, total - 20)?;
        let options = cursor.take(length - 20)?;
        let fragment = word(header, 6);
        network.fragment = (fragment & 0x1fff) << 3 | (fragment & 0x2000) >> 13;
        // The protocol of this header, which is the only one in a later fragment.
        network.identification = u32::from(header[9]) << 16 | u32::from(word(header, 4));
        network.anomaly = option_anomaly(options)?;
        network.protocol = Some(header[9]);
        if header[9] == AUTHENTICATION && network.fragment() != Fragment::Later {
            let result = network.extension(cursor);
            // After a malformed header, the protocol is unknown.
            network.protocol = network.protocol.filter(|_| result.is_ok());
            return result;
        }
        Ok(())
    }

    /// Reads an IPv6 header with its extension headers.
    pub(super) fn ipv6(
        &self,
        layer: &mut Layer,
        cursor: &mut Cursor<'_>,
        network: &mut Network,
    ) -> Result<(), Reason> {
        let header = cursor.take(40)?;
        if header[0] >> 4 != 6 {
            return Err(Reason::BadHeader);
        }
        network.is_known = true;
        let packet = &mut layer.fields;
        packet.set(Field::Source6, number(&header[8..24]));
        packet.set(Field::Dest6, number(&header[24..40]));
        let class = word(header, 0) >> 4 & 0xff;
        packet.set(Field::Ttl, header[7]).set(Field::Dscp, class >> 2);

        let length = match (word(header, 4), header[6]) {
            // Linux uses the length of the frame, whether or not there is a jumbo payload option.
            (0, HOP_BY_HOP) => cursor.left().min(0xffff),
            (length, _) => usize::from(length),
        };
        self.bound(cursor, length)?;
        network.protocol = Some(header[6]);
        let result = network.chain(cursor);
        network.protocol = network.protocol.filter(|_| result.is_ok());
        result
    }

    /// Sets the end of the packet after a number of bytes, which must exist unless it is cut.
    fn bound(&self, cursor: &mut Cursor<'_>, bytes: usize) -> Result<(), Reason> {
        if bytes > cursor.left() && !self.is_cut {
            return Err(Reason::Truncated);
        }
        cursor.end_after(bytes.min(cursor.left()));
        Ok(())
    }
}

impl Network {
    fn chain(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Reason> {
        let mut count = 0;
        while self.fragment() != Fragment::Later && bit(self.protocol()).is_some() {
            if count == MAX_EXTENSIONS {
                return Err(Reason::TooManyExtensions);
            }
            self.extension(cursor)?;
            count += 1;
        }
        Ok(())
    }

    /// Reads one extension header and sets the protocol that follows it.
    fn extension(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Reason> {
        let kind = self.protocol();
        let header = cursor.take(8)?;
        let rest = match kind {
            FRAGMENT => 0,
            AUTHENTICATION => usize::from(header[1]) * 4,
            _ => usize::from(header[1]) * 8,
        };
        cursor.take(rest)?;
        self.extensions |= bit(kind).map_or(0, |extension| extension as u32);
        match kind {
            FRAGMENT => {
                self.fragment |= word(header, 2) & 0xfff9;
                self.identification = number(&header[4..8]) as u32;
            }
            ROUTING => self.anomaly = worse(self.anomaly, routing_anomaly(header[2])),
            _ => (),
        }
        self.protocol = Some(header[0]);
        Ok(())
    }
}

/// The more serious anomaly: a source route before unknown options.
fn worse(one: Option<Reason>, other: Option<Reason>) -> Option<Reason> {
    if other == Some(Reason::SourceRoute) { other } else { one.or(other) }
}

fn bit(protocol: u8) -> Option<Extension> {
    Some(match protocol {
        HOP_BY_HOP => Extension::HopByHop,
        ROUTING => Extension::Routing,
        FRAGMENT => Extension::FragmentHeader,
        DESTINATION => Extension::Destination,
        AUTHENTICATION => Extension::Authentication,
        _ => return None,
    })
}

fn routing_anomaly(kind: u8) -> Option<Reason> {
    match kind {
        0 => Some(Reason::SourceRoute),
        // Mobile IPv6, RPL, segment routing.
        2..=4 => None,
        _ => Some(Reason::Options),
    }
}

/// The anomaly of IPv4 options, up to the end of the list.
fn option_anomaly(options: &[u8]) -> Result<Option<Reason>, Reason> {
    if options.is_empty() {
        return Ok(None);
    }
    let mut rest = options;
    let mut anomaly = Reason::Options;
    while let Some(kind) = rest.first() {
        let length = match kind {
            0 => break,
            1 => 1,
            _ => rest.get(1).map_or(0, |length| usize::from(*length)),
        };
        if *kind > 1 && length < 2 {
            return Err(Reason::BadHeader);
        }
        if SOURCE_ROUTES.contains(kind) {
            anomaly = Reason::SourceRoute;
        }
        rest = rest.get(length..).ok_or(Reason::BadHeader)?;
    }
    Ok(Some(anomaly))
}
