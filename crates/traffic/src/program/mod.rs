//! The programs that are run on live frames: made from templates, by `spec::asm`.

pub mod abi;
