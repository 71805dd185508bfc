//! The base chain that is translated: its choice, its policy, and the packets that it sees.

use super::branches::Branches;
use super::key::Key;
use super::listing::{Chain, Listing};
use super::translation::Translation;
use crate::import_export::Error;
use crate::import_export::conjunction::{Conjunction, IPV4, IPV6};
use crate::import_export::error::nft::ImportError;
use crate::import_export::imported::{Approximation, ImportOptions, Imported};
use crate::{Action, Field, Policies, Policy, Reason, Ruleset, Values};
use functions::PassOrDrop;

/// Rules that make the decisions of a base chain.
pub(crate) fn translate(listing: &Listing, options: &ImportOptions<'_>) -> Result<Imported, Error> {
    let key = choose(listing, options.chain)?;
    let fail = |cause: ImportError| Error::new(format!("chain {key}"), cause);
    let chain = &listing.chains[key];
    let forwards = check(chain, options).map_err(fail)?;
    let drops = chain.base.as_ref().is_some_and(|base| base.drops);
    let policy = if drops { PassOrDrop::Drop } else { PassOrDrop::Pass };
    let scope = scope(&key.family).map_err(fail)?;
    let is_all = scope.values(Field::EtherType).is_none();
    let scope = Branches::one(scope);
    let mut out = Translation::new(listing, policy, options);
    out.chain(key, chain, &scope)?;
    let mut ruleset = Ruleset { policies: policies(&out), ..Ruleset::default() };
    if is_all {
        ruleset.default = policy;
    } else if policy == PassOrDrop::Drop {
        out.rule("policy", &scope, &Action::Drop)?;
    }
    ruleset.rules = out.rules;
    let mut approximations: Vec<_> = forwards.then(|| forwarding(key)).into_iter().collect();
    approximations.append(&mut out.approximations);
    Ok(Imported { ruleset, left_out: out.left_out, approximations })
}

/// Checks type and hook of a base chain; returns whether it is about forwarded packets.
fn check(chain: &Chain, options: &ImportOptions<'_>) -> Result<bool, ImportError> {
    let Some(base) = &chain.base else { return Ok(false) };
    if base.kind != "filter" {
        return Err(ImportError::ChainType(base.kind.clone()));
    }
    match base.hook.as_str() {
        "ingress" | "prerouting" | "input" => Ok(false),
        "forward" if options.approximate => Ok(true),
        _ => Err(ImportError::ChainHook(base.hook.clone())),
    }
}

fn forwarding(key: &Key) -> Approximation {
    Approximation {
        line: None,
        place: format!("chain {key}"),
        statement: "hook forward".to_owned(),
        consequence: "the rules decide about all packets that the interface receives, also those \
            for this host",
    }
}

/// Connection tracking reassembles fragments before the rules see them, so each fragment is treated
/// like the first one where the state of a connection matters.
fn policies(out: &Translation<'_>) -> Policies {
    let mut policies = Policies::of_imported_rules();
    if out.has_states {
        policies.set(Reason::LaterFragment, Policy::Track);
        policies.set(Reason::UnknownFragment, Policy::Drop);
    }
    policies
}

fn choose<'a>(listing: &'a Listing, chain: Option<&str>) -> Result<&'a Key, Error> {
    let is_meant = |key: &Key| {
        let short = format!("{}/{}", key.table, key.name);
        chain.is_none_or(|chain| chain == key.name || chain == short || chain == key.to_string())
    };
    let bases = listing.chains.iter().filter(|(_, chain)| chain.base.is_some());
    let found: Vec<_> = bases.map(|(key, _)| key).filter(|key| is_meant(key)).collect();
    match &found[..] {
        [key] => Ok(key),
        [] => Err(ImportError::NoBaseChain.into()),
        several => {
            let names: Vec<_> = several.iter().map(ToString::to_string).collect();
            Err(ImportError::SeveralBaseChains(names.join(", ")).into())
        }
    }
}

/// The packets that the chains of a table see.
fn scope(family: &str) -> Result<Conjunction, ImportError> {
    let one = |ether_type: u16| (ether_type.into(), ether_type.into());
    let ether_types = match family {
        "netdev" => return Ok(Conjunction::default()),
        "ip" => Values::new([one(IPV4)]),
        "ip6" => Values::new([one(IPV6)]),
        "inet" => Values::new([one(IPV4), one(IPV6)]),
        _ => return Err(ImportError::TableFamily(family.to_owned())),
    };
    let mut scope = Conjunction::default();
    scope.require(Field::EtherType, &ether_types)?;
    Ok(scope)
}
