//! Suggestions for unknown words: words of other tools, and words that differ in one or two
//! letters.

use crate::language::bounds::step;

/// The known word that is most similar to a misspelled one, with at most one edit per three
/// letters. An edit inserts, deletes or replaces a letter, or swaps two adjacent ones.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = word.chars().count();
    step(length);
    let bound = (length / 3).max(1);
    // Words of other lengths need more edits, and a comparison takes time for each pair of letters.
    let near = known.into_iter().filter(|one| one.chars().count().abs_diff(length) <= bound);
    let distances = near.map(|one| (distance(word, one), one));
    distances.filter(|(edits, _)| *edits <= bound).min_by_key(|(edits, _)| *edits).map(|it| it.1)
}

/// The word of this language for a word of tcpdump, nft, iptables or pf.
pub(super) fn synonym(word: &str) -> Option<&'static str> {
    SYNONYMS.iter().find(|(other, _)| *other == word).map(|(_, ours)| *ours)
}

/// The number of edits from one word to the other.
fn distance(from: &str, to: &str) -> usize {
    let (from, to): (Vec<char>, Vec<char>) = (from.chars().collect(), to.chars().collect());
    step(from.len() * to.len());
    let mut rows = vec![(0..=to.len()).collect::<Vec<_>>()];
    for (i, a) in from.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in to.iter().enumerate() {
            let changed = rows[i][j] + usize::from(a != b);
            let mut least = changed.min(rows[i][j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *a == to[j - 1] && from[i - 1] == *b {
                least = least.min(rows[i - 1][j - 1] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[from.len()][to.len()]
}

const SYNONYMS: &[(&str, &str)] = &[
    ("accept", "pass"),
    ("allow", "pass"),
    ("permit", "pass"),
    ("block", "drop"),
    ("deny", "drop"),
    ("discard", "drop"),
    ("reject", "drop"),
    ("police", "limit"),
    ("quota", "limit"),
    ("counter", "count"),
    ("log", "sample"),
    ("saddr", "from"),
    ("source", "from"),
    ("src", "from"),
    ("host", "from"),
    ("net", "from"),
    ("daddr", "to"),
    ("dest", "to"),
    ("destination", "to"),
    ("dst", "to"),
    ("dport-range", "dport"),
    ("dstport", "dport"),
    ("port", "dport"),
    ("portrange", "dport"),
    ("srcport", "sport"),
    ("proto", "protocol"),
    ("ip", "ipv4"),
    ("ip6", "ipv6"),
    ("inet", "ipv4"),
    ("inet6", "ipv6"),
    ("icmp6", "icmpv6"),
    ("ipv6-icmp", "icmpv6"),
    ("hoplimit", "ttl"),
    ("hop-limit", "ttl"),
    ("len", "length"),
    ("size", "length"),
    ("iif", "in"),
    ("iifname", "in"),
    ("interface", "in"),
    ("dev", "in"),
    ("ether", "ethertype"),
    ("mac", "from-mac"),
    ("frag", "fragment"),
    ("exthdr", "extension"),
    ("bpf", "expr"),
    ("tcpflags", "flags"),
    ("tcp-flags", "flags"),
    ("code", "type"),
    ("name", "as"),
    ("rate", "limit"),
    ("!", "not"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits() {
        for (from, to, edits) in [
            ("dport", "dport", 0),
            ("dprot", "dport", 1),
            ("dports", "dport", 1),
            ("dpot", "dport", 1),
            ("sport", "dport", 1),
            ("", "to", 2),
            ("vlan", "ttl", 4),
        ] {
            assert_eq!(distance(from, to), edits, "{from} {to}");
            assert_eq!(distance(to, from), edits, "{to} {from}");
        }
    }

    #[test]
    fn only_near_words_are_proposed() {
        let known = ["drop", "pass", "redirect", "to"];
        assert_eq!(nearest("dorp", known), Some("drop"));
        assert_eq!(nearest("redircet", known), Some("redirect"));
        assert_eq!(nearest("xyz", known), None);
        assert_eq!(nearest("", known), None);
    }
}
