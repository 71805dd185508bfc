//! `Sizes`: how long a stream's frames are, without the Ethernet checksum.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::limits::{FRAME_MAX, SIZES};

/// Bytes from the first of the Ethernet header to the last of the payload. As text, for flags:
/// `128`, `64,128`, `60..1514`, `imix`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Words", into = "Words")]
pub enum Sizes {
    Fixed(usize),
    List {
        sizes: Vec<usize>,
        order: Shuffle,
    },
    /// `from`, `from + step` and so on to `to`; from the shortest that there is when `None`.
    Sweep {
        from: Option<usize>,
        to: usize,
        step: usize,
        order: Shuffle,
    },
    /// Sizes with the numbers of frames that have them; each round spreads them evenly.
    Mix {
        sizes: Vec<(usize, usize)>,
        order: Shuffle,
    },
    /// [`IMIX`]; the shortest as long as headers and stamp need.
    Imix {
        order: Shuffle,
    },
}

/// In which order sizes follow each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Shuffle {
    #[default]
    Sequence,
    Random,
}

/// The "simple IMIX" that testers share: IP packets of 40, 576 and 1500 bytes, 7 to 4 to 1, here
/// as Ethernet frames without checksum, the shortest one padded. No standard has it: RFC 6985
/// (IMIX Genome) is a way to name a mix, and finds that none is right for every network.
pub const IMIX: [(usize, usize); 3] = [(60, 7), (590, 4), (1514, 1)];

impl Sizes {
    /// Each size as often as a round has it, none shorter than what `need` bytes make possible.
    pub(super) fn round(&self, need: usize) -> Result<(Vec<usize>, Shuffle), String> {
        let (sizes, order) = match self {
            Self::Fixed(size) => (vec![*size], Shuffle::Sequence),
            Self::List { sizes, order } => (sizes.clone(), *order),
            Self::Sweep { from, to, step, order } => {
                let from = from.unwrap_or(need);
                if *step == 0 || from > *to {
                    return Err(format!("a sweep goes up: not from {from} to {to} by {step}"));
                }
                if *to > FRAME_MAX {
                    return Err(format!("a sweep to {to}: frames have at most {FRAME_MAX} bytes"));
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
            return Err(format!("1 to {SIZES} sizes in a round, not {}", sizes.len()));
        }
        match sizes.iter().find(|size| **size < need) {
            Some(size) => Err(format!("{size} bytes, but headers, payload and stamp need {need}")),
            None => Ok((sizes, order)),
        }
    }
}

/// A round in which each size comes as often as it should, as evenly as can be: next is the one
/// that is most behind.
fn spread(sizes: &[(usize, usize)]) -> Result<Vec<usize>, String> {
    let whole = sizes.iter().try_fold(0usize, |sum, size| sum.checked_add(size.1));
    let whole = whole.filter(|whole| *whole <= SIZES).unwrap_or(SIZES + 1);
    if whole > SIZES || sizes.iter().any(|size| size.1 == 0) {
        return Err(format!("the shares of a mix are at least 1 and {SIZES} in all"));
    }
    let mut given = vec![0; sizes.len()];
    let mut round = Vec::with_capacity(whole);
    for number in 1..=whole {
        let behind =
            |index: &usize| (sizes[*index].1 * number) as i64 - (given[*index] * whole) as i64;
        // The first of those that are as far behind: `max_by_key` takes the last.
        if let Some(next) = (0..sizes.len()).rev().max_by_key(behind) {
            given[next] += 1;
            round.push(sizes[next].0);
        }
    }
    Ok(round)
}

/// `Sizes` as they are written.
#[derive(Serialize, Deserialize)]
#[serde(
    untagged,
    deny_unknown_fields,
    expecting = "a size such as 128, [64, 128], \"60..1514\", \"imix\", \
    { from = 60, to = 1514, step = 2, order = \"random\" }, { list = [64, 128] } or \
    { mix = [[60, 7], [1514, 1]] }"
)]
enum Words {
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

impl TryFrom<Words> for Sizes {
    type Error = String;

    fn try_from(words: Words) -> Result<Self, String> {
        Ok(match words {
            Words::One(size) => Self::Fixed(size),
            Words::List(sizes) => Self::List { sizes, order: Shuffle::Sequence },
            Words::Text(text) => text.parse()?,
            Words::Listed { list, order } => Self::List { sizes: list, order },
            Words::Sweep { from, to, step, order } => Self::Sweep { from, to, step, order },
            Words::Mix { mix: Mix::Listed(sizes), order } => Self::Mix { sizes, order },
            Words::Mix { mix: Mix::Named(name), order } if name == "imix" => Self::Imix { order },
            Words::Mix { mix: Mix::Named(name), .. } => {
                return Err(format!("\"{name}\" is no mix: \"imix\" or [[60, 7], [1514, 1]]"));
            }
        })
    }
}

impl From<Sizes> for Words {
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
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let order = Shuffle::Sequence;
        let size = |text: &str| {
            text.trim().parse::<usize>().map_err(|_| format!("\"{text}\" is no size in bytes"))
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

    fn round(text: &str, need: usize) -> Result<Vec<usize>, String> {
        let sizes: Sizes = serde_json::from_str(text).map_err(|error| error.to_string())?;
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
    fn sizes_that_are_none_say_why() {
        let cases = [
            ("41", "41 bytes, but headers, payload and stamp need 42"),
            ("[]", "1 to 3367 sizes in a round, not 0"),
            ("\"62..60\"", "a sweep goes up: not from 62 to 60 by 1"),
            (r#"{"from": 60, "to": 70, "step": 0}"#, "by 0"),
            (r#"{"mix": [[60, 0]]}"#, "at least 1 and 3367 in all"),
            (r#"{"mix": [[60, 18446744073709551615], [61, 2]]}"#, "at least 1 and 3367 in all"),
            (r#"{"mix": "amix"}"#, "\"amix\" is no mix"),
            (r#"{"from": 60}"#, "a size such as 128"),
            ("\"x\"", "\"x\" is no size in bytes"),
            ("-1", "a size such as 128"),
        ];
        for (text, why) in cases {
            let said = round(text, 42).expect_err(text);
            assert!(said.contains(why), "{text}: {said:?} does not say {why:?}");
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
