//! The payload after the headers.

use serde::{Deserialize, Serialize};

use super::hex;
use crate::stream::build::{Builder, Names};
use crate::stream::error::{Error, Reason};

/// The rest of the frame: zeros, unless one of these is given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Payload {
    /// Bytes in hexadecimal, followed by zeros up to the frame's size.
    pub hex: Option<String>,
    /// Bytes as text, followed by zeros up to the frame's size.
    pub text: Option<String>,
    /// Bytes in hexadecimal, repeated up to the frame's size.
    pub pattern: Option<String>,
}

impl Payload {
    pub(super) fn build(&self, b: &mut Builder) -> Result<(), Error> {
        let headers = b.start();
        let bytes = match self {
            Self { hex: None, text: None, pattern: None } => Vec::new(),
            Self { hex: Some(digits), text: None, pattern: None } => {
                hex(digits).map_err(|reason| b.error("hex", reason))?
            }
            Self { hex: None, text: Some(text), pattern: None } => text.as_bytes().to_vec(),
            Self { hex: None, text: None, pattern: Some(pattern) } => {
                let pattern = hex(pattern).map_err(|reason| b.error("pattern", reason))?;
                b.fill(headers, Some(pattern));
                b.unnamed(Names::Nothing);
                return Ok(());
            }
            _ => return Err(b.error("", Reason::OneOf { keys: "`hex`, `text` and `pattern`" })),
        };
        b.append(&bytes);
        b.fill(headers, bytes.is_empty().then(Vec::new));
        b.unnamed(Names::Nothing);
        Ok(())
    }
}
