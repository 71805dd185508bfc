//! Modules and targets that cannot be imported, with what to use instead.

use crate::import_export::error::iptables::ImportError;

/// Checks that the options of a module can be imported.
pub(super) fn module(name: &str) -> Result<(), ImportError> {
    if SUPPORTED.contains(&name) {
        return Ok(());
    }
    let remedy = find(MODULES, name).unwrap_or("this module cannot be imported");
    Err(ImportError::Module { module: name.to_owned(), remedy })
}

/// The error for a target.
pub(super) fn target(name: &str) -> ImportError {
    let remedy = find(TARGETS, name).unwrap_or("no chain and no target that can be imported");
    ImportError::Target { target: name.to_owned(), remedy }
}

fn find(table: &[(&str, &'static str)], name: &str) -> Option<&'static str> {
    table.iter().find(|(known, _)| *known == name).map(|(_, remedy)| *remedy)
}

/// Modules whose options are read, some of them or all.
const SUPPORTED: [&str; 20] = [
    "dscp",
    "tcp",
    "udp",
    "udplite",
    "sctp",
    "dccp",
    "icmp",
    "icmp6",
    "icmpv6",
    "multiport",
    "state",
    "conntrack",
    "limit",
    "hashlimit",
    "comment",
    "iprange",
    "mac",
    "length",
    "ttl",
    "hl",
];

const SOCKETS: &str = "sockets are not known when the filter runs";
const MARKS: &str = "packets have no mark yet when the filter runs";
const CHANGES: &str = "the filter does not change packets: leave this to iptables";
const TRACKING: &str = "the filter runs before connection tracking: leave this to iptables";

const MODULES: &[(&str, &str)] = &[
    ("set", "sets of ipset are not read: write `from @set` with a file of addresses"),
    ("recent", "write `limit RATE per source` or `ban TIME` in the imported rules"),
    ("addrtype", "kinds of addresses depend on routes: write the addresses"),
    ("pkttype", "write `to-mac` in the imported rules"),
    ("connlimit", "connections are not counted: write `limit RATE per source`"),
    ("mark", MARKS),
    ("connmark", MARKS),
    ("owner", SOCKETS),
    ("socket", SOCKETS),
    ("string", "write `payload` or `expr` in the imported rules"),
    ("u32", "write `payload` or `expr` in the imported rules"),
    ("bpf", "write `expr` in the imported rules"),
    ("time", "rules do not match the time of day"),
    ("statistic", "rules are not random, except `sample 1/N`"),
    ("rpfilter", "the filter does not look up routes"),
    ("tcpmss", "the filter does not read TCP options: write `payload` or `expr`"),
    ("physdev", "ports of a bridge are not known: load the rules on the port"),
    ("helper", TRACKING),
    ("connbytes", TRACKING),
    ("frag", "write `fragment` in the imported rules"),
    ("rt", "write `extension routing` in the imported rules"),
    ("ah", "write `protocol ah` in the imported rules"),
    ("esp", "write `protocol esp` in the imported rules"),
    ("geoip", "write `from @set` with a file of addresses"),
    ("quota", "the filter limits rates only"),
];

const TARGETS: &[(&str, &str)] = &[
    ("NFQUEUE", "the filter does not queue packets: `redirect socket` is the nearest action"),
    ("QUEUE", "the filter does not queue packets: `redirect socket` is the nearest action"),
    ("DNAT", CHANGES),
    ("SNAT", CHANGES),
    ("MASQUERADE", CHANGES),
    ("REDIRECT", CHANGES),
    ("TCPMSS", CHANGES),
    ("TTL", CHANGES),
    ("HL", CHANGES),
    ("DSCP", CHANGES),
    ("TPROXY", CHANGES),
    ("MARK", MARKS),
    ("CONNMARK", MARKS),
    ("CT", TRACKING),
    ("NOTRACK", TRACKING),
    ("TEE", "the filter does not duplicate packets: `sample` copies some of them"),
    ("SET", "sets of ipset are not written: write `ban TIME` in the imported rules"),
    ("SYNPROXY", "write `synproxy` in the imported rules"),
    ("AUDIT", "write `sample` in the imported rules"),
];
