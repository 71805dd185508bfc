//! The compiled object has the layout that the Rust code expects.

use spec::Spec;

use crate::histogram::BUCKETS;
use crate::sink::program::{OBJECT, PROGRAM, PROGRAM_FRAGS, prepare};
use crate::sink::{FrameAction, SinkConfig, WINDOW};

#[test]
fn windows_and_histograms_have_the_same_size_on_both_sides() {
    let spec = Spec::parse("sink", OBJECT).unwrap();
    let size = |name: &str| spec.map(name).unwrap().value_size as usize;
    // A 64-bit word holds the bits of 32 numbers.
    assert_eq!(size("sink_windows"), WINDOW / 32 * 8);
    assert_eq!(size("sink_times"), 2 * BUCKETS * 8);
    assert!(size("sink_times") < 32 << 10, "the kernel's maximum for one processor");
    for program in [PROGRAM, PROGRAM_FRAGS] {
        assert!(spec.programs.iter().any(|one| one.name == program), "{program}");
    }
}

#[test]
fn a_configuration_decides_how_much_there_is_room_for() {
    let config = SinkConfig { streams: 3, sources: 16, ..SinkConfig::new("eth0") };
    let spec = prepare(&config).unwrap();
    for (name, entries) in
        [("sink_sources", 16), ("sink_windows", 16), ("sink_counts", 16), ("sink_times", 3)]
    {
        assert_eq!(spec.map(name).unwrap().max_entries, entries, "{name}");
    }
    let other = prepare(&SinkConfig { action: FrameAction::Reflect, ..config.clone() }).unwrap();
    assert_ne!(spec.map(".rodata"), other.map(".rodata"));
}

#[test]
fn numbers_out_of_range_are_refused() {
    let plain = SinkConfig::new("eth0");
    plain.check().unwrap();
    let offload = crate::sink::Via::XdpIn(kernel::Mode::Offload);
    for (config, word) in [
        (SinkConfig { streams: 0, ..plain.clone() }, "streams"),
        (SinkConfig { streams: 65, ..plain.clone() }, "streams"),
        (SinkConfig { sources: 0, ..plain.clone() }, "sources"),
        (SinkConfig { sources: 24, ..plain.clone() }, "power of two"),
        (SinkConfig { sources: 8192, ..plain.clone() }, "4096"),
        (SinkConfig { via: offload, ..plain.clone() }, "card"),
    ] {
        let error = config.check().unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
    }
}
