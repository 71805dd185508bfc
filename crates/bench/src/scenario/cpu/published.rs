//! Published processor time by rate, drawn beside the measured values.

use report::Figure;

/// Adds the curves of figure 4.
pub fn beside(figure: Figure) -> Figure {
    let curve = |figure: Figure, name, points: &[(f64, f64)]| {
        let busy = points.iter().map(|(mpps, idle)| (mpps * 1e6, 100.0 - idle)).collect();
        figure.reference_curve(name, busy, SOURCE)
    };
    let figure = curve(figure, "XDP", XDP_IDLE);
    let figure = curve(figure, "Linux raw", RAW_IDLE);
    curve(figure, "DPDK", DPDK_IDLE)
}

/// Millions of packets a second, and percent idle; as far as rates are measured here.
const XDP_IDLE: &[(f64, f64)] =
    &[(0.0, 100.0), (0.25, 93.0), (0.5, 88.3), (1.0, 80.4), (2.0, 71.1), (3.0, 64.8), (5.0, 52.7)];
const RAW_IDLE: &[(f64, f64)] =
    &[(0.0, 100.0), (0.25, 79.0), (0.5, 69.8), (1.0, 57.4), (2.0, 40.4), (3.0, 29.2), (5.0, 0.0)];
const DPDK_IDLE: &[(f64, f64)] = &[(0.0, 0.0), (5.0, 0.0)];
const SOURCE: &str = "\"The eXpress Data Path\", CoNEXT 2018, figure 4: ConnectX-5 Ex, 100 Gbit/s, \
                      one core of an E5-1650 v4";
