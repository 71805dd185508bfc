//! Targets, and the options that follow them.

use serde_json::{Value, json};

/// Whether the name is a chain of the table.
pub(super) type IsChain<'a> = &'a dyn Fn(&str) -> bool;

/// The statement of a target; `None` for one that is not supported.
pub(super) fn statement(target: &str, is_chain: IsChain<'_>) -> Option<Value> {
    match target {
        _ if is_chain(target) => Some(json!({"jump": {"target": target}})),
        "ACCEPT" => Some(json!({"accept": null})),
        "DROP" => Some(json!({"drop": null})),
        "REJECT" => Some(json!({"reject": null})),
        "RETURN" => Some(json!({"return": null})),
        "LOG" | "NFLOG" | "ULOG" => Some(json!({"log": null})),
        _ => None,
    }
}

/// Whether an option of a target has a value; `None` if the target has no such option.
pub(super) fn values(target: &str, option: &str) -> Option<bool> {
    let (_, with, without) = OPTIONS.iter().find(|(known, ..)| *known == target)?;
    match option {
        _ if with.contains(&option) => Some(true),
        _ if without.contains(&option) => Some(false),
        _ => None,
    }
}

type Names = &'static [&'static str];

/// Options with a value, and without one.
const OPTIONS: [(&str, Names, Names); 4] = [
    ("REJECT", &["--reject-with"], &[]),
    (
        "LOG",
        &["--log-prefix", "--log-level"],
        &[
            "--log-tcp-sequence",
            "--log-tcp-options",
            "--log-ip-options",
            "--log-uid",
            "--log-macdecode",
        ],
    ),
    (
        "NFLOG",
        &["--nflog-group", "--nflog-prefix", "--nflog-range", "--nflog-size", "--nflog-threshold"],
        &[],
    ),
    ("ULOG", &["--ulog-nlgroup", "--ulog-prefix", "--ulog-cprange", "--ulog-qthreshold"], &[]),
];
