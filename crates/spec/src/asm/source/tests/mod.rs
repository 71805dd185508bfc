//! Sources → objects: what an author writes, every committed object, what is refused. `cargo xtask
//! bpf --check` assembles what clang writes.

mod authored;
mod errors;
mod objects;
