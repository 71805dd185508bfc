//! The demo's traffic as a generated capture: clients that ask, an attacker that floods.
//!
//! Rule: the same settings give the same bytes. Times are nanoseconds from the first phase's
//! start; all frames arrive at the server's one interface.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use anyhow::Result;
use bench::field::invented;
use lab::frame::{Flow, Side, TcpFlags};
use packet::Mac;

/// One frame of the story.
#[derive(Clone, Debug)]
pub struct Arrival {
    pub at_ns: u64,
    pub frame: Vec<u8>,
    pub attack: bool,
}

/// Frames of one phase in the order of time.
pub struct Traffic {
    requests: Vec<Vec<u8>>,
    /// Frames of attack so far, each from another address.
    attacked: u64,
    /// Between two frames of the attack; 0 for none.
    attack_gap_ns: u64,
    request_gap_ns: u64,
    next_attack_ns: u64,
    next_request_ns: u64,
    asked: usize,
    end_ns: u64,
}

impl Traffic {
    /// From `start`, for `time`; `rate_pps` frames of attack a second, or none.
    pub fn new(start: Duration, time: Duration, rate_pps: Option<u64>) -> Result<Self> {
        let flags = TcpFlags { ack: true, ..TcpFlags::default() };
        let request = |port| {
            let client = side(CLIENT_MAC, CLIENT, port);
            Flow::new(client, side(SERVER_MAC, SERVER, SERVICE_PORT)).tcp(flags, 1, b"?")
        };
        let requests = (0..CLIENTS).map(|number| request(FIRST_PORT + number));
        let requests = requests.collect::<Result<_, _>>()?;
        let start_ns = start.as_nanos() as u64;
        Ok(Self {
            requests,
            attacked: 0,
            attack_gap_ns: rate_pps.map_or(0, |rate_pps| NS / rate_pps),
            request_gap_ns: NS / REQUESTS_PPS,
            next_attack_ns: start_ns,
            next_request_ns: start_ns,
            asked: 0,
            end_ns: start_ns + time.as_nanos() as u64,
        })
    }
}

impl Traffic {
    fn attack(&mut self) -> Result<Vec<u8>> {
        let attacker = side(ATTACKER_MAC, invented(self.attacked), FLOOD_PORT);
        self.attacked += 1;
        let server = side(SERVER_MAC, SERVER, FLOOD_PORT);
        Ok(Flow::new(attacker, server).udp_of_length(FRAME_LEN)?)
    }

    fn request(&mut self) -> Vec<u8> {
        self.asked += 1;
        self.requests[self.asked % self.requests.len()].clone()
    }
}

impl Iterator for Traffic {
    type Item = Result<Arrival>;

    fn next(&mut self) -> Option<Self::Item> {
        let attack = self.attack_gap_ns > 0 && self.next_attack_ns <= self.next_request_ns;
        let (next, gap_ns) = if attack {
            (&mut self.next_attack_ns, self.attack_gap_ns)
        } else {
            (&mut self.next_request_ns, self.request_gap_ns)
        };
        let at_ns = *next;
        *next += gap_ns;
        if at_ns >= self.end_ns {
            return None;
        }
        let frame = if attack { self.attack() } else { Ok(self.request()) };
        Some(frame.map(|frame| Arrival { at_ns, frame, attack }))
    }
}

const fn side(mac: Mac, ip: Ipv4Addr, port: u16) -> Side {
    Side { mac, ip: IpAddr::V4(ip), port }
}

const NS: u64 = 1_000_000_000;
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const SERVER_MAC: Mac = Mac([0x02, 0, 0, 0, 0, 0x01]);
const CLIENT_MAC: Mac = Mac([0x02, 0, 0, 0, 0, 0x02]);
const ATTACKER_MAC: Mac = Mac([0x02, 0, 0, 0, 0, 0x66]);
const SERVICE_PORT: u16 = 7;
const FLOOD_PORT: u16 = 1234;
const FRAME_LEN: usize = 60;
const CLIENTS: u16 = 16;
const FIRST_PORT: u16 = 40_000;
/// What the clients of the demo in the kernel ask when all is quiet.
const REQUESTS_PPS: u64 = 7_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_are_in_order_and_as_many_as_asked_for() {
        let time = Duration::from_millis(10);
        let start = Duration::from_millis(5);
        let all = Traffic::new(start, time, Some(100_000)).unwrap();
        let all: Vec<_> = all.collect::<Result<_>>().unwrap();
        assert!(all.is_sorted_by_key(|arrival| arrival.at_ns));
        assert_eq!(all.iter().filter(|arrival| arrival.attack).count(), 1000);
        assert_eq!(all.iter().filter(|arrival| !arrival.attack).count(), 71);
        assert!(all.iter().all(|arrival| arrival.at_ns < 15_000_000 && arrival.frame.len() >= 55));
        assert_eq!(Traffic::new(start, time, None).unwrap().count(), 71);
    }
}
