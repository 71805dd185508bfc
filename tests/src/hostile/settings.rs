//! How many frames a campaign has, and where its random numbers begin.

use std::env::{self, VarError};

/// `XWAY_HOSTILE_FRAMES` and `XWAY_HOSTILE_SEED`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    pub frames: u64,
    pub seed: u64,
}

impl Settings {
    /// Reads settings from the environment, else uses the defaults.
    ///
    /// # Panics
    /// A variable that is set is not a valid number.
    pub fn from_environment(frames: u64, seed: u64) -> Self {
        let [frames, seed] = [("XWAY_HOSTILE_FRAMES", frames), ("XWAY_HOSTILE_SEED", seed)]
            .map(|(name, otherwise)| number(name, env::var(name), otherwise));
        let of = |result: Result<u64, String>| result.unwrap_or_else(|error| panic!("{error}"));
        let (frames, seed) = (of(frames), of(seed));
        assert!(frames > 0, "XWAY_HOSTILE_FRAMES: invalid number `0`: expected 1 or more");
        assert!(seed > 0, "XWAY_HOSTILE_SEED: invalid number `0`: expected 1 or more");
        Self { frames, seed }
    }
}

fn number(name: &str, text: Result<String, VarError>, otherwise: u64) -> Result<u64, String> {
    match text {
        Err(VarError::NotPresent) => Ok(otherwise),
        Err(error) => Err(format!("{name}: {error}")),
        Ok(text) => text.parse().map_err(|_| {
            format!("{name}: invalid number `{text}`: expected decimal digits, such as 3000")
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_malformed_number_is_an_error() {
        for text in ["", "1e6", "1_000", "0x10", "-1", " 5", "99999999999999999999"] {
            let error = number("X", Ok(text.to_owned()), 7).unwrap_err();
            assert!(error.contains(&format!("X: invalid number `{text}`")), "{error}");
        }
        assert_eq!(number("X", Ok("12".to_owned()), 7), Ok(12));
        assert_eq!(number("X", Err(VarError::NotPresent), 7), Ok(7));
    }
}
