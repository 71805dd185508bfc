//! Which arms of a scenario are measured.

use std::str::FromStr;

/// Arms by the beginning of their names; empty for all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection(Vec<Pattern>);

/// The first parts of a name that is divided by `/`; `*` is any one part: `ours/*/full` selects
/// `ours/ipv4/full/1000`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern(Vec<String>);

impl Selection {
    /// Arms that one of these patterns selects.
    pub fn new(patterns: Vec<Pattern>) -> Self {
        Self(patterns)
    }

    /// Whether the arm is measured.
    pub fn contains(&self, arm: &str) -> bool {
        self.is_everything() || self.0.iter().any(|pattern| pattern.selects(arm))
    }

    /// Whether all arms are measured.
    pub fn is_everything(&self) -> bool {
        self.0.is_empty()
    }
}

impl Pattern {
    fn selects(&self, arm: &str) -> bool {
        let mut parts = arm.split('/');
        self.0.iter().all(|wanted| parts.next().is_some_and(|part| wanted == "*" || wanted == part))
    }
}

impl FromStr for Pattern {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self(text.split('/').map(str::to_owned).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_parts_from_the_beginning() {
        let selects =
            |pattern: &str, arm: &str| Selection::new(vec![pattern.parse().unwrap()]).contains(arm);
        for (pattern, arm, is_selected) in [
            ("ours", "ours/ipv4/1/1", true),
            ("ours", "ours-unfollowed/ipv4/1/1", false),
            ("ours/ipv4/1/1", "ours/ipv4/1/1000", false),
            ("ours/ipv4/1/1", "alone/ours/ipv4/1/1", false),
            ("*/ipv4/*/1000", "linux/ipv4/full/1000", true),
            ("*/ipv4/*/1000", "linux/ipv6/full/1000", false),
            ("xdp-drop@max", "xdp-drop@max", true),
            ("xdp-drop/one", "xdp-drop", false),
        ] {
            assert_eq!(selects(pattern, arm), is_selected, "{pattern} {arm}");
        }
        assert!(Selection::default().contains("anything"));
    }
}
