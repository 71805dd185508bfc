//! Values of [`Field::Icmp`](crate::Field::Icmp), which has the type in the high byte and the code
//! in the low one.

use crate::Values;

/// These types, with all codes.
pub(super) fn with_types(types: &Values) -> Values {
    Values::new(types.ranges().iter().map(|(first, last)| (first << 8, last << 8 | 0xff)))
}

/// These codes, of all types.
pub(super) fn with_codes(codes: &Values) -> Values {
    let of_type = |kind: u128| {
        codes.ranges().iter().map(move |(first, last)| (kind << 8 | first, kind << 8 | last))
    };
    Values::new((0..=0xff).flat_map(of_type))
}
