//! `Sizes`: lengths of a stream's frames in bytes, without the Ethernet checksum.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::error::SizesError;
use crate::limits::{FRAME_MAX, SIZES};

/// Sizes of frames in bytes, from the Ethernet header to the end of the payload. As text, for
/// flags: `128`, `64,128`, `60..1514`, `imix`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub enum Sizes {
    /// All frames have this size.
    Fixed(usize),
    /// These sizes, one after another or at random.
    List { sizes: Vec<usize>, order: Shuffle },
    /// `from`, `from + step` and so on up to `to`. Without `from`, the shortest possible frame is
    /// the first.
    Sweep { from: Option<usize>, to: usize, step: usize, order: Shuffle },
    /// Pairs of a size and its number of frames in each round, evenly spread.
    Mix { sizes: Vec<(usize, usize)>, order: Shuffle },
    /// [`IMIX`], with the shortest frames as long as headers and stamp need.
    Imix { order: Shuffle },
}

/// The order of sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Shuffle {
    /// As listed.
    #[default]
    Sequence,
    /// At random, each independent of the previous one.
    Random,
}

/// The "simple IMIX" of common traffic testers: IP packets of 40, 576 and 1500 bytes in the
/// proportion 7 : 4 : 1, here as padded Ethernet frames without checksum. It is not standardized:
/// RFC 6985 (IMIX Genome) defines names for mixes, and no mix for every network.
pub const IMIX: [(usize, usize); 3] = [(60, 7), (590, 4), (1514, 1)];

impl Sizes {
    /// The sizes of one round, none shorter than `need` bytes.
    pub(super) fn round(&self, need: usize) -> Result<(Vec<usize>, Shuffle), SizesError> {
        let (sizes, order) = match self {
            Self::Fixed(size) => (vec![*size], Shuffle::Sequence),
            Self::List { sizes, order } => (sizes.clone(), *order),
            Self::Sweep { from, to, step, order } => {
                let from = from.unwrap_or(need);
                if *step == 0 || from > *to {
                    return Err(SizesError::Sweep { from, to: *to, step: *step });
                }
                if *to > FRAME_MAX {
                    return Err(SizesError::SweepTooLong { to: *to });
                }
                ((from..=*to).step_by(*step).collect(), *order)
            }
            Self::Mix { sizes, order } => (spread(sizes)?, *order),
            Self::Imix { order } => {
                let grown = IMIX.map(|(size, count)| (size.max(need), count));
                (spread(&grown)?, *order)
            }
        };
        if !(1..=SIZES).contains(&sizes.len()) {
            return Err(SizesError::Count { count: sizes.len() });
        }
        match sizes.iter().find(|size| **size < need) {
            Some(size) => Err(SizesError::TooShort { size: *size, needed: need }),
            None => Ok((sizes, order)),
        }
    }
}

/// A round in which the number of frames of each size is its share, spread as evenly as possible:
/// the next size is always the one that lags most.
fn spread(sizes: &[(usize, usize)]) -> Result<Vec<usize>, SizesError> {
    let whole = sizes.iter().try_fold(0usize, |sum, size| sum.checked_add(size.1));
    let whole = whole.filter(|whole| *whole <= SIZES).unwrap_or(SIZES + 1);
    if whole > SIZES || sizes.iter().any(|size| size.1 == 0) {
        return Err(SizesError::Shares);
    }
    let mut given = vec![0; sizes.len()];
    let mut round = Vec::with_capacity(whole);
    for number in 1..=whole {
        let lag =
            |index: &usize| (sizes[*index].1 * number) as i64 - (given[*index] * whole) as i64;
        // The first of equal sizes: `max_by_key` returns the last.
        if let Some(next) = (0..sizes.len()).rev().max_by_key(lag) {
            given[next] += 1;
            round.push(sizes[next].0);
        }
    }
    Ok(round)
}

/// `Sizes` as written in a description.
#[derive(Serialize, Deserialize)]
#[serde(
    untagged,
    deny_unknown_fields,
    expecting = "a size such as 128, [64, 128], \"60..1514\", \"imix\", \
    { from = 60, to = 1514, step = 2, order = \"random\" }, { list = [64, 128] } or \
    { mix = [[60, 7], [1514, 1]] }"
)]
enum Written {
    One(usize),
    List(Vec<usize>),
    Text(String),
    Listed {
        list: Vec<usize>,
        #[serde(default)]
        order: Shuffle,
    },
    Sweep {
        from: Option<usize>,
        to: usize,
        #[serde(default = "one")]
        step: usize,
        #[serde(default)]
        order: Shuffle,
    },
    Mix {
        mix: Mix,
        #[serde(default)]
        order: Shuffle,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Mix {
    Named(String),
    Listed(Vec<(usize, usize)>),
}

const fn one() -> usize {
    1
}

impl TryFrom<Written> for Sizes {
    type Error = SizesError;

    fn try_from(written: Written) -> Result<Self, SizesError> {
        Ok(match written {
            Written::One(size) => Self::Fixed(size),
            Written::List(sizes) => Self::List { sizes, order: Shuffle::Sequence },
            Written::Text(text) => text.parse()?,
            Written::Listed { list, order } => Self::List { sizes: list, order },
            Written::Sweep { from, to, step, order } => Self::Sweep { from, to, step, order },
            Written::Mix { mix: Mix::Listed(sizes), order } => Self::Mix { sizes, order },
            Written::Mix { mix: Mix::Named(name), order } if name == "imix" => Self::Imix { order },
            Written::Mix { mix: Mix::Named(name), .. } => {
                return Err(SizesError::UnknownMix { name });
            }
        })
    }
}

impl From<Sizes> for Written {
    fn from(sizes: Sizes) -> Self {
        match sizes {
            Sizes::Fixed(size) => Self::One(size),
            Sizes::List { sizes, order } => Self::Listed { list: sizes, order },
            Sizes::Sweep { from, to, step, order } => Self::Sweep { from, to, step, order },
            Sizes::Mix { sizes, order } => Self::Mix { mix: Mix::Listed(sizes), order },
            Sizes::Imix { order } => Self::Mix { mix: Mix::Named("imix".into()), order },
        }
    }
}

impl FromStr for Sizes {
    type Err = SizesError;

    fn from_str(text: &str) -> Result<Self, SizesError> {
        let order = Shuffle::Sequence;
        let size = |text: &str| {
            let wrong = |_| SizesError::Text { text: text.to_owned() };
            text.trim().parse::<usize>().map_err(wrong)
        };
        if text == "imix" {
            return Ok(Self::Imix { order });
        }
        if let Some((from, to)) = text.split_once("..") {
            return Ok(Self::Sweep { from: Some(size(from)?), to: size(to)?, step: 1, order });
        }
        let sizes = text.split(',').map(size).collect::<Result<Vec<_>, _>>()?;
        Ok(match sizes[..] {
            [one] => Self::Fixed(one),
            _ => Self::List { sizes, order },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(text: &str, need: usize) -> Result<Vec<usize>, SizesError> {
        let sizes: Sizes = serde_json::from_str(text).expect(text);
        Ok(sizes.round(need)?.0)
    }

    #[test]
    fn sizes_make_rounds() {
        let cases: [(&str, &[usize]); 9] = [
            ("128", &[128]),
            ("\"128\"", &[128]),
            ("[64, 64, 128]", &[64, 64, 128]),
            ("\"64,128\"", &[64, 128]),
            (r#"{"list": [64], "order": "random"}"#, &[64]),
            ("\"60..62\"", &[60, 61, 62]),
            (r#"{"to": 60, "step": 8}"#, &[42, 50, 58]),
            (r#"{"mix": [[60, 2], [90, 1]]}"#, &[60, 90, 60]),
            ("\"imix\"", &[60, 590, 60, 60, 590, 60, 1514, 60, 590, 60, 60, 590]),
        ];
        for (text, sizes) in cases {
            let mut round = round(text, 42).expect(text);
            if text == "\"imix\"" {
                round.sort_unstable();
                let mut sizes = sizes.to_vec();
                sizes.sort_unstable();
                assert_eq!(round, sizes);
            } else {
                assert_eq!(round, sizes, "{text}");
            }
        }
        assert_eq!(round("\"imix\"", 78).expect("grown").iter().min(), Some(&78));
    }

    #[test]
    fn invalid_sizes_are_rejected_with_the_reason() {
        let cases = [
            ("41", SizesError::TooShort { size: 41, needed: 42 }),
            ("[]", SizesError::Count { count: 0 }),
            ("\"62..60\"", SizesError::Sweep { from: 62, to: 60, step: 1 }),
            (
                r#"{"from": 60, "to": 70, "step": 0}"#,
                SizesError::Sweep { from: 60, to: 70, step: 0 },
            ),
            (r#"{"mix": [[60, 0]]}"#, SizesError::Shares),
            (r#"{"mix": [[60, 18446744073709551615], [61, 2]]}"#, SizesError::Shares),
        ];
        for (text, why) in cases {
            assert_eq!(round(text, 42), Err(why), "{text}");
        }
        assert_eq!("x".parse::<Sizes>(), Err(SizesError::Text { text: "x".into() }));
        // Errors of serde are text.
        let cases = [
            (r#"{"mix": "amix"}"#, "unknown mix \"amix\""),
            (r#"{"from": 60}"#, "a size such as 128"),
            ("\"x\"", "\"x\" is not a size in bytes"),
            ("-1", "a size such as 128"),
        ];
        for (text, why) in cases {
            let error = serde_json::from_str::<Sizes>(text).expect_err(text).to_string();
            assert!(error.contains(why), "{text}: {error:?} does not contain {why:?}");
        }
    }

    #[test]
    fn what_is_written_is_read() {
        for text in ["128", "[64,128]", "\"60..70\"", "\"imix\"", r#"{"mix":[[60,2]]}"#] {
            let sizes: Sizes = serde_json::from_str(text).expect(text);
            let again = serde_json::to_string(&sizes).expect(text);
            assert_eq!(serde_json::from_str::<Sizes>(&again).expect(&again), sizes, "{again}");
        }
    }
}
