//! Transport headers: their lengths alone.

use super::{Header, Invalid, Layer, Next, Walk};
use crate::IpProtocol;

impl Walk<'_> {
    /// `None` for later fragments and for protocols whose header is not known.
    pub(super) fn transport(&mut self, protocol: IpProtocol) -> Option<Result<Layer, Invalid>> {
        self.next = Next::Payload;
        let ip = self.ip.filter(|ip| !ip.fragment.is_later())?;
        let length = match protocol {
            IpProtocol::TCP => 20,
            IpProtocol::UDP | IpProtocol::UDPLITE => 8,
            IpProtocol::DCCP | IpProtocol::SCTP => 12,
            IpProtocol::ICMP if !ip.is_ipv6 => 8,
            IpProtocol::ICMPV6 if ip.is_ipv6 => 8,
            _ => return None,
        };
        Some(self.sized(protocol, length))
    }

    fn sized(&mut self, protocol: IpProtocol, fixed: usize) -> Result<Layer, Invalid> {
        let header = self.take(fixed)?;
        let length = match protocol {
            IpProtocol::TCP => usize::from(header[12] >> 4) * 4,
            _ => fixed,
        };
        let options = length.checked_sub(fixed).ok_or(Invalid::BadHeader)?;
        self.take(options)?;
        Ok(self.layer(Header::Transport(protocol), length))
    }
}
