//! Sources → objects: what clang wrote, what an author writes, what is refused.

mod authored;
mod clang;
