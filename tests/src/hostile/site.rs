//! Hosts without a program of ours, to which frames are sent; nftables records which of them came
//! to a hook.
//!
//! ```text
//!   a ── veth ── b: ingress, RULES, ingress end, prerouting, input, RULES, input end
//! ```
//!
//! Rule: a frame carries its number in the source's MAC address ([`stamp`]), which every hook sees,
//! also of a packet that was put together from fragments.

use std::collections::BTreeSet;
use std::time::Duration;

use lab::{Capture, LinkOptions, TwoHosts, until};
use serde_json::Value;

use crate::nft::run;

/// A frame and its number; those of one packet have the same.
pub type Numbered = (u16, Vec<u8>);

/// Numbers of frames that came to a hook.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// Ingress, before rules.
    pub ingress: BTreeSet<u16>,
    /// Ingress, after rules.
    pub passed: BTreeSet<u16>,
    /// IP packets whose headers the stack accepts.
    pub prerouting: BTreeSet<u16>,
    /// Packets for this host, whole, after rules.
    pub input: BTreeSet<u16>,
}

/// A host, and another one that sends to it.
#[derive(Debug)]
pub struct Site {
    net: TwoHosts,
    wire: Capture,
}

impl Site {
    pub fn new() -> Self {
        let net = TwoHosts::build(&LinkOptions::default()).unwrap();
        net.a.set_sysctl("ipv6/conf/eth0/disable_ipv6", "1").unwrap();
        // Fragments of frames with the same number, sent earlier, are gone by then.
        for (path, value) in
            [("ipv4/ipfrag_time", "2"), ("ipv6/ip6frag_time", "2"), ("ipv4/ipfrag_max_dist", "0")]
        {
            net.b.set_sysctl(path, value).unwrap();
        }
        let wire = Capture::open(&net.a, "eth0").unwrap();
        run(&net.b, &["-f", "-"], RECORDER).unwrap_or_else(|error| panic!("{error}"));
        Self { net, wire }
    }

    /// Replaces the rules: a table of nft at priority 0; `table` is its family and name.
    ///
    /// # Errors
    /// What nft refuses, in its words.
    pub fn load(&self, table: &str, rules: &str) -> Result<(), String> {
        let script = format!("table {table} {{}}\ndelete table {table}\n{rules}");
        run(&self.net.b, &["-f", "-"], &script).map(drop)
    }

    /// Sends frames in order; returns where they arrived. The caller is bound to one processor,
    /// which keeps the order.
    pub fn send<'a>(&self, frames: impl IntoIterator<Item = &'a Numbered>) -> Record {
        run(&self.net.b, &["-f", "-"], FLUSH).unwrap_or_else(|error| panic!("{error}"));
        for (_, frame) in frames {
            // One that is longer than the link takes is not sent.
            let _refused = self.wire.send(frame);
        }
        let mut last = [&[0xff; 6][..], &[2, 0, 0, 0, 0, 0, 0x88, 0xb5], &[0; 46]].concat();
        stamp(&mut last, LAST);
        self.wire.send(&last).unwrap();
        let found = until("the last frame", PATIENCE, || {
            let record = self.record();
            Ok(record.ingress.contains(&LAST).then_some(record))
        });
        found.unwrap()
    }

    fn record(&self) -> Record {
        let listed = run(&self.net.b, &["-j", "list", "sets"], "").unwrap();
        let listed: Value = serde_json::from_str(&listed).unwrap();
        let mut record = Record::default();
        for set in listed["nftables"].as_array().unwrap().iter().filter_map(|it| it.get("set")) {
            let numbers = set["elem"].as_array().into_iter().flatten().filter_map(number);
            match set["name"].as_str() {
                Some("ingress") => record.ingress = numbers.collect(),
                Some("passed") => record.passed = numbers.collect(),
                Some("prerouting") => record.prerouting = numbers.collect(),
                Some("input") => record.input = numbers.collect(),
                _ => {}
            }
        }
        record
    }
}

impl Default for Site {
    fn default() -> Self {
        Self::new()
    }
}

/// Writes a number into the source's MAC address, except its first byte.
pub fn stamp(frame: &mut [u8], number: u16) {
    let [high, low] = number.to_be_bytes();
    frame[7..12].copy_from_slice(&[PREFIX[0], PREFIX[1], PREFIX[2], high, low]);
}

fn number(element: &Value) -> Option<u16> {
    let mac: packet::Mac = element.as_str()?.parse().ok()?;
    let [_, a, b, c, high, low] = mac.0;
    ([a, b, c] == PREFIX).then(|| u16::from_be_bytes([high, low]))
}

/// The highest number that a frame may have is one less.
pub const LAST: u16 = u16::MAX;
const PREFIX: [u8; 3] = [0x78, 0x99, 0];
const PATIENCE: Duration = Duration::from_secs(60);
const RECORDER: &str = "\
table netdev record {
 set ingress { type ether_addr; size 65535; flags dynamic; }
 set passed { type ether_addr; size 65535; flags dynamic; }
 chain ingress {
  type filter hook ingress device \"eth0\" priority -200; policy accept
  update @ingress { ether saddr }
 }
 chain passed {
  type filter hook ingress device \"eth0\" priority 200; policy accept
  update @passed { ether saddr }
 }
}
table inet record {
 set prerouting { type ether_addr; size 65535; flags dynamic; }
 set input { type ether_addr; size 65535; flags dynamic; }
 chain prerouting {
  type filter hook prerouting priority -450; policy accept
  update @prerouting { ether saddr }
 }
 chain input {
  type filter hook input priority 200; policy accept
  update @input { ether saddr }
 }
}
";
const FLUSH: &str = "\
flush set netdev record ingress
flush set netdev record passed
flush set inet record prerouting
flush set inet record input
";
