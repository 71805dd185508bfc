//! Explains why a driver rejected frames, and what to change.

use sys::errno::{EINVAL, EMSGSIZE, ENETDOWN, ENODEV, ENXIO, EOPNOTSUPP};

/// Advice for the errno of a rejected frame; 0 means that the queue was full.
pub(crate) fn advice(errno: i32, interface: &str, driver: &str) -> String {
    let veth = driver == VETH;
    match errno {
        0 if veth => {
            "the peer's receive queue is full: frames arrive faster than it processes them, or \
                      are longer than its MTU; send slower, in smaller batches, or give it a \
                      processor of its own"
                .to_owned()
        }
        0 => format!("its queue is full: send slower, or enlarge it (`ethtool -G {interface}`)"),
        ENXIO | EOPNOTSUPP if veth => {
            "its peer does not receive XDP frames: it is down, or has neither XDP nor GRO; \
                          `ethtool -K PEER gro on` there"
                .to_owned()
        }
        ENXIO => format!(
            "its driver has no queue for XDP on this processor: attach an XDP program to \
             {interface}, or give it more queues (`ethtool -L {interface}`)"
        ),
        ENETDOWN => format!("it is down: `ip link set {interface} up`"),
        EMSGSIZE => {
            format!("frames exceed its MTU: `ip link set {interface} mtu N`, or send shorter ones")
        }
        EOPNOTSUPP if veth => advice(ENXIO, interface, driver),
        EOPNOTSUPP => "its driver cannot transmit XDP frames".to_owned(),
        ENODEV | EINVAL => format!("{interface} was removed"),
        _ => "the driver rejected them".to_owned(),
    }
}

/// The driver name of virtual Ethernet pairs in ethtool.
pub(crate) const VETH: &str = "veth";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_names_what_to_change() {
        for (errno, driver, words) in [
            (0, VETH, "slower"),
            (0, "ice", "ethtool -G eth1"),
            (ENXIO, VETH, "ethtool -K PEER gro on"),
            (EOPNOTSUPP, VETH, "ethtool -K PEER gro on"),
            (ENXIO, "ixgbe", "ethtool -L eth1"),
            (ENETDOWN, VETH, "ip link set eth1 up"),
            (EMSGSIZE, "ice", "mtu"),
            (EOPNOTSUPP, VETH, "ethtool -K PEER gro on"),
            (EOPNOTSUPP, "e1000", "cannot transmit"),
        ] {
            let text = advice(errno, "eth1", driver);
            assert!(text.contains(words), "{errno} {driver}: {text}");
        }
    }
}
