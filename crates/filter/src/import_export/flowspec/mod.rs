//! BGP FlowSpec routes (RFC 8955, 8956) in the text form that ExaBGP reads and writes.

mod export;
mod import;

pub use export::export;
pub use import::import;
