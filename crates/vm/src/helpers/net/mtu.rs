//! `bpf_check_mtu`: whether a packet, after a change of its length, fits an interface.

use super::{context, in_r0, read, write};
use crate::errno::Errno;
use crate::fault::Fault;
use crate::processor::Processor;

pub(super) fn check(processor: &mut Processor, args: &[u64; 5]) -> Result<u64, Box<Fault>> {
    context(NAME, args[0])?;
    let wanted = u32::from_ne_bytes(read(processor, NAME, 3, args[2])?);
    if args[4] != 0 {
        return Ok(Errno::EINVAL.in_r0());
    }
    let index =
        if args[1] as u32 == 0 { processor.context.ingress_ifindex } else { args[1] as u32 };
    let Some(device) = processor.shared.net.devices.at(index) else {
        return Ok(Errno::ENODEV.in_r0());
    };
    let (mtu, header) = (device.mtu, device.header_len);
    // The kernel computes in 32 bits, and uses only the first buffer of a packet.
    let len = match wanted {
        0 => (processor.frame.data_end() - processor.frame.data()) as u32,
        given => given.wrapping_add(header),
    };
    let len = len.wrapping_add(args[3] as u32) as i32;
    let fits = len <= mtu.wrapping_add(header) as i32;
    write(processor, NAME, 3, (args[2], &mtu.to_ne_bytes()))?;
    Ok(in_r0(Ok(if fits { SUCCESS } else { FRAG_NEEDED })))
}

const NAME: &str = "bpf_check_mtu";
/// `BPF_MTU_CHK_RET_*`.
const SUCCESS: u64 = 0;
const FRAG_NEEDED: u64 = 1;
