//! nftables: rulesets as `nft -j list ruleset` prints them, and as `nft -f` reads them.

mod export;
pub(crate) mod import;

pub use export::export;
pub use import::{Lines, import, import_as};
