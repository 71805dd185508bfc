//! `Options` of a TCP segment, parsed strictly: anything that a peer need not accept is an error.

/// The options of a segment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    pub mss: Option<u16>,
    pub scale: Option<u8>,
    pub sack_permitted: bool,
    /// Left and right edges, as sequence numbers.
    pub sack: Vec<(u32, u32)>,
    /// Timestamp value and echo reply.
    pub time: Option<(u32, u32)>,
}

impl Options {
    /// Parses the `bytes` after the fixed header, a multiple of four.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let mut options = Self::default();
        let mut seen = Vec::new();
        let mut rest = bytes;
        while let Some((&kind, behind)) = rest.split_first() {
            match kind {
                END => {
                    let is_padding = behind.iter().all(|byte| *byte == 0);
                    return if is_padding { Ok(options) } else { Err("data behind END".into()) };
                }
                NOP => rest = behind,
                _ => {
                    let length = usize::from(*behind.first().ok_or("an option has no length")?);
                    if length < 2 || length > rest.len() {
                        return Err(format!("option {kind} has length {length}"));
                    }
                    if seen.contains(&kind) {
                        return Err(format!("option {kind} is there twice"));
                    }
                    seen.push(kind);
                    options.read(kind, &rest[2..length])?;
                    rest = &rest[length..];
                }
            }
        }
        Ok(options)
    }

    fn read(&mut self, kind: u8, value: &[u8]) -> Result<(), String> {
        match (kind, value.len()) {
            (MSS, 2) => self.mss = Some(u16::from_be_bytes([value[0], value[1]])),
            (SCALE, 1) if value[0] <= 14 => self.scale = Some(value[0]),
            (SACK_PERMITTED, 0) => self.sack_permitted = true,
            (SACK, 8 | 16 | 24 | 32) => {
                self.sack = value.chunks(8).map(|block| (word(block), word(&block[4..]))).collect();
            }
            (TIME, 8) => self.time = Some((word(value), word(&value[4..]))),
            (kind, length) => return Err(format!("option {kind} with {length} bytes: {value:?}")),
        }
        Ok(())
    }

    /// The options as bytes of a segment, padded at the front to keep words aligned.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        if let Some(mss) = self.mss {
            bytes.extend([MSS, 4]);
            bytes.extend(mss.to_be_bytes());
        }
        if self.sack_permitted {
            bytes.extend([NOP, NOP, SACK_PERMITTED, 2]);
        }
        if let Some(scale) = self.scale {
            bytes.extend([NOP, SCALE, 3, scale]);
        }
        if let Some((value, echo)) = self.time {
            bytes.extend([NOP, NOP, TIME, 10]);
            bytes.extend(value.to_be_bytes());
            bytes.extend(echo.to_be_bytes());
        }
        if !self.sack.is_empty() {
            bytes.extend([NOP, NOP, SACK, 2 + 8 * self.sack.len() as u8]);
            for (left, right) in &self.sack {
                bytes.extend(left.to_be_bytes());
                bytes.extend(right.to_be_bytes());
            }
        }
        bytes
    }
}

fn word(bytes: &[u8]) -> u32 {
    u32::from_be_bytes(bytes[..4].try_into().unwrap())
}

const END: u8 = 0;
const NOP: u8 = 1;
const MSS: u8 = 2;
const SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIME: u8 = 8;

#[test]
fn options_are_read_strictly() {
    let all = Options {
        mss: Some(1460),
        scale: Some(7),
        sack_permitted: true,
        sack: vec![(1, 2), (5, u32::MAX)],
        time: Some((7, 9)),
    };
    assert_eq!(Options::parse(&all.bytes()), Ok(all));
    for wrong in [
        &[MSS, 4, 5][..],
        &[MSS, 3, 5, 0],
        &[MSS],
        &[MSS, 0, 0, 0],
        &[SCALE, 3, 15, NOP],
        &[SACK, 10, 0, 0, 0, 0, 0, 0, 0],
        &[END, 1, 0, 0],
        &[9, 2, NOP, NOP],
        &[SACK_PERMITTED, 2, SACK_PERMITTED, 2],
    ] {
        assert!(Options::parse(wrong).is_err(), "{wrong:?}");
    }
}
