//! Causes of failed imports from iptables.

/// Why the output of `iptables-save` cannot be imported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    #[error(
        "not the output of iptables-save: expected `*TABLE`, `:CHAIN POLICY`, `-A CHAIN …`, \
         `COMMIT` or a comment"
    )]
    NotSave,
    #[error("a chain or rule before the first `*TABLE`")]
    NoTable,
    #[error("no table has ended with `COMMIT`: the file is empty or cut short")]
    NoCommit,
    /// With the table.
    #[error("the table {0} does not end with `COMMIT`: the file is cut short")]
    Cut(String),
    /// With the chain.
    #[error("the chain {0} is not declared")]
    UndeclaredChain(String),
    /// With the name.
    #[error("there is no built-in chain {0}; expected INPUT, FORWARD or TABLE/CHAIN")]
    NoChain(String),
    #[error("a quoted word does not end")]
    Quote,
    /// With the option.
    #[error("`{0}` needs a value")]
    NoValue(String),
    #[error("invalid value `{value}` of `{option}`: expected {expected}")]
    Value { option: String, value: String, expected: &'static str },
    /// With the option.
    #[error("`{0}` cannot be imported: remove it, or write the rule by hand")]
    Option(String),
    /// With the option.
    #[error("`{0}` cannot be negated here: write the rule by hand")]
    Negation(String),
    #[error("-m {module}: {remedy}")]
    Module { module: String, remedy: &'static str },
    #[error("-j {target}: {remedy}")]
    Target { target: String, remedy: &'static str },
    /// With the option.
    #[error("`{0}` needs `-p` with a protocol that has ports")]
    Ports(String),
    #[error("matches after a limit cannot be imported: put the limit last")]
    AfterLimit,
    #[error("a limit needs a rate: `--limit`, `--hashlimit-upto` or `--hashlimit-above`")]
    NoRate,
    #[error("the rates of the filter are whole packets per second")]
    FractionalRate,
    #[error("iptables counts bytes without the Ethernet header, the filter whole frames")]
    ByteLimit,
    /// With the mode.
    #[error(
        "limits by `{0}` cannot be imported: expected srcip, dstip, dstport, or all four fields"
    )]
    Mode(String),
}
