//! `bpf(2)`: one function a command, with the kernel's numbers and structures beside them.
//!
//! Rule: a structure handed to the kernel is zeroed first and only the fields in use are set. The
//! kernel takes a structure longer than its own as long as the rest is zero, so the same code
//! serves old kernels; one that uses a newer field gets `E2BIG` or `EINVAL` from them.
//! Not here: retries, log growth, names for people; see crate `kernel`.

mod attr;
mod batch;
mod btf;
mod id;
mod info;
mod info_raw;
mod link;
mod map;
mod pin;
mod prog;
mod record;
mod test_run;
pub mod uapi;

pub use batch::Batch;
pub use btf::{BtfInfo, btf_info, btf_load};
pub use id::{Kind, fd_by_id, next_id};
pub use info::{
    LinkInfo, LinkTarget, MapInfo, ProgInfo, ProgListing, link_info, map_info, prog_info,
    prog_listing,
};
pub use link::{LinkCreate, link_create, link_detach, link_update, raw_tracepoint_open};
pub use map::{Map, MapCreate};
pub use pin::{obj_kind, open_pin, open_pin_read_only, pin, unpin};
pub use prog::{ProgLoad, bind_map, enable_stats, prog_load};
pub use test_run::{TestRun, TestRunResult, test_run};
