//! Many requests to the kernel in one system call.
//!
//! Rule: only the last one of a batch is acknowledged; the others are answered if they fail. The
//! kernel works through a batch before the call returns (`netlink_rcv_skb` in
//! net/netlink/af_netlink.c), so all answers can be read without waiting for any.

use netlink_packet_core::{NLM_F_ACK, NLM_F_REQUEST};
use netlink_sys::SocketAddr;

use super::conversation::{Conversation, DATAGRAM, HEADER, Request, Step};
use super::conversation::{aligned, header, messages};
use crate::error::{Error, Result};

/// Requests of one kind.
#[derive(Debug)]
pub(super) struct Batch {
    call: &'static str,
    kind: u16,
    flags: u16,
    bytes: Vec<u8>,
    /// Where each of them begins.
    begins: Vec<usize>,
}

impl Batch {
    /// `flags`: `NLM_F_*`; request and acknowledge are added.
    pub fn new(call: &'static str, kind: u16, flags: u16) -> Self {
        let bytes = Vec::with_capacity(FULL + ROOM);
        Self { call, kind, flags: flags | NLM_F_REQUEST, bytes, begins: Vec::new() }
    }

    /// Adds a request, whose payload `write` writes into `length` zeros.
    pub fn push(&mut self, length: usize, write: impl FnOnce(&mut [u8])) {
        let begin = self.bytes.len();
        let end = begin + HEADER + length;
        self.bytes.extend_from_slice(&header(HEADER + length, self.kind, self.flags, 0));
        self.bytes.resize(aligned(end), 0);
        write(&mut self.bytes[begin + HEADER..end]);
        self.begins.push(begin);
    }

    /// Whether it is to be sent before the next one is added.
    pub fn is_full(&self) -> bool {
        self.bytes.len() >= FULL
    }
}

impl Conversation {
    /// Sends the batch, which is empty afterwards. `object` is what an error calls the request of
    /// that place in the batch.
    ///
    /// # Errors
    /// The error of the first request that failed; all others were executed.
    pub fn send_batch(
        &mut self,
        batch: &mut Batch,
        object: impl Fn(usize) -> String,
    ) -> Result<()> {
        let Some(last) = batch.begins.last().copied() else { return Ok(()) };
        let first = self.sequence.wrapping_add(1);
        for (number, begin) in batch.begins.iter().enumerate() {
            self.sequence = first.wrapping_add(number as u32);
            batch.bytes[begin + 8..begin + 12].copy_from_slice(&self.sequence.to_ne_bytes());
        }
        let flags = batch.flags | NLM_F_ACK;
        batch.bytes[last + 6..last + 8].copy_from_slice(&flags.to_ne_bytes());
        let sent = self.socket.send_to(&batch.bytes, &SocketAddr::new(0, 0), 0);
        batch.bytes.clear();
        batch.begins.clear();
        sent.map_err(|error| Error::from_io(batch.call, object(0), &error))?;
        self.answers(batch, first, object)
    }

    /// Reads all queued replies, so that none is left for the next exchange.
    fn answers(&self, batch: &Batch, first: u32, object: impl Fn(usize) -> String) -> Result<()> {
        let (mut refused, mut ended) = (None, false);
        while let Some(datagram) = self.receive_now(batch.call)? {
            for message in messages(&datagram) {
                let number = message.sequence.wrapping_sub(first) as usize;
                let object = object(number);
                let request = Request {
                    call: batch.call,
                    object: &object,
                    kind: batch.kind,
                    flags: batch.flags,
                    payload: Vec::new(),
                };
                match message.step(&request) {
                    Ok(Step::End) => ended = true,
                    Ok(_) => {}
                    Err(error) => refused = refused.or(Some(error)),
                }
            }
        }
        match refused {
            Some(error) => Err(error),
            None if ended => Ok(()),
            None => Err(Error::new(batch.call, "", libc::EPROTO)
                .with_detail("the kernel did not answer the last of several requests")),
        }
    }

    /// `None` if nothing was received. Lost answers after many rejections do not matter: the first
    /// ones were received.
    fn receive_now(&self, call: &'static str) -> Result<Option<Vec<u8>>> {
        loop {
            let mut datagram = Vec::with_capacity(DATAGRAM);
            match self.socket.recv_from(&mut datagram, libc::MSG_DONTWAIT) {
                Ok(_) => return Ok(Some(datagram)),
                Err(error) => match error.raw_os_error() {
                    Some(libc::EAGAIN) => return Ok(None),
                    Some(libc::EINTR | libc::ENOBUFS) => {}
                    _ => return Err(Error::from_io(call, "", &error)),
                },
            }
        }
    }
}

/// Bytes of a batch; a socket's default buffer takes three times as much.
const FULL: usize = 1 << 16;
/// For the request that fills it.
const ROOM: usize = 1 << 10;
