//! `Tagging`: makes VLAN tags that the device stripped from frames visible to a program.
//!
//! Rule: a program that would treat a tagged frame as untagged is not attached. Methods, in order
//! of preference: the program queries the device; the offload is switched off while the program is
//! attached; attaching is refused.

use functions::tags::ask_device;
use kernel::{Mode, Tags};
use spec::Spec;

use crate::error::{Error, Result};
use crate::state::Offload;
use crate::target::Target;

/// How a program on an interface sees VLAN tags. A guard: if it is dropped before
/// [`keep`](Self::keep), an offload that it switched off is switched on again.
#[derive(Debug, Default)]
pub struct Tagging {
    asks_device: bool,
    switched: Option<Switched>,
}

#[derive(Debug)]
struct Switched {
    offload: Offload,
    interface: String,
}

impl Tagging {
    /// Prepares an interface for a program that depends on tags.
    ///
    /// # Errors
    /// Tags cannot be seen on the interface, and `ignore` is not set.
    pub fn prepare(target: &Target, asked: Mode, ignore: bool) -> Result<Self> {
        let interface = &target.interface;
        match kernel::tags(target.ifindex, asked)? {
            Tags::InFrame => Ok(Self::default()),
            Tags::Device => Ok(Self { asks_device: true, switched: None }),
            _ if ignore => Ok(Self::default()),
            Tags::Switchable(features) => {
                let offload = target.slot.offload();
                let switched = Switched { offload, interface: interface.clone() };
                switched.offload.switch_off(interface, &features)?;
                Ok(Self { asks_device: false, switched: Some(switched) })
            }
            Tags::Hidden(reason) => {
                Err(Error::HiddenTags { interface: interface.clone(), reason: reason.to_string() })
            }
        }
    }

    /// Makes these programs query the device, if that is the method.
    pub fn apply(&self, spec: &mut Spec, programs: &[&str]) -> Result<()> {
        if self.asks_device {
            ask_device(spec, programs)?;
        }
        Ok(())
    }

    /// Leaves the offload off until the program, which is attached now, is detached.
    pub fn keep(mut self) {
        self.switched = None;
    }
}

impl Drop for Tagging {
    /// Errors cannot be reported here; the next process that changes the state tries again.
    fn drop(&mut self) {
        if let Some(Switched { offload, interface }) = self.switched.take() {
            let _ = offload.restore(Some(&interface));
        }
    }
}
