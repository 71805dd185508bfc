//! What `xsk bench` answers.

use report::number::human;
use serde::Serialize;
use sys::net::Statistics;

use crate::args::RoleArg;
use crate::view::sink::{Times, time};
use crate::view::{Paint, View};

/// Said when packets may come.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Ready {
    pub ready: bool,
}

impl View for Ready {
    fn text(&self, _paint: Paint) -> String {
        "ready\n".to_owned()
    }
}

/// What is known before the first packet.
#[derive(Clone, Debug, Serialize)]
pub struct Facts {
    #[serde(serialize_with = "word")]
    pub role: RoleArg,
    pub dev: String,
    pub out_dev: Option<String>,
    /// All sockets work without a copy, as the kernel says.
    pub zero_copy: bool,
    /// Why not, where that is known.
    pub why_copy: Option<String>,
    /// Where each queue's thread runs.
    pub workers: Vec<String>,
}

/// What was lost or had to wait, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Loss {
    /// As in the library's `Stats`.
    pub name: &'static str,
    pub count: u64,
}

/// What an interface's own counters went up by.
#[derive(Clone, Debug, Serialize)]
pub struct Counted {
    pub interface: String,
    pub rx_packets: u64,
    pub rx_dropped: u64,
    pub rx_errors: u64,
    pub tx_packets: u64,
    pub tx_dropped: u64,
    pub tx_errors: u64,
}

/// Times are in nanoseconds, of all threads together.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    #[serde(flatten)]
    pub facts: Facts,
    /// Given to the kernel.
    pub sent: u64,
    /// Of these, given back as sent.
    pub completed: u64,
    pub received: u64,
    pub missing: u64,
    pub duplicated: u64,
    pub reordered: u64,
    /// Packets without a number.
    pub foreign: u64,
    /// Round trips that did not end.
    pub unanswered: u64,
    /// Packets that the kernel could not hand over.
    pub dropped: u64,
    /// From the first packet to the last.
    pub seconds: f64,
    pub pps: f64,
    pub user_ns: u64,
    pub system_ns: u64,
    pub user_ns_per_packet: f64,
    pub system_ns_per_packet: f64,
    pub losses: Vec<Loss>,
    pub interfaces: Vec<Counted>,
    pub round_trip_ns: Times,
}

impl Facts {
    pub fn line(&self) -> String {
        let mode = match (self.zero_copy, &self.why_copy) {
            (true, _) => "zero copy".to_owned(),
            (false, Some(why)) => format!("copy mode: {why}"),
            (false, None) => "copy mode".to_owned(),
        };
        format!("{}; {mode}", self.workers.join("; "))
    }
}

impl Measured {
    /// What the counters of each interface went up by.
    pub fn note_interfaces(
        &mut self,
        before: &[(String, Statistics)],
        after: &[(String, Statistics)],
    ) {
        let pairs = before.iter().zip(after);
        let counted = pairs.map(|((name, old), (_, new))| Counted::between(name, old, new));
        self.interfaces = counted.collect();
    }

    fn counts(&self) -> String {
        let mut parts = Vec::new();
        let is_sender = self.facts.role != RoleArg::Rx;
        let is_receiver = self.facts.role != RoleArg::Tx;
        if is_sender {
            parts.push(format!("sent {} ({} completed)", self.sent, self.completed));
        }
        if is_receiver {
            parts.push(format!("received {}, missing {}", self.received, self.missing));
        }
        let rest = [
            (self.duplicated, "twice"),
            (self.reordered, "in another order"),
            (self.unanswered, "unanswered"),
            (self.foreign, "of others"),
        ];
        let rest = rest.iter().filter(|(count, _)| *count > 0);
        parts.extend(rest.map(|(count, what)| format!("{count} {what}")));
        parts.join(", ")
    }
}

impl Counted {
    fn between(name: &str, old: &Statistics, new: &Statistics) -> Self {
        let more = |field: fn(&Statistics) -> u64| field(new).saturating_sub(field(old));
        Self {
            interface: name.to_owned(),
            rx_packets: more(|all| all.rx_packets),
            rx_dropped: more(|all| all.rx_dropped),
            rx_errors: more(|all| all.rx_errors),
            tx_packets: more(|all| all.tx_packets),
            tx_dropped: more(|all| all.tx_dropped),
            tx_errors: more(|all| all.tx_errors),
        }
    }

    /// What was lost outside of the sockets.
    fn line(&self) -> Option<String> {
        let counts = [
            (self.rx_dropped, "rx_dropped"),
            (self.rx_errors, "rx_errors"),
            (self.tx_dropped, "tx_dropped"),
            (self.tx_errors, "tx_errors"),
        ];
        let told: Vec<_> = counts
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, name)| format!("{name} {count}"))
            .collect();
        (!told.is_empty()).then(|| format!("{} counted: {}", self.interface, told.join(", ")))
    }
}

impl View for Measured {
    fn text(&self, paint: Paint) -> String {
        let mut lines = vec![
            paint.bold(&self.counts()),
            format!(
                "{} over {:.2} s; a packet cost {} user, {} system",
                human(self.pps, "pps"),
                self.seconds,
                human(self.user_ns_per_packet, "ns"),
                human(self.system_ns_per_packet, "ns"),
            ),
        ];
        let Times { min, p50, p99, max, .. } = self.round_trip_ns;
        if p50.is_some() {
            let [min, p50, p99, max] = [min, p50, p99, max].map(time);
            lines.push(format!("round trips: min {min}, p50 {p50}, p99 {p99}, max {max}"));
        }
        if !self.losses.is_empty() {
            let losses = self.losses.iter().map(|loss| format!("{} {}", loss.name, loss.count));
            lines.push(format!("sockets counted: {}", losses.collect::<Vec<_>>().join(", ")));
        }
        lines.extend(self.interfaces.iter().filter_map(Counted::line));
        lines.join("\n") + "\n"
    }
}

fn word<S: serde::Serializer>(role: &RoleArg, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(match role {
        RoleArg::Tx => "tx",
        RoleArg::Rx => "rx",
        RoleArg::Echo => "echo",
        RoleArg::Forward => "forward",
        RoleArg::Rtt => "rtt",
    })
}
