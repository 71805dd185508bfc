//! `Role`: what a peer does, and the values of its report.

use anyhow::{Result, ensure};

use super::peer::Answer;

/// What a peer does in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Tx,
    Rx,
    Echo,
    Forward,
    Rtt,
    /// As `Rx`, `Echo` and `Forward`, to the last frame: the outcome of all that were offered.
    RxLost,
    EchoLost,
    ForwardLost,
    /// As `RxLost`, at a rate that every peer sustains.
    RxPaced,
}

/// The values of one run, in the order in which they are shown: row, unit, value.
pub struct Numbers(pub Vec<(&'static str, &'static str, f64)>);

impl Role {
    /// All roles, in the order of the report.
    pub const ALL: [Self; 9] = [
        Self::Tx,
        Self::Rx,
        Self::Echo,
        Self::Forward,
        Self::Rtt,
        Self::RxLost,
        Self::EchoLost,
        Self::ForwardLost,
        Self::RxPaced,
    ];

    /// A description for the report.
    pub fn word(self) -> &'static str {
        match self {
            Self::Tx => "tx",
            Self::Rx => "rx",
            Self::Echo => "echo",
            Self::Forward => "forward",
            Self::Rtt => "rtt",
            Self::RxLost => "rx-lost",
            Self::EchoLost => "echo-lost",
            Self::ForwardLost => "forward-lost",
            Self::RxPaced => "rx-paced",
        }
    }

    /// What the peer does in it: one of the first four, whose words peers know.
    pub fn peers_part(self) -> Self {
        match self {
            Self::RxLost | Self::RxPaced => Self::Rx,
            Self::Rtt | Self::EchoLost => Self::Echo,
            Self::ForwardLost => Self::Forward,
            role => role,
        }
    }

    /// The row that its arm measures.
    pub fn row(self) -> &'static str {
        match self {
            Self::Rtt => "rtt-p50",
            Self::RxPaced => "rx-paced-missing",
            role => role.word(),
        }
    }

    /// Unit of the role's first value.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Rtt => "ns",
            Self::RxPaced => "frames",
            role if role.is_counted_out() => "%",
            _ => "pps",
        }
    }

    /// Whether every offered frame must be accounted for.
    pub fn is_counted_out(self) -> bool {
        matches!(self, Self::RxLost | Self::EchoLost | Self::ForwardLost | Self::RxPaced)
    }
}

impl Numbers {
    /// Packets per second, as they arrived; the cost of a packet; packets that were lost.
    pub fn of(role: Role, answer: &Answer, arrived: u64) -> Result<Self> {
        let frames = if role == Role::Rx { answer.received } else { arrived };
        ensure!(frames > 0 && answer.seconds > 0.0, "no frame arrived");
        let rate = frames as f64 / answer.seconds;
        let (user, system) = (answer.user_ns / frames as f64, answer.system_ns / frames as f64);
        let missing = match role {
            Role::Tx => answer.sent - frames,
            _ => answer.missing,
        };
        let missing = 100.0 * missing as f64 / (missing + frames) as f64;
        let rows = match role {
            Role::Tx => ["tx", "tx-user-ns", "tx-system-ns", "tx-missing"],
            Role::Rx => ["rx", "rx-user-ns", "rx-system-ns", "rx-missing"],
            Role::Echo => ["echo", "echo-user-ns", "echo-system-ns", "echo-missing"],
            _ => ["forward", "forward-user-ns", "forward-system-ns", "forward-missing"],
        };
        let values = [("pps", rate), ("ns", user), ("ns", system), ("%", missing)];
        let rows = rows.into_iter().zip(values);
        Ok(Self(rows.map(|(row, (unit, value))| (row, unit, value)).collect()))
    }

    /// The quantiles of round trips that a peer reported.
    pub fn of_round_trips(answer: &Answer) -> Result<Self> {
        ensure!(answer.p99_ns > 0.0, "no frame came back");
        Ok(Self(vec![("rtt-p50", "ns", answer.p50_ns), ("rtt-p99", "ns", answer.p99_ns)]))
    }
}
