//! The sweep over the number of destinations: arms and their curves.
//!
//! Rule: the full table at every number, one route at both ends, where nothing should change: if
//! it does, the sweep shows more than the table.

use std::net::Ipv4Addr;

use anyhow::Result;
use report::Figure;
use report::figure::{Series, XAxis};

use super::{DESTINATIONS, FULL_TABLE, MODES, ONE_ROUTE, Router, RoutingMode};
use crate::harness::{Arm, Value};

/// `destinations` has the largest number of the sweep.
pub fn arms<'a>(routers: &'a [Router], destinations: &[Ipv4Addr]) -> Result<Vec<Arm<'a>>> {
    let mut arms = Vec::new();
    for mode in MODES {
        for router in routers {
            for count in numbers(router.name) {
                let stream = router.net.stream(&destinations[..*count])?;
                let row = row(mode, router.name, *count);
                arms.push(Arm::wide(&row.clone(), move |window| {
                    let span = mode.measure(&router.net, &stream, window)?;
                    Ok(vec![Value::new(&row, "pps", span.rate())])
                }));
            }
        }
    }
    Ok(arms)
}

/// A curve for each mode and table, through the row of the usual number of destinations too.
pub fn figure() -> Figure {
    let curve = |mode: &RoutingMode, size: &'static str| {
        let point = |count: &usize| (*count as f64, row(mode, size, *count));
        let mut points: Vec<_> = numbers(size).iter().map(point).collect();
        points.push((DESTINATIONS as f64, mode.row(size)));
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        Series { name: mode.row(size), points }
    };
    let x = XAxis { label: "destinations".into(), unit: String::new(), is_logarithmic: true };
    let series = MODES.iter().flat_map(|mode| SIZES.map(|size| curve(mode, size))).collect();
    Figure::curves("router-destinations", "Packets a second, by destinations", x, series)
        .subtitle("that the packets go to in turn")
        .reference_curve("xdp", PUBLISHED.to_vec(), PAPER)
}

fn row(mode: &RoutingMode, size: &str, count: usize) -> String {
    format!("{}@{count}", mode.row(size))
}

fn numbers(size: &str) -> &'static [usize] {
    if size == ONE_ROUTE { &[1, 20_000] } else { &[1, 10, 100, 1_000, 5_000, 20_000] }
}

const SIZES: [&str; 2] = [ONE_ROUTE, FULL_TABLE];
const PUBLISHED: [(f64, f64); 6] = [
    (1.0, 5.77e6),
    (10.0, 5.28e6),
    (100.0, 4.73e6),
    (1_000.0, 4.06e6),
    (5_000.0, 3.89e6),
    (20_000.0, 3.85e6),
];
const PAPER: &str = "raw data of The eXpress Data Path (CoNEXT 2018): one core of a Xeon E5-1650 \
    v4 at 3.6 GHz, ConnectX-5 Ex 100G with a ring of 512, Linux 4.18-pre; the table's size is not \
    stated";
