//! The headers that follow IP: ports, flags and ICMP types.

use packet::IpProtocol;

use super::cursor::{Cursor, word};
use super::network::Network;
use super::{Layer, Reader, tunnel};
use crate::abi::{Fragment, Need};
use crate::{Field, Reason};

const UDP: u8 = IpProtocol::UDP.0;
const ICMP: u8 = IpProtocol::ICMP.0;
const TCP: u8 = IpProtocol::TCP.0;
const DCCP: u8 = IpProtocol::DCCP.0;
const ICMPV6: u8 = IpProtocol::ICMPV6.0;
const NO_NEXT_HEADER: u8 = IpProtocol::NO_NEXT_HEADER.0;
const SCTP: u8 = IpProtocol::SCTP.0;
const UDP_LITE: u8 = IpProtocol::UDPLITE.0;

impl Reader<'_> {
    /// Reads the header that follows IP.
    pub(super) fn transport(
        &self,
        layer: &mut Layer,
        mut cursor: Cursor<'_>,
        network: &Network,
        is_ipv6: bool,
    ) -> Result<(), Reason> {
        if network.fragment() == Fragment::Later {
            return Ok(());
        }
        let protocol = network.protocol();
        layer.transport = Some(cursor.at());
        layer.inner = self.needs.has(Need::Inner) && tunnel::is_one(protocol, &cursor);
        let wanted = self.needs.has(Need::Transport);
        match protocol {
            TCP if wanted => tcp(layer, &mut cursor),
            UDP if wanted => {
                udp(layer, &mut cursor, self.is_cut || network.fragment() != Fragment::Whole)
            }
            // A datagram without a readable port could be a tunnel.
            UDP if self.needs.has(Need::Inner) => cursor.take(4).map(|_| ()),
            DCCP | SCTP | UDP_LITE if wanted => ports(layer, cursor.take(4)?),
            ICMP | ICMPV6 if (protocol == ICMPV6) == is_ipv6 => {
                if wanted {
                    icmp(layer, &mut cursor)
                } else {
                    Ok(())
                }
            }
            TCP | UDP | DCCP | SCTP | UDP_LITE => Ok(()),
            NO_NEXT_HEADER if is_ipv6 => Ok(()),
            _ if tunnel::PROTOCOLS.contains(&protocol) => Ok(()),
            _ => {
                layer.anomalies.push(Reason::UnknownProtocol);
                Ok(())
            }
        }
    }
}

fn ports(layer: &mut Layer, header: &[u8]) -> Result<(), Reason> {
    layer.fields.set(Field::SourcePort, word(header, 0)).set(Field::DestPort, word(header, 2));
    Ok(())
}

/// Reads UDP. If `is_cut`, the rest of the datagram is in later fragments.
fn udp(layer: &mut Layer, cursor: &mut Cursor<'_>, is_cut: bool) -> Result<(), Reason> {
    let available = cursor.left();
    let header = cursor.take(8)?;
    ports(layer, header)?;
    let length = usize::from(word(header, 4));
    if length < 8 || length > available && !is_cut {
        return Err(Reason::BadLength);
    }
    Ok(())
}

fn tcp(layer: &mut Layer, cursor: &mut Cursor<'_>) -> Result<(), Reason> {
    let header = cursor.take(20)?;
    ports(layer, header)?;
    layer.fields.set(Field::TcpFlags, header[13]);
    let length = usize::from(header[12] >> 4) * 4;
    if length < 20 {
        return Err(Reason::BadHeader);
    }
    cursor.take(length - 20).map(|_| ())
}

fn icmp(layer: &mut Layer, cursor: &mut Cursor<'_>) -> Result<(), Reason> {
    let header = cursor.take(8)?;
    layer.fields.set(Field::Icmp, word(header, 0));
    Ok(())
}
