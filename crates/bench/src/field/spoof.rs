//! The flood of an attacker with ten million forged addresses, in the lab's stage.
//!
//! Rule: every address is used before one is repeated, and they are as far apart as possible, each
//! in its own /24, so that no address gives information about another. Not here: the rate, and the
//! defenses.

use std::net::Ipv4Addr;

use anyhow::Result;
use lab::Stage;
use lab::stage::{ATTACKER_MAC, FLOOD_PORT, OPENING, SERVER_LINK, SERVICE};
use traffic::Template;
use traffic::stream::{Order, Pool, Quick, QuickProtocol, Value, Vary};

/// The kind of frames that are sent to the stage's server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attack {
    /// UDP from one unused address, to a port without a listener.
    Constant,
    /// UDP from [`SOURCES`] addresses in turn.
    Udp,
    /// Connection requests to the service for new connections, from [`SOURCES`] addresses in turn.
    Syn,
}

impl Attack {
    /// The frames, of 60 bytes; connection requests have 74.
    ///
    /// # Errors
    /// The stage's server is gone.
    pub fn template(self, stage: &Stage) -> Result<Template> {
        let (protocol, port) = match self {
            Self::Constant => return Ok(Template::constant("flood", stage.attack()?)),
            Self::Udp => (QuickProtocol::Udp, FLOOD_PORT),
            Self::Syn => (QuickProtocol::TcpSyn, OPENING.port()),
        };
        let constant = |text: String| Some(Value::from(text.as_str()));
        let quick = Quick {
            name: "flood".to_owned(),
            src_mac: constant(ATTACKER_MAC.to_string()),
            dst_mac: constant(stage.net.server.mac(SERVER_LINK)?.to_string()),
            src: Some(sources()),
            dst: constant(SERVICE.ip().to_string()),
            sport: constant(FLOOD_PORT.to_string()),
            dport: constant(port.to_string()),
            ..Quick::new(protocol)
        };
        Ok(quick.stream().template(0, MTU)?)
    }
}

/// The forged address with this number, from 1.0.0.0 up to the multicast range; then again.
pub fn invented(number: u64) -> Ipv4Addr {
    let number = (number % u64::from(SOURCES)) as u32;
    Ipv4Addr::from_bits(FIRST.to_bits() + STEP * number)
}

fn sources() -> Value {
    let last = invented(u64::from(SOURCES) - 1);
    let pool = Pool::Range(format!("{FIRST}..{last}"));
    Value::Vary(Vary { pool, step: STEP.into(), order: Order::Sequence })
}

/// Number of forged source addresses, used in turn.
pub const SOURCES: u32 = 10_000_000;
const FIRST: Ipv4Addr = Ipv4Addr::new(1, 0, 0, 0);
/// Distance from one address to the next.
const STEP: u32 = 374;
const MTU: usize = 1500;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_addresses_are_ten_million_that_hosts_could_have() {
        assert!(invented(u64::from(SOURCES) - 1).octets()[0] < 224);
        assert_eq!(invented(SOURCES.into()), FIRST);
        const { assert!(STEP >= 256, "each in a /24 of its own") };
        let Value::Vary(vary) = sources() else { panic!("they vary") };
        assert_eq!(vary.pool, Pool::Range("1.0.0.0..223.235.221.138".to_owned()));
    }
}
