//! Bytes of a fixed width from what Python has: bytes, or a number.

use pyo3::prelude::*;

use crate::Error;

/// Exactly `size` bytes.
pub fn bytes(value: &Bound<'_, PyAny>, size: usize, what: &str) -> PyResult<Vec<u8>> {
    if let Ok(number) = value.extract::<i128>() {
        let raw = number.to_le_bytes();
        let fill = if number < 0 { 0xff } else { 0 };
        let kept = size.min(raw.len());
        let lost = raw[kept..].iter().any(|byte| *byte != fill);
        if lost || size == 0 {
            return Err(Error::new_err(format!(
                "{number} does not fit into a {what} of {size} bytes"
            )));
        }
        let mut raw = raw[..kept].to_vec();
        raw.resize(size, fill);
        if cfg!(target_endian = "big") {
            raw.reverse();
        }
        return Ok(raw);
    }
    let raw: Vec<u8> = value.extract()?;
    if raw.len() != size {
        let len = raw.len();
        return Err(Error::new_err(format!("a {what} has {size} bytes here, not {len}")));
    }
    Ok(raw)
}
