//! `FunctionError`: a request to a built-in function contradicts its configuration.

use super::Holder;

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
    /// No balancer runs on the interface.
    #[error("no balancer runs on {interface}: `xway balance load {interface} FILE` starts one")]
    NoBalancer { interface: String },
    /// A balancer has no such service or backend.
    #[error("the balancer of {interface} has no {what} `{name}`; it has {}", known.join(", "))]
    NotBalanced { interface: String, what: &'static str, name: String, known: Vec<String> },
    /// A file of services is malformed.
    #[error("{path}: {reason}")]
    BalanceFile { path: String, reason: String },
    /// What the program was loaded with differs from the file.
    #[error(
        "the balancer on {interface} was loaded with another `key`, `flows` or `malformed`, which \
         cannot change while it runs: load it again with `--replace`; another key moves connections"
    )]
    BalanceConstants { interface: String },
    /// The file of services names no peers.
    #[error(
        "the services of {interface} name no peers: write [sync] in the file, or give --listen, \
         --peer and --key-file"
    )]
    NoSync { interface: String },
    /// It is not known which of the balancers that synchronize is this one.
    #[error(
        "none of `peers` in [sync] is an address of this host: write the own address and port as \
         `listen`"
    )]
    NoSyncAddress,
    /// The kernel answers lookups of routes only where forwarding is on.
    #[error(
        "the balancer finds the way to its {family} backends by the kernel's routes, which needs \
         forwarding on {interface}: `sysctl -w net.{sysctl}=1`"
    )]
    NoForwarding { interface: String, family: &'static str, sysctl: String },
    /// A balancer cannot send by a VLAN device.
    #[error(
        "{name} is a VLAN device, which XDP cannot send by: name the interface below it with \
         `--out`; frames to backends by {name} then have the tag of VLAN {vlan}"
    )]
    VlanOut { name: String, vlan: u16 },
    /// There is no route to a backend, from which the outer source would be known.
    #[error(
        "no address of this host has a route to backend {backend} ({reason}): write `source` in \
         the file"
    )]
    NoSource { backend: std::net::IpAddr, reason: String },
    /// A balancer has no service whose backends are checked.
    #[error("the balancer of {interface} checks no backends: write `[service.health]` in its file")]
    NoHealth { interface: String },
    /// Another process checks the backends of a balancer.
    #[error("another process checks the backends of {interface}, {holder}")]
    Checked { interface: String, holder: Holder },
    /// No address of this host can be the source of a check.
    #[error(
        "no source address for checks of {service} ({reason}): write `source` in \
         `[service.health]`"
    )]
    NoCheckSource { service: std::net::IpAddr, reason: String },
    /// All ports for checks are in use.
    #[error("all ports for checks are in use")]
    NoCheckPort,
    /// Which tunnels end at a backend contradicts itself.
    #[error("{0}")]
    Backend(functions::backend::ConfigError),
    /// No tunnels are opened at the interface.
    #[error("no tunnels are opened at {interface}: `xway balance backend {interface} --from …`")]
    NoBackend { interface: String },
    /// Packets to backends would come from an address that this host does not have.
    #[error(
        "{address} of `nat` is not an address of this host, so answers of backends would not \
         arrive: `ip address add {address} dev {interface}`, or the interface of the backends"
    )]
    ForeignNatAddress { interface: String, address: std::net::IpAddr },
    /// The kernel forwards by the table of `announce`.
    #[error(
        "a rule of priority {priority} selects table {table} of `announce`, so the kernel would \
         drop packets of this host to services: choose another table, or `ip rule del priority \
         {priority}`"
    )]
    AnnounceRule { table: u32, priority: u32 },
    /// The running balancer translates addresses in another way, or on other interfaces.
    #[error(
        "the balancer of {interface} was loaded with other `nat`, for other deliveries, or for \
         other interfaces: load it again with `--replace`, which ends translated flows"
    )]
    NatChanged { interface: String },
    /// A balancer that translates runs on an interface that is not named.
    #[error(
        "the balancer runs on {} as one: name {omitted} with `--out`, or detach it first",
        interfaces.join(" and ")
    )]
    BalanceOmitted { interfaces: Vec<String>, omitted: String },
    /// No router runs on the interface.
    #[error("no router runs on {interface}: `xway route show` lists routers")]
    NoRouter { interface: String },
    /// The user-space engine did not run the router.
    #[error("the engine cannot run the router: {0}")]
    Engine(Box<dyn std::error::Error + Send + Sync>),
    /// A frame is for no interface of a router.
    #[error(
        "the frame is sent to {to}, the MAC address of no router's interface ({}): --dev names the \
         interface that it arrives at",
        if interfaces.is_empty() { "no router runs".to_owned() } else { interfaces.join(", ") }
    )]
    NoIngress { to: String, interfaces: Vec<String> },
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
    /// `forward` was loaded with or without the translations of connection tracking.
    #[error(
        "forward runs on {interface} {} --conntrack; --replace it",
        if *conntrack { "with" } else { "without" }
    )]
    Conntrack {
        interface: String,
        /// Whether the loaded program translates connections.
        conntrack: bool,
    },
    /// Connection tracking checks TCP windows, but would not see most packets.
    #[error(
        "connection tracking would drop the end of TCP connections that XDP forwards, because it \
         checks their windows: set `sysctl -w net.netfilter.nf_conntrack_tcp_be_liberal=1`"
    )]
    TcpWindows,
    /// The kernel or namespace has no connection tracking.
    #[error("no connection tracking in this kernel: load the module nf_conntrack")]
    NoConntrack(#[source] sys::Error),
    /// Static translations and those of connection tracking.
    #[error("--conntrack cannot be combined with --nat: add a dnat rule to nft instead")]
    TwoTranslations,
    /// Rules assign packets to zones, which XDP does not know.
    #[error("{}", zones(places))]
    Zones {
        /// Where the rules are, one line each.
        places: Vec<String>,
    },
    /// Packets that XDP forwards would not meet the rules of the stack.
    #[error("{}", firewall(chains))]
    Firewall {
        /// One line for each chain.
        chains: Vec<String>,
    },
}

fn zones(places: &[String]) -> String {
    let list: String = places.iter().map(|place| format!("\n  {place}")).collect();
    format!(
        "rules assign packets to zones of connection tracking, of which --conntrack knows only the \
         default one, so packets could get the translations of another connection:{list}\n\
         remove these rules, or let the stack translate, without --conntrack"
    )
}

fn firewall(chains: &[String]) -> String {
    let list: String = chains.iter().map(|chain| format!("\n  {chain}")).collect();
    format!(
        "the stack's firewall has rules, which packets that XDP forwards do not meet:{list}\n\
         remove them, or forward past them with --past-firewall"
    )
}
