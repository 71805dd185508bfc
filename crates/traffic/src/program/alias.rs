//! `Alias`: the tables of Walker and Vose, by which one random number samples any distribution.

/// For each index: its threshold out of 2^32, below which it is the result itself, and the index
/// that is the result otherwise.
pub(super) struct Alias {
    places: Vec<(u32, u32)>,
}

impl Alias {
    /// Samples index i in proportion to 1 / (the i-th number + 1)^exponent.
    pub fn new(numbers: impl Iterator<Item = u64>, exponent: f64) -> Self {
        let weights: Vec<f64> =
            numbers.map(|number| (number as f64 + 1.0).powf(-exponent)).collect();
        let mean = weights.iter().sum::<f64>() / weights.len() as f64;
        let mut shares: Vec<f64> = weights.iter().map(|weight| weight / mean).collect();
        let mut places: Vec<_> = (0..shares.len() as u32).map(|own| (u32::MAX, own)).collect();
        let (mut poor, mut rich): (Vec<usize>, Vec<usize>) =
            (0..shares.len()).partition(|index| shares[*index] < 1.0);
        while let (Some(index), Some(giver)) = (poor.pop(), rich.last().copied()) {
            places[index] = ((shares[index] * COIN) as u32, giver as u32);
            shares[giver] -= 1.0 - shares[index];
            if shares[giver] < 1.0 {
                rich.pop();
                poor.push(giver);
            }
        }
        Self { places }
    }

    /// The index for 64 random bits.
    pub fn pick(&self, random: u64) -> u64 {
        let index = ((random >> 32) * self.places.len() as u64) >> 32;
        let (threshold, other) = self.places[index as usize];
        if (random as u32) < threshold { index } else { u64::from(other) }
    }

    pub fn thresholds(&self) -> Vec<u8> {
        self.places.iter().flat_map(|place| place.0.to_ne_bytes()).collect()
    }

    pub fn others(&self) -> Vec<u8> {
        self.places.iter().flat_map(|place| place.1.to_ne_bytes()).collect()
    }
}

/// The range of thresholds, 2^32.
const COIN: f64 = 4_294_967_296.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_index_is_drawn_as_often_as_it_should() {
        for (count, exponent) in [(1, 1.0), (2, 0.0), (10, 1.0), (1000, 1.2), (100, 3.0)] {
            let alias = Alias::new(0..count, exponent);
            let weight = |number: u64| (number as f64 + 1.0).powf(-exponent);
            let total: f64 = (0..count).map(weight).sum();
            let mut shares = vec![0.0; count as usize];
            for (index, (threshold, other)) in alias.places.iter().enumerate() {
                let own = f64::from(*threshold) / COIN;
                shares[index] += own / count as f64;
                shares[*other as usize] += (1.0 - own) / count as f64;
            }
            for (number, share) in shares.iter().enumerate() {
                let wanted = weight(number as u64) / total;
                assert!((share - wanted).abs() < 1e-8, "{count} {exponent} {number}: {share}");
            }
        }
    }
}
