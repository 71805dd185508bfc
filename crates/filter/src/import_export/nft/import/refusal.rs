//! Why something of nft cannot be taken over, in plain words.

use serde_json::Value;

/// About a statement, by its kind.
pub(super) fn statement(kind: &str) -> &'static str {
    find(STATEMENTS, kind).unwrap_or("this statement cannot be taken over")
}

/// About the left side of a match.
pub(super) fn subject(left: &Value) -> &'static str {
    let kinds = left.as_object().into_iter().flatten().map(|(kind, _)| kind.as_str());
    let of_meta = left["meta"]["key"].as_str().and_then(|key| find(META, key));
    let of_payload = left["payload"]["field"].as_str().and_then(|field| find(FIELDS, field));
    let known = of_meta.or(of_payload);
    known
        .or_else(|| kinds.into_iter().find_map(|kind| find(SUBJECTS, kind)))
        .unwrap_or("the filter cannot look at this")
}

fn find(table: &[(&str, &'static str)], word: &str) -> Option<&'static str> {
    table.iter().find(|(one, _)| *one == word).map(|(_, reason)| *reason)
}

const CONNECTIONS: &str = "the filter runs before connections are followed: leave this to nft";
const CHANGES: &str = "the filter changes no packets: leave this to nft";
const MARKS: &str = "packets have no mark yet where the filter runs";

const STATEMENTS: &[(&str, &str)] = &[
    ("vmap", "maps of verdicts cannot be taken over: write a rule for each entry"),
    ("map", "maps cannot be taken over: write a rule for each entry"),
    ("log", "packets are not logged here: `sample` copies some of them"),
    ("reject", "the filter answers nobody: `drop` drops without a word"),
    ("ct count", CONNECTIONS),
    ("ct helper", CONNECTIONS),
    ("ct timeout", CONNECTIONS),
    ("ct expectation", CONNECTIONS),
    ("notrack", CONNECTIONS),
    ("flow", CONNECTIONS),
    ("mangle", CHANGES),
    ("snat", CHANGES),
    ("dnat", CHANGES),
    ("masquerade", CHANGES),
    ("redirect", CHANGES),
    ("tproxy", CHANGES),
    ("queue", "packets do not go to programs here: `redirect socket` is the nearest"),
    ("dup", "packets are not doubled here: `sample` copies some of them"),
    ("fwd", "write `redirect IFACE` in the rules that were taken over"),
    ("synproxy", "write `synproxy` in the rules that were taken over"),
    ("quota", "quotas cannot be taken over: there are limits by time"),
    (
        "set",
        "of sets that rules write, only `{ ip saddr limit rate over … } drop` can be taken over",
    ),
    ("meter", "of meters, only `{ ip saddr limit rate over … } drop` can be taken over"),
];

const SUBJECTS: &[(&str, &str)] = &[
    ("ct", CONNECTIONS),
    ("concat", "several things at once cannot be taken over: write a rule for each combination"),
    ("fib", "routes are not looked up here"),
    ("rt", "routes are not looked up here"),
    ("socket", "sockets are not known where the filter runs"),
    ("osf", "systems are not guessed here"),
    ("numgen", "there is no chance in rules, but in `sample 1/N`"),
    ("tcp option", "options of TCP are not read: `payload` or `expr` may look at them"),
    ("ip option", "options of IPv4 are not read: the policy `options` is for packets with some"),
    ("exthdr", "write `extension` or `fragment` in the rules that were taken over"),
];

const META: &[(&str, &str)] = &[
    ("mark", MARKS),
    ("priority", MARKS),
    ("skuid", "sockets are not known where the filter runs"),
    ("skgid", "sockets are not known where the filter runs"),
    ("oif", "where a packet will go is not known where the filter runs"),
    ("oifname", "where a packet will go is not known where the filter runs"),
    ("pkttype", "write `to-mac` in the rules that were taken over"),
    ("cpu", "the processor is not asked for here; `queue` is the nearest"),
    ("time", "rules know no time of day"),
    ("day", "rules know no time of day"),
    ("hour", "rules know no time of day"),
];

const FIELDS: &[(&str, &str)] = &[
    ("length", "lengths of single headers are not asked for: `meta length` can be taken over"),
    ("checksum", "checksums are not asked for"),
    ("sequence", "numbers inside of TCP and ICMP are not asked for: use `payload`"),
    ("id", "identifications are not asked for: use `payload`"),
];
