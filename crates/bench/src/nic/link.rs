//! The card itself: its driver with its features, and the link.

use anyhow::Result;
use sys::net::ethtool::{Ethtool, Pause};
use sys::net::{NetdevFamily, XdpFeatures};

use super::Item;
use crate::field::Place;

/// Driver, native XDP, speed.
pub fn items(place: &Place, ethtool: &Ethtool) -> Result<Vec<Item>> {
    let (device, ifindex) = (place.device(), place.ifindex()?);
    let driver = ethtool.driver(device).map(|driver| driver.name).unwrap_or_default();
    let features = place.run(|| NetdevFamily::open()?.xdp_features(ifindex))?;
    Ok(vec![
        driver_item(device, &driver),
        native(device, features.ok()),
        speed(device, ethtool.speed_mbit(device).ok().flatten()),
    ])
}

/// Whether the link may be paused; of either card.
pub fn flow_control(ethtool: &Ethtool, device: &str) -> Item {
    let what = format!("flow control of {device}");
    match ethtool.pause(device) {
        Ok(Pause { rx: false, tx: false }) => Item::same(what, "off"),
        Ok(Pause { rx, tx }) => {
            let found = format!("rx {}, tx {}", on(rx), on(tx));
            Item::differs(what, found, "it off", format!("`ethtool -A {device} rx off tx off`"))
        }
        Err(_) => Item::unknown(what, "the driver reports none"),
    }
}

/// The words `on` and `off`.
pub fn on(is_on: bool) -> &'static str {
    if is_on { "on" } else { "off" }
}

fn driver_item(device: &str, driver: &str) -> Item {
    let what = format!("driver of {device}");
    match driver {
        "mlx5_core" => Item::same(what, driver),
        "" => Item::unknown(what, "it does not report its name"),
        _ => {
            let change = "ratios between hooks compare, packets a second do not";
            Item::differs(what, driver, "mlx5_core", change)
        }
    }
}

fn native(device: &str, features: Option<XdpFeatures>) -> Item {
    let what = format!("native XDP of {device}");
    match features {
        Some(features) if features.native() => Item::same(what, features.names().join(", ")),
        Some(_) => {
            let change = "another card or driver: rows in the driver will be absent";
            Item::differs(what, "none in this driver", "it", change)
        }
        None => Item::unknown(what, "not reported (Linux 6.3 does)"),
    }
}

fn speed(device: &str, mbit: Option<u32>) -> Item {
    let what = format!("link of {device}");
    match mbit {
        Some(PAPER_MBIT) => Item::same(what, "100 Gbit/s"),
        Some(mbit) => {
            // 64 bytes, and 20 that only the wire has: preamble and gap.
            let most = f64::from(mbit) / (84.0 * 8.0);
            let found = format!("{} Gbit/s", f64::from(mbit) / 1e3);
            let change = format!("at most {most:.2} Mpps of the smallest frames pass this one");
            Item::differs(what, found, "100 Gbit/s", change)
        }
        None => Item::unknown(what, "the driver does not report its speed"),
    }
}

const PAPER_MBIT: u32 = 100_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_tell_what_to_change() {
        for (item, line) in [
            (driver_item("eth1", "mlx5_core"), "driver of eth1: mlx5_core; as the paper had it"),
            (
                driver_item("eth1", "veth"),
                "driver of eth1: veth; differs, the paper had mlx5_core: ratios between hooks \
                 compare, packets a second do not",
            ),
            (
                native("eth1", Some(XdpFeatures { bits: 7, ..XdpFeatures::default() })),
                "native XDP of eth1: basic, redirect, ndo-xmit; as the paper had it",
            ),
            (native("eth1", None), "native XDP of eth1: not reported (Linux 6.3 does)"),
            (
                speed("eth1", Some(10_000)),
                "link of eth1: 10 Gbit/s; differs, the paper had 100 Gbit/s: at most 14.88 Mpps \
                 of the smallest frames pass this one",
            ),
        ] {
            assert_eq!(item.to_string(), line);
        }
        let none = native("eth1", Some(XdpFeatures::default())).to_string();
        assert!(none.contains("rows in the driver will be absent"), "{none}");
    }
}
