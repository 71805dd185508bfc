//! `FunctionError`: a request to a built-in function contradicts its configuration.

/// Why the configuration of `drop` or `forward` cannot be changed as requested.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FunctionError {
    /// A rule of `drop` that is to be removed is not loaded.
    #[error("there is no rule `{rule}` to remove")]
    NoSuchRule { rule: String },
    /// `drop` is to be attached without a rule.
    #[error("drop does not run on {interface}: specify what to drop, such as '10.1.0.2 udp 1234'")]
    NoRules { interface: String },
    /// `forward` runs with the same tables on an interface that the request does not name.
    #[error(
        "forward runs on {} as one; name {omitted} too, or detach it first",
        interfaces.join(" and ")
    )]
    InterfaceOmitted { interfaces: Vec<String>, omitted: String },
    /// No router runs on the interface.
    #[error("no router runs on {interface}: `xway route show` lists routers")]
    NoRouter { interface: String },
    /// `forward` was loaded with a memory of another size.
    #[error("forward runs on {interface} with another --memory; --replace it")]
    MemorySize { interface: String },
    /// The router was loaded with another value of an option that cannot change while it runs.
    #[error("the router of {interface} runs with other options ({option} differs); --replace it")]
    RouterOptions { interface: String, option: &'static str },
    /// `forward` was loaded for the other treatment of packets without a translation.
    #[error(
        "forward runs on {interface} {} --nat-only; --replace it",
        if *nat_only { "with" } else { "without" }
    )]
    NatMode {
        interface: String,
        /// Whether the loaded program passes packets without a translation to the stack.
        nat_only: bool,
    },
}
