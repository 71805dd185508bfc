//! `Boundary`: a value of a field where another class begins.

/// The values from `first` up to the next boundary have this class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Boundary {
    pub first: u128,
    pub class: u32,
}

/// The class of a value by sorted boundaries, of which the first is at 0.
pub(super) fn class_at(boundaries: &[Boundary], value: u128) -> u32 {
    boundaries[boundaries.partition_point(|one| one.first <= value) - 1].class
}
