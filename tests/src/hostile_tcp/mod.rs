//! Hostile answers to a TCP connection that is being opened, used or closed: what they are, and
//! how they act on an endpoint of Linux and on one of ours.
//!
//! Rule: an [`Answer`] names sequence numbers relative to the connection, so that the same answer
//! can be written for two endpoints.

pub mod answer;
pub mod linux;
pub mod ours;

pub use answer::{Answer, Side};

use crate::random::Random;

/// Where a connection is when the answer comes; the endpoint opened it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    SynSent,
    Established,
    FinWait1,
    FinWait2,
    CloseWait,
    Closing,
    LastAck,
}

impl State {
    pub const ALL: [Self; 7] = [
        Self::SynSent,
        Self::Established,
        Self::FinWait1,
        Self::FinWait2,
        Self::CloseWait,
        Self::Closing,
        Self::LastAck,
    ];

    /// The destination's FIN has arrived.
    pub fn has_their_fin(self) -> bool {
        matches!(self, Self::CloseWait | Self::Closing | Self::LastAck)
    }

    /// The endpoint's FIN was sent.
    pub fn has_our_fin(self) -> bool {
        matches!(self, Self::FinWait1 | Self::FinWait2 | Self::Closing | Self::LastAck)
    }
}

/// A connection, and what then comes.
#[derive(Clone, Debug)]
pub struct Case {
    pub is_ipv6: bool,
    pub state: State,
    /// Both ends use timestamps.
    pub has_timestamps: bool,
    pub may_sack: bool,
    /// Bytes that the endpoint has sent and that were not acknowledged.
    pub sent: u32,
    pub answer: Answer,
}

impl Case {
    pub fn new(random: &mut Random) -> Self {
        let state = *random.one(&State::ALL);
        let has_data = matches!(state, State::Established | State::CloseWait);
        let mut case = Self {
            is_ipv6: random.below(2) == 0,
            state,
            has_timestamps: random.below(3) > 0,
            may_sack: random.below(3) > 0,
            sent: if has_data { *random.one(&[0, 100, 2000, 5000]) } else { 0 },
            answer: Answer::default(),
        };
        case.answer = Answer::new(random, &case);
        case
    }

    /// A case of the same connection with another answer.
    pub fn again(&self, random: &mut Random) -> Self {
        Self { answer: Answer::new(random, self), ..self.clone() }
    }

    /// The cases differ in their answers alone.
    pub fn has_same_connection(&self, other: &Self) -> bool {
        let key =
            |case: &Self| (case.is_ipv6, case.state, case.has_timestamps, case.may_sack, case.sent);
        key(self) == key(other)
    }

    /// Sequence numbers from the first that is not acknowledged to the next that is sent.
    pub fn outstanding(&self) -> u32 {
        let fin = self.state.has_our_fin() && self.state != State::FinWait2;
        self.sent + u32::from(fin) + u32::from(self.state == State::SynSent)
    }
}

/// What an answer did to an endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effect {
    /// The connection ended by RST.
    pub is_reset: bool,
    pub is_established: bool,
    /// Sequence numbers of ours that were acknowledged.
    pub acknowledged: u32,
    /// Sequence numbers of theirs that were accepted.
    pub received: u32,
    /// An acknowledgement is sent, or data.
    pub answers: bool,
    /// RST is sent.
    pub resets: bool,
}
