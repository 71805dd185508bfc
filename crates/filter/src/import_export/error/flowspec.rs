//! Causes of failed imports from BGP FlowSpec and exports to it.

use super::NoMatch;

/// Why routes cannot be imported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    #[error("expected `{0}`")]
    Expected(&'static str),
    #[error("the text ends where `{0}` was expected")]
    End(&'static str),
    #[error("the text ends within a statement")]
    EndOfStatement,
    #[error("a statement ends with `;`")]
    Unterminated,
    #[error("invalid name; expected letters, digits, `_`, `.` and `-`")]
    Name,
    #[error("another route has this name")]
    DuplicateName,
    #[error("a route has one action")]
    SeveralActions,
    #[error("unknown action; expected accept, discard or rate-limit")]
    UnknownAction,
    #[error("invalid rate; expected a number of bytes per second, up to 2^40")]
    Rate,
    #[error("the filter has no such component")]
    UnknownComponent,
    #[error("a route has each component at most once")]
    DuplicateComponent,
    #[error("expected one prefix")]
    SeveralPrefixes,
    #[error("invalid prefix `{0}`")]
    Prefix(String),
    #[error("one prefix is IPv4, the other IPv6")]
    MixedFamilies,
    #[error("a value is missing")]
    NoValue,
    #[error("invalid number `{0}`")]
    Number(String),
    #[error("unknown operator `{0}`")]
    Operator(String),
    #[error("unknown TCP flag `{0}`; expected fin, syn, rst, push, ack, urgent, ece or cwr")]
    UnknownFlag(String),
    #[error("the filter cannot match `{0}`")]
    UnsupportedFragment(String),
    #[error("unknown fragment `{0}`; expected not-a-fragment, first-fragment or is-fragment")]
    UnknownFragment(String),
    /// With the length of the longest packet that is padded.
    #[error("Ethernet pads short frames: packets of up to {0} bytes cannot be distinguished")]
    PaddedLength(u128),
    #[error("`port` matches source or destination: two rules, which would each have a limit")]
    LimitOfPorts,
    /// With the limit.
    #[error("the routes have more than {0} ranges of values")]
    TooLarge(usize),
    #[error(transparent)]
    NoMatch(#[from] NoMatch),
}

/// Why rules cannot be exported as routes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExportError {
    #[error("a packet that matches no route passes: routes cannot express default = \"drop\"")]
    DefaultDrop,
    /// With the name of the other rule.
    #[error("its route equals that of rule {0}")]
    SameRoute(String),
    /// With the name of the other rule.
    #[error(
        "routers evaluate its route before that of the earlier rule {0}, which decides otherwise \
         about some of its packets (RFC 8955, section 5.1)"
    )]
    Order(String),
    /// With the number of routes.
    #[error("it needs {0} routes, which would each have a rate")]
    RateOfRoutes(usize),
    /// With the limit.
    #[error("its addresses need more than {0} routes")]
    TooManyAddresses(usize),
    /// With the limit.
    #[error("the rules up to this one need more than {0} routes")]
    TooManyRoutes(usize),
    #[error("routes have no such action: expected pass, drop or a limit in bits")]
    Action,
    #[error("routes limit bits, for a whole rule")]
    Limit,
    #[error("rates of routes are whole bytes per second, up to 2^40")]
    Rate,
    #[error("routes have no burst: omit it to use the default")]
    Burst,
    #[error(
        "packets below the limit continue with the next rule, but pass after a route: add a rule \
         that passes with the same tests, or let no rule follow"
    )]
    LimitContinues,
    /// With what cannot be matched.
    #[error("routes cannot match {0}")]
    Field(&'static str),
    #[error("no IPv4 or IPv6 packet matches it")]
    NoIpPacket,
    #[error("it also matches packets other than IPv4 and IPv6")]
    OtherPackets,
    #[error(
        "it also matches IPv6 packets that end within their header, which no route with a prefix \
         matches, and a route about IPv6 needs one: write `ipv6` instead of its EtherType"
    )]
    TruncatedIpv6,
    #[error("routes match the ports of TCP and UDP only: write `protocol {{tcp, udp}}`")]
    PortsOfProtocol,
    /// With the length of the longest frame that is padded.
    #[error(
        "routers see packets, which Ethernet pads: frames of up to {0} bytes cannot be \
         distinguished"
    )]
    PaddedLength(u128),
    #[error("no packet is that long")]
    NoPacket,
}
