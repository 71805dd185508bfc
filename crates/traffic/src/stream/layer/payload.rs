//! What headers carry.

use serde::{Deserialize, Serialize};

use super::hex;
use crate::stream::build::{Builder, Names};
use crate::stream::error::Error;

/// The rest of the frame: zeros, unless one of these is given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Payload {
    /// These bytes, in hexadecimal; zeros follow up to the frame's size.
    pub hex: Option<String>,
    /// These bytes; zeros follow up to the frame's size.
    pub text: Option<String>,
    /// These bytes again and again, in hexadecimal, as long as the frame is.
    pub pattern: Option<String>,
}

impl Payload {
    pub(super) fn build(&self, b: &mut Builder) -> Result<(), Error> {
        let headers = b.start();
        let bytes = match self {
            Self { hex: None, text: None, pattern: None } => Vec::new(),
            Self { hex: Some(digits), text: None, pattern: None } => {
                hex(digits).map_err(|why| b.error("hex", why))?
            }
            Self { hex: None, text: Some(text), pattern: None } => text.as_bytes().to_vec(),
            Self { hex: None, text: None, pattern: Some(pattern) } => {
                let pattern = hex(pattern).map_err(|why| b.error("pattern", why))?;
                b.fill(headers, Some(pattern));
                b.unnamed(Names::Nothing);
                return Ok(());
            }
            _ => return Err(b.error("", "has one of `hex`, `text` and `pattern`")),
        };
        b.append(&bytes);
        b.fill(headers, bytes.is_empty().then(Vec::new));
        b.unnamed(Names::Nothing);
        Ok(())
    }
}
