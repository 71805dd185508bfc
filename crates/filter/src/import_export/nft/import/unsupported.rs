//! Statements and expressions of nft that cannot be imported, with what to use instead.

use serde_json::Value;

use crate::import_export::error::nft::ImportError;

/// The error for a statement, by its kind.
pub(super) fn statement(kind: &str) -> ImportError {
    let advice = find(STATEMENTS, kind).unwrap_or("this statement cannot be imported");
    ImportError::UnsupportedStatement(advice)
}

/// The error for the left side of a match.
pub(super) fn expression(left: &Value) -> ImportError {
    let kinds = left.as_object().into_iter().flatten().map(|(kind, _)| kind.as_str());
    let of_meta = left["meta"]["key"].as_str().and_then(|key| find(META, key));
    let of_payload = left["payload"]["field"].as_str().and_then(|field| find(FIELDS, field));
    let known = of_meta.or(of_payload);
    let advice = known.or_else(|| kinds.into_iter().find_map(|kind| find(EXPRESSIONS, kind)));
    ImportError::UnsupportedExpression(advice.unwrap_or("the filter cannot match this"))
}

/// What happens to the packets of a rule with such a statement, if the rule is left out.
pub(super) fn find_consequence(kind: &str) -> Option<&'static str> {
    find(CONSEQUENCES, kind)
}

fn find(table: &[(&str, &'static str)], word: &str) -> Option<&'static str> {
    table.iter().find(|(one, _)| *one == word).map(|(_, reason)| *reason)
}

const CONSEQUENCES: &[(&str, &str)] = &[
    ("accept", "packets that it accepts continue with the next rule"),
    ("drop", "packets that it drops continue with the next rule"),
    ("reject", "packets that it rejects continue with the next rule"),
    ("jump", "packets that it sends to another chain continue with the next rule"),
    ("goto", "packets that it sends to another chain continue with the next rule"),
    ("return", "packets that it returns continue with the next rule of its chain"),
    ("queue", "packets that it queues continue with the next rule"),
    ("vmap", "packets that it decides about continue with the next rule"),
];

const CONNECTIONS: &str = "the filter runs before connection tracking: leave this to the stack, or \
    use --approximate, which tests the state that single packets show";
const CHANGES: &str = "the filter does not change packets: leave this to nft";
const MARKS: &str = "packets have no mark yet when the filter runs";

const STATEMENTS: &[(&str, &str)] = &[
    ("vmap", "verdict maps cannot be imported: write a rule for each entry"),
    ("map", "maps cannot be imported: write a rule for each entry"),
    ("log", "the filter does not log packets: `sample` copies some of them"),
    ("reject", "the filter sends no answers: `drop` drops silently"),
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
    (
        "queue",
        "the filter does not queue packets to programs: `redirect socket` is the nearest action",
    ),
    ("dup", "the filter does not duplicate packets: `sample` copies some of them"),
    ("fwd", "write `redirect IFACE` in the imported rules"),
    ("synproxy", "write `synproxy` in the imported rules"),
    ("quota", "quotas cannot be imported: the filter limits rates only"),
    (
        "set",
        "for sets that rules write, only `{ ip saddr limit rate over … } drop` can be imported",
    ),
    ("meter", "for meters, only `{ ip saddr limit rate over … } drop` can be imported"),
];

const EXPRESSIONS: &[(&str, &str)] = &[
    ("ct", CONNECTIONS),
    ("concat", "concatenations cannot be imported: write a rule for each combination"),
    ("fib", "the filter does not look up routes"),
    ("rt", "the filter does not look up routes"),
    ("socket", "sockets are not known when the filter runs"),
    ("osf", "the filter does not detect operating systems"),
    ("numgen", "rules are not random, except `sample 1/N`"),
    ("tcp option", "the filter does not read TCP options: use `payload` or `expr`"),
    (
        "ip option",
        "the filter does not match IPv4 options: the policy `options` applies to packets with some",
    ),
    ("exthdr", "write `extension` or `fragment` in the imported rules"),
];

const META: &[(&str, &str)] = &[
    ("mark", MARKS),
    ("priority", MARKS),
    ("skuid", "sockets are not known when the filter runs"),
    ("skgid", "sockets are not known when the filter runs"),
    ("oif", "the output interface is not known when the filter runs"),
    ("oifname", "the output interface is not known when the filter runs"),
    ("pkttype", "write `to-mac` in the imported rules"),
    ("cpu", "the filter does not match the processor; `queue` is the nearest field"),
    ("time", "rules do not match the time of day"),
    ("day", "rules do not match the time of day"),
    ("hour", "rules do not match the time of day"),
];

const FIELDS: &[(&str, &str)] = &[
    ("length", "lengths of headers cannot be matched: `meta length` can be imported"),
    ("checksum", "checksums cannot be matched"),
    ("sequence", "sequence numbers cannot be matched: use `payload`"),
    ("id", "identifications cannot be matched: use `payload`"),
];
