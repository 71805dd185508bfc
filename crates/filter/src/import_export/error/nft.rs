//! Causes of failed imports from nftables and exports to it.

use super::NoMatch;

/// Why a ruleset of nftables cannot be imported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// The text is not JSON, or not the JSON of nft.
    #[error("not the JSON of `nft -j list ruleset`: {0}")]
    Json(String),
    #[error("the JSON has no list `nftables`")]
    NoObjects,
    #[error("an object without a kind")]
    ObjectWithoutKind,
    #[error("an object of unknown kind")]
    UnknownObject,
    #[error("files cannot be included: write everything into one file")]
    Include,
    #[error("no base chain has this name")]
    NoBaseChain,
    /// With the names of the chains.
    #[error("only one base chain can be imported; name one of {0}")]
    SeveralBaseChains(String),
    /// With the type.
    #[error("chains of type {0} cannot be imported: expected type filter")]
    ChainType(String),
    /// With the hook.
    #[error("chains at hook {0} cannot be imported: expected ingress, prerouting or input")]
    ChainHook(String),
    /// With the family.
    #[error("tables of family {0} cannot be imported")]
    TableFamily(String),
    /// Jumps and sets expand beyond [`bounds`](crate::language::bounds).
    #[error(
        "the jumps and sets of this chain expand to too many rules and values: import a smaller \
         chain"
    )]
    TooLarge,
    #[error("the chain {0} does not exist")]
    UnknownChain(String),
    /// With the limit.
    #[error("jumps are nested too deeply: at most {0} levels can be imported")]
    TooDeep(usize),
    #[error("`goto` in a chain that was jumped to is not supported")]
    NestedGoto,
    #[error("`return` from a chain that was jumped to is not supported")]
    NestedReturn,
    #[error("not a statement")]
    NotStatement,
    #[error("it follows a verdict")]
    AfterVerdict,
    #[error("named counters are not supported")]
    NamedCounter,
    /// With what can be used instead of the statement, or why nothing can.
    #[error("{0}")]
    UnsupportedStatement(&'static str),
    /// With what can be used instead of the expression, or why nothing can.
    #[error("{0}")]
    UnsupportedExpression(&'static str),
    #[error("after `limit rate over`, only `drop` can be imported")]
    AfterLimit,
    /// With the rate.
    #[error("the limit of {rate} packets is not followed by `drop`")]
    LimitWithoutDrop { rate: u64 },
    #[error("only `limit rate over … drop` can be imported: packets below the limit continue")]
    LimitBelow,
    #[error("the limit would apply to several kinds of packets apart: name one protocol before it")]
    SplitLimit,
    #[error("nft counts bytes without the Ethernet header, the filter whole frames")]
    ByteLimit,
    #[error("the limit has no rate")]
    NoRate,
    #[error("unknown unit of time `{0}`")]
    UnknownPeriod(String),
    #[error("the rates of the filter are whole packets per second")]
    FractionalRate,
    #[error("the set {0} does not exist")]
    UnknownSet(String),
    /// With the flag that marks it.
    #[error("the elements of set {name} change at run time (flag {flag})")]
    DynamicSet { name: String, flag: String },
    #[error("the elements of set {0} combine several fields")]
    CombinedSet(String),
    /// With the attribute.
    #[error("an element with {0} cannot be imported")]
    Element(String),
    #[error("unknown value `{0}`")]
    UnknownValue(String),
    #[error("unknown TCP flag `{0}`")]
    UnknownFlag(String),
    #[error("the prefix has no valid length")]
    PrefixLength,
    #[error("the operator `{0}` cannot be imported for this field")]
    Operator(String),
    #[error("fragments can be matched by `== 0`, `!= 0` and `> 0` only")]
    FragmentOffset,
    #[error("`frag-off` can be matched under the mask `& 0x1fff` only")]
    FragmentMask,
    #[error("a mask can be imported for TCP flags and raw bytes only")]
    Mask,
    #[error("`th` needs a preceding `meta l4proto` with protocols that have ports")]
    PortsOfUnknownProtocol,
    #[error("the filter reads the EtherType that follows the VLAN tags: match `vlan id` instead")]
    TagEtherType,
    #[error("the value is an extension header: the filter reads the protocol that follows these")]
    ExtensionHeader,
    #[error("interfaces can be matched by whole names only")]
    InterfacePattern,
    #[error("raw bytes can be compared with one number by `==` and `!=` only")]
    RawComparison,
    #[error(transparent)]
    NoMatch(#[from] NoMatch),
}

/// Why rules cannot be exported to nftables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExportError {
    #[error("nft has no such action at ingress")]
    Action,
    #[error("nft limits packets, for a whole rule")]
    Limit,
    #[error("nft needs two rules for both families, which would each have a limit")]
    LimitOfFamilies,
    #[error("nft has no tcpdump expressions")]
    Expression,
    #[error("nft matches interfaces by name")]
    InterfaceNumber,
    #[error("nft cannot match one of its fields at ingress")]
    Field,
    #[error("no frame is that short")]
    NoFrame,
    #[error("nft cannot match this set of fragments in one rule")]
    Fragments,
    #[error("nft has no ranges of this field, and these are too many values")]
    TooManyValues,
}
