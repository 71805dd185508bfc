//! Programs that query the device for VLAN tags that are not in the frame.
//!
//! The C part is `bpf/include/xway/tag.h`. Rule: only a program that is bound to a device, in
//! native mode, may query it (Linux 6.8). Not here: which interfaces need it.

use spec::asm::Assembler;
use spec::asm::Reg::{R0, R1, R2, R3, R10};
use spec::{ProgramKind, Spec, compose};

/// The function that the query replaces, and the global variable that enables it.
const FUNCTION: &str = "xway_device_tag";
const GLOBAL: &str = "xway_asks_device";
const KFUNC: &str = "bpf_xdp_metadata_rx_vlan_tag";
/// The value of `XWAY_TAG_FOUND`.
const FOUND: i32 = 1 << 16;

/// Why a program cannot query the device.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the program does not support stripped VLAN tags: {0}")]
    Object(#[from] spec::Error),
    #[error("the query of VLAN tags cannot be inserted into the program: {0}")]
    Splice(#[from] compose::Error),
}

/// Makes these programs of an object query the device.
///
/// # Errors
/// The object is not one of those that include `xway/tag.h`.
pub fn ask_device(spec: &mut Spec, programs: &[&str]) -> Result<(), Error> {
    spec.set_global(GLOBAL, &1_u32.to_le_bytes())?;
    for program in programs {
        *spec = compose::splice(spec, program, FUNCTION, question())?;
    }
    Ok(())
}

/// The tag as `xway_stripped_tag()` returns it; without branches, which would double the ways that
/// the verifier walks.
fn question() -> Assembler {
    let mut code = Assembler::new(FUNCTION, ProgramKind::XDP);
    code.note("the tag that the device took out of the frame")
        .store64(R10.at(-8), 0)
        .mov(R2, R10)
        .add(R2, -8)
        .mov(R3, R10)
        .add(R3, -4)
        .call_kfunc(KFUNC)
        // All ones for success, zeros for an error.
        .lsh(R0, 32)
        .arsh(R0, 63)
        .xor(R0, -1)
        .load16(R1, R10.at(-8))
        .lsh(R1, 32)
        .or(R1, FOUND)
        .load16(R2, R10.at(-4))
        .or(R1, R2)
        .and(R0, R1)
        .exit();
    code
}
