//! TCP (RFC 9293), one segment at a time.

use serde::{Deserialize, Serialize};

use super::hex;
use super::udp::DYNAMIC_PORT;
use crate::stream::build::{Builder, Cover, Slot};
use crate::stream::error::{Error, Reason};
use crate::stream::number::Kind;
use crate::stream::value::Value;

/// The TCP header.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tcp {
    /// 49152 unless given.
    pub src: Option<Value>,
    pub dst: Option<Value>,
    /// 0 unless given.
    pub seq: Option<Value>,
    /// 0 unless given.
    pub ack: Option<Value>,
    /// Names separated by commas, or a number; `ack` unless given.
    pub flags: Option<Value>,
    /// 65535 unless given.
    pub window: Option<Value>,
    /// 0 unless given.
    pub urgent: Option<Value>,
    /// Options in their order, padded with NOPs; at most 40 bytes.
    pub options: Vec<TcpOption>,
    /// In units of 4 bytes; derived from the options unless given.
    pub header_length: Option<Value>,
    /// Correct unless given as `broken` or a number.
    pub checksum: Option<Value>,
}

/// One TCP option.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TcpOption {
    /// Maximum segment size in bytes.
    Mss(u16),
    /// Window scale: the shift.
    Wscale(u8),
    /// Selective acknowledgments are permitted.
    #[serde(rename = "sackOK")]
    SackOk,
    /// The timestamp of the sender, and the one that it echoes.
    Timestamps(u32, u32),
    /// One byte of padding.
    Nop,
    /// Any option in hexadecimal, with its kind and length.
    Hex(String),
}

const FLAGS: Kind = Kind::Flags(&[
    ("fin", 0x01),
    ("syn", 0x02),
    ("rst", 0x04),
    ("psh", 0x08),
    ("ack", 0x10),
    ("urg", 0x20),
    ("ece", 0x40),
    ("cwr", 0x80),
]);

impl Tcp {
    /// A SYN segment with the options that Linux sends.
    pub fn syn(src: Option<Value>, dst: Option<Value>) -> Self {
        let options = [
            TcpOption::Mss(1460),
            TcpOption::SackOk,
            TcpOption::Timestamps(1, 0),
            TcpOption::Nop,
            TcpOption::Wscale(7),
        ];
        Self {
            src,
            dst,
            flags: Some(Value::from("syn")),
            options: options.into(),
            ..Self::default()
        }
    }

    pub(super) fn build(&self, b: &mut Builder) -> Result<(), Error> {
        b.grow(20);
        self.options(b)?;
        let words = (b.end() - b.start()) / 4;
        b.set(Slot::number("src", 0, 16), &self.src, DYNAMIC_PORT)?;
        b.require(Slot::number("dst", 16, 16), &self.dst)?;
        b.set(Slot::number("seq", 32, 32), &self.seq, 0)?;
        b.set(Slot::number("ack", 64, 32), &self.ack, 0)?;
        b.fix(Slot::number("header_length", 96, 4), &self.header_length, words as u128)?;
        b.set(Slot::new("flags", 104, 8, FLAGS), &self.flags, 0x10)?;
        b.set(Slot::number("window", 112, 16), &self.window, 65535)?;
        b.checksum(Slot::number("checksum", 128, 16), &self.checksum, Cover::Addressed, false)?;
        b.set(Slot::number("urgent", 144, 16), &self.urgent, 0)
    }

    fn options(&self, b: &mut Builder) -> Result<(), Error> {
        let mut bytes = Vec::new();
        for option in &self.options {
            bytes.extend(option.bytes().map_err(|reason| b.error("options", reason))?);
        }
        bytes.resize(bytes.len().next_multiple_of(4), TcpOption::NOP);
        if bytes.len() > 40 {
            let (len, max) = (bytes.len(), 40);
            return Err(b.error("options", Reason::OptionsTooLong { len, max }));
        }
        b.append(&bytes);
        Ok(())
    }
}

impl TcpOption {
    const NOP: u8 = 1;

    fn bytes(&self) -> Result<Vec<u8>, Reason> {
        Ok(match self {
            Self::Mss(mss) => [&[2, 4][..], &mss.to_be_bytes()].concat(),
            Self::Wscale(shift) => vec![3, 3, *shift],
            Self::SackOk => vec![4, 2],
            Self::Timestamps(value, echo) => {
                [&[8, 10][..], &value.to_be_bytes(), &echo.to_be_bytes()].concat()
            }
            Self::Nop => vec![Self::NOP],
            Self::Hex(text) => hex(text)?,
        })
    }
}
