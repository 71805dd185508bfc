//! `raw.json`, a run of `xway bench` that may come from another machine.

use report::Run;

/// A run is compared with itself and drawn, whatever numbers it holds.
pub fn raw_json(bytes: &[u8]) {
    let Ok(run) = serde_json::from_slice::<Run>(bytes) else { return };
    let _ = run.compare(&run);
    let _ = run.figures();
    let _ = run.page();
}
