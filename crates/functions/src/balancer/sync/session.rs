//! `Session`: whether a datagram of a peer is fresh.
//!
//! Each process has a random number, its session. Datagrams but hellos name the sessions of both,
//! so those to an earlier process are refused. A session of the peer is accepted only with the
//! answer to a random challenge, so those of an earlier process of the peer are refused, too. In
//! a session, a window admits each sequence number once.

use super::seal::Key;
use super::window::Window;
use super::wire::{self, Header, Hello, Message, Refused};

/// What to do after a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accepted {
    /// It is fresh, and of the known session.
    Fresh,
    /// The peer's session is new and was accepted: answer with this hello.
    Joined(Answer),
    /// A hello of a session that is not accepted yet: answer with this hello, and ignore the rest.
    Unknown(Answer),
}

/// A hello that proves that its sender is alive: to this session, with this echo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    to: u64,
    echo: u64,
}

/// This process and one peer.
#[derive(Clone, Debug)]
pub struct Session {
    own: u64,
    theirs: Option<(u64, Window)>,
    challenge: u64,
    sequence: u64,
    /// Missing numbers at the last hello.
    missing: u64,
    lost: u64,
}

impl Session {
    /// `own` and `challenge` are random and not 0.
    #[must_use]
    pub const fn new(own: u64, challenge: u64) -> Self {
        Self { own, theirs: None, challenge, sequence: 0, missing: 0, lost: 0 }
    }

    /// Whether the peer's session is known.
    #[must_use]
    pub const fn is_joined(&self) -> bool {
        self.theirs.is_some()
    }

    /// Datagrams of the peer that did not arrive, as far as known.
    #[must_use]
    pub const fn lost(&self) -> u64 {
        self.lost
    }

    /// A datagram to the peer.
    pub fn seal(&mut self, key: &Key, message: &Message) -> Vec<u8> {
        self.seal_to(self.theirs.map_or(0, |(session, _)| session), key, message)
    }

    /// A hello with the number of lines of the flows here.
    pub fn hello(&mut self, key: &Key, lines: u32, answer: Option<Answer>) -> Vec<u8> {
        let echo = answer.map_or(0, |one| one.echo);
        let to = answer.map(|one| one.to).or(self.theirs.map(|(session, _)| session));
        let hello = Message::Hello(Hello { challenge: self.challenge, echo, lines });
        self.seal_to(to.unwrap_or(0), key, &hello)
    }

    /// Decides about an authentic datagram. `random` is the next challenge.
    ///
    /// # Errors
    /// It is not fresh.
    pub fn accept(
        &mut self,
        header: &Header,
        message: &Message,
        random: u64,
    ) -> Result<Accepted, Refused> {
        if header.sender == self.own {
            return Err(Refused::Reflected);
        }
        let is_to_own = header.receiver == self.own;
        if let Some((session, window)) = &mut self.theirs
            && *session == header.sender
            && is_to_own
        {
            if !window.admit(header.sequence) {
                return Err(Refused::Replayed);
            }
            if matches!(message, Message::Hello(_)) {
                let missing = window.missing();
                // What was missing at the last hello will not come any more.
                self.lost = self.lost.max(missing.min(self.missing));
                self.missing = missing;
            }
            return Ok(Accepted::Fresh);
        }
        let Message::Hello(hello) = message else { return Err(Refused::Session) };
        let answer = Answer { to: header.sender, echo: hello.challenge };
        if is_to_own && hello.echo == self.challenge {
            self.theirs = Some((header.sender, Window::starting(header.sequence)));
            (self.missing, self.lost) = (0, 0);
            self.challenge = random;
            return Ok(Accepted::Joined(answer));
        }
        Ok(Accepted::Unknown(answer))
    }

    fn seal_to(&mut self, receiver: u64, key: &Key, message: &Message) -> Vec<u8> {
        self.sequence += 1;
        let header = Header { sender: self.own, receiver, sequence: self.sequence };
        wire::seal(key, header, message)
    }
}
