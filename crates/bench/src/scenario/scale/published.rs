//! What "The eXpress Data Path" measured by cores, for the figure.

use report::Figure;

/// Figure 3, and the runs beside it that separate a frame's first access.
pub fn add(figure: Figure) -> Figure {
    SERIES.iter().fold(figure, |figure, (name, values)| {
        let points = values.iter().enumerate().map(|(core, value)| ((core + 1) as f64, *value));
        figure.reference_curve(name, points.collect(), SOURCE)
    })
}

const SOURCE: &str = "\"The eXpress Data Path\", CoNEXT 2018, figure 3 and its published data: \
                      Xeon E5-1650 v4, ConnectX-5 Ex at 100 Gbit/s, 64-byte frames, Linux 4.18-pre";

/// Packets a second with 1, 2, … cores.
type Series = (&'static str, &'static [f64]);

const SERIES: &[Series] = &[
    ("XDP", &[23_863_471.0, 45_514_709.0, 67_796_536.0, 88_821_307.0, 99_357_978.0, 108_607_056.0]),
    ("XDP, header read", &[23.06e6, 46.54e6, 68.86e6, 86.17e6, 87.34e6, 87.59e6]),
    ("DPDK", &[43_503_636.0, 74_380_044.0, 97_203_856.0, 113_876_503.0, 115_453_781.0]),
    (
        "Linux, raw table",
        &[5_051_787.0, 10_226_514.0, 15_104_793.0, 20_075_858.0, 24_995_919.0, 29_443_869.0],
    ),
];
