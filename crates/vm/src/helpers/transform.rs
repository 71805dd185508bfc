//! Kfuncs on IPsec states: the environment has none, so a lookup finds none.

use super::{KfuncRow, bad_argument, kfunc_row};
use crate::errno::Errno;
use crate::fault::Fault;
use crate::objects::Kind;
use crate::processor::Processor;

pub(super) const KFUNCS: &[KfuncRow] =
    &[kfunc_row("bpf_xdp_get_xfrm_state", find), kfunc_row("bpf_xdp_xfrm_state_release", release)];

/// The error is the first field of the options.
fn find(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    const NAME: &str = "bpf_xdp_get_xfrm_state";
    let [context, options, len, ..] = *args;
    super::packet::context(NAME, context)?;
    let len = len as u32 as usize;
    processor.check_argument(NAME, 2, (options, len, true))?;
    if len < size_of::<i32>() {
        return Ok(0);
    }
    let mut errno = Errno::EINVAL;
    if len == OPTIONS_BYTES {
        let space = processor.memory.load32(options + NAMESPACE).unwrap_or(0) as u32;
        if space.cast_signed() >= -1 {
            errno = Errno::ENOENT;
        }
    }
    let written = processor.memory.store32(options, (-errno.0).cast_unsigned());
    written.map_err(|refused| processor.bad_memory(NAME, 2, (options, len, true))(refused))?;
    Ok(0)
}

fn release(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    let known = processor.lent(args[0], Kind::XfrmState).is_some();
    if known && processor.objects.release(args[0]) {
        return Ok(0);
    }
    Err(bad_argument("bpf_xdp_xfrm_state_release", 1, "not an IPsec state"))
}

/// `struct bpf_xfrm_state_opts`.
const OPTIONS_BYTES: usize = 36;
const NAMESPACE: u64 = 4;
