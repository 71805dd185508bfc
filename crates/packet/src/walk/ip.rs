//! IPv4, IPv6 and its extension headers.

use super::packet::{Fragment, IpPacket};
use super::{Header, Invalid, Layer, Next, Walk};
use crate::{IpProtocol, word};

impl Walk<'_> {
    pub(super) fn ipv4(&mut self) -> Result<Layer, Invalid> {
        let start = self.at;
        let header = self.take(20)?;
        if header[0] >> 4 != 4 {
            return Err(Invalid::BadHeader);
        }
        let length = usize::from(header[0] & 15) * 4;
        let total = usize::from(word(header, 2).unwrap_or_default());
        let is_length_stated = total != 0 || !self.limits.is_cut;
        let end = if is_length_stated { start + total } else { self.frame.len() };
        let fragment = Fragment::of_ipv4(word(header, 6).unwrap_or_default());
        self.at = start + length.max(20);
        self.ip = Some(IpPacket {
            is_ipv6: false,
            network: start,
            transport: self.at,
            end,
            is_length_stated,
            protocol: IpProtocol(header[9]),
            fragment,
            is_destination_final: true,
        });
        let has_bad_length = length < 20 || end < start + length;
        self.follow(has_bad_length, IpProtocol(header[9]), end);
        Ok(Layer { header: Header::Ipv4, start, end: self.at })
    }

    pub(super) fn ipv6(&mut self) -> Result<Layer, Invalid> {
        let start = self.at;
        let header = self.take(40)?;
        if header[0] >> 4 != 6 {
            return Err(Invalid::BadHeader);
        }
        let protocol = IpProtocol(header[6]);
        let payload = usize::from(word(header, 4).unwrap_or_default());
        // Linux accepts a length of zero before hop-by-hop options and takes what is there.
        let ends_with_frame = self.limits.is_cut || protocol == IpProtocol::HOP_BY_HOP;
        let is_length_stated = payload != 0 || !ends_with_frame;
        let end = if is_length_stated { self.at + payload } else { self.frame.len() };
        self.ip = Some(IpPacket {
            is_ipv6: true,
            network: start,
            transport: self.at,
            end,
            is_length_stated,
            protocol,
            fragment: Fragment::default(),
            is_destination_final: true,
        });
        self.follow(false, protocol, end);
        Ok(Layer { header: Header::Ipv6, start, end: self.at })
    }

    pub(super) fn extension(&mut self, protocol: IpProtocol) -> Result<Layer, Invalid> {
        if self.extensions == self.limits.extensions {
            return Err(Invalid::TooManyExtensions);
        }
        self.extensions += 1;
        let units = usize::from(self.peek(2)?[1]);
        let extension = self.take(match protocol {
            IpProtocol::FRAGMENT => 8,
            IpProtocol::AH => 4 * (units + 2),
            _ => 8 * (units + 1),
        })?;
        let next = IpProtocol(extension[0]);
        if let Some(ip) = &mut self.ip {
            ip.add(protocol, extension);
            (ip.protocol, ip.transport) = (next, self.at);
        }
        self.next = self.after(next);
        Ok(self.layer(Header::Extension(protocol), extension.len()))
    }

    /// Decides what comes after a fixed IP header.
    fn follow(&mut self, has_bad_length: bool, protocol: IpProtocol, end: usize) {
        self.end = if self.limits.is_cut { self.frame.len() } else { end };
        self.next = if has_bad_length {
            Next::Failed(Invalid::BadHeader)
        } else if end > self.frame.len() && !self.limits.is_cut {
            Next::Failed(Invalid::Truncated)
        } else {
            self.after(protocol)
        };
    }

    fn after(&self, protocol: IpProtocol) -> Next {
        let is_open = self.ip.is_some_and(|ip| ip.is_ipv6 && !ip.fragment.is_later());
        if is_open && protocol.is_extension() {
            Next::Extension(protocol)
        } else {
            Next::Transport(protocol)
        }
    }
}
