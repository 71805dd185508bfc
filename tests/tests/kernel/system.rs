//! What the kernel can do, and what is loaded and attached on the machine.

use std::time::{Duration, Instant};

use kernel::{Attach, Mode, Replace, attach, list, probe};
use spec::Verdict;
use sys::bpf::uapi::prog_type;
use xway_tests::program::{self, PinFolder, constant_program, counting, load, object, seen};

#[test]
fn every_feature_is_there_or_has_a_reason() {
    let start = Instant::now();
    let features = probe::all();
    let took = start.elapsed();
    for feature in &features {
        let refusal = feature.refusal.as_ref().map(ToString::to_string);
        println!("{:32} {}", feature.name, refusal.as_deref().unwrap_or("yes"));
        assert!(refusal.is_none_or(|words| !words.is_empty()));
    }
    assert!(features.len() >= 25);
    assert!(took < Duration::from_secs(5), "{took:?}, unoptimised and on a busy machine");
    // Linux 5.15, the oldest kernel that is supported, has all of these.
    for name in [
        "xdp",
        "jit",
        "btf",
        "subprograms",
        "test-run",
        "xdp-native",
        "xdp-generic",
        "xdp-link",
        "xdp-expected-fd",
        "map-batch",
        "map-freeze",
        "map-lpm-trie",
        "map-devmap-hash",
        "map-cpumap",
        "map-xskmap",
        "map-ringbuf",
        "bpf_fib_lookup",
        "bpf_redirect_map",
        "bpf_check_mtu",
    ] {
        let feature = features.iter().find(|feature| feature.name == name).unwrap();
        assert_eq!(feature.refusal, None, "{name}");
    }
    assert_eq!(probe::one("xdp").unwrap(), features[0]);
    assert_eq!(probe::one("no-such-feature"), None);
}

#[test]
fn what_no_kernel_has_is_refused() {
    let mut a = spec::asm::Assembler::new("probe", spec::ProgramKind::XDP);
    a.call(spec::asm::Helper(9999)).exit();
    let spec = object(vec![], vec![a]);
    let error = kernel::Object::load(&spec, &kernel::LoadOptions::default()).unwrap_err();
    assert!(error.to_string().contains("this kernel has no such helper"), "{error}");
}

#[test]
fn programs_maps_and_links_are_listed_with_their_holders() {
    let net = lab::TwoHosts::build(&lab::LinkOptions::default()).unwrap();
    let object = load(&object(vec![seen()], vec![counting("listed_prog", Verdict::Pass)]));
    let program = object.program("listed_prog").unwrap();
    let ifindex = net.a.ifindex("eth0").unwrap();
    let place = Attach { ifindex, program, mode: Mode::Generic, replace: Replace::No };
    let link = net.a.run(|| attach(&place)).unwrap().unwrap();
    let link_id = link.info().unwrap().unwrap().id;

    let map_id = object.map("seen").unwrap().id();
    let found = list::programs().unwrap().into_iter().find(|one| one.id == program.id()).unwrap();
    assert_eq!((found.kind, &*found.name), (prog_type::XDP, "listed_prog"));
    assert_eq!(found.map_ids, [map_id]);
    assert!(found.load_time_ns <= sys::thread::boottime_ns());
    assert!(list::maps().unwrap().iter().any(|map| map.id == map_id && map.name == "seen"));
    assert!(list::links().unwrap().iter().any(|one| one.id == link_id));

    let owners = list::Owners::now();
    for held in [owners.of_program(program.id()), owners.of_map(map_id), owners.of_link(link_id)] {
        assert!(held.iter().any(|owner| owner.pid == std::process::id()), "{held:?}");
    }

    let interfaces = net.a.run(list::interfaces).unwrap().unwrap();
    let eth0 = interfaces.iter().find(|one| one.link.name == "eth0").unwrap();
    assert_eq!(eth0.programs.len(), 1);
    let attached = &eth0.programs[0];
    assert_eq!((attached.mode, attached.program.id), (Mode::Generic, program.id()));
    assert_eq!(attached.link_id, Some(link_id));
    drop(link);
    let interfaces = net.a.run(list::interfaces).unwrap().unwrap();
    assert!(interfaces.iter().all(|one| one.programs.is_empty()));
}

#[test]
fn runs_are_counted_while_statistics_are_on() {
    let program = constant_program("counted", Verdict::Pass);
    let run = || {
        let packet = program::frame();
        let input = spec::Input { packet, ..Default::default() };
        program.run(&kernel::TestRun { input, repeat: 100, cpu: None }).unwrap();
        program.info().unwrap().run_count
    };
    let counting = sys::bpf::enable_stats().unwrap();
    assert_eq!(run(), 100);
    drop(counting);
}

/// Set for the second half of the next test, which runs as a child.
const CHILD: &str = "XWAY_TEST_PIN";

#[test]
fn pins_are_seen_from_private_mount_namespaces() {
    if let Some(mounted) = std::env::var_os(CHILD) {
        let mounted = std::path::Path::new(&mounted);
        assert!(!sys::mount::is_bpffs(mounted), "it is unmounted here");
        let bpffs = sys::mount::find_bpffs(mounted).unwrap();
        assert_eq!(sys::mount::bpffs(mounted).unwrap(), bpffs);
        let program = kernel::Program::from_pin(&bpffs.join("it")).unwrap();
        assert_eq!(program.name(), "pinned");
        return;
    }
    let folder = PinFolder::new("mounts");
    constant_program("pinned", Verdict::Pass).pin(&folder.path("it")).unwrap();
    // As in `ip netns exec`: a mount namespace of its own that does not have the mount.
    let script = "mount --make-rslave / && umount \"$1\" && \
                  \"$0\" --exact system::pins_are_seen_from_private_mount_namespaces";
    let output = std::process::Command::new("unshare")
        .args(["--mount", "sh", "-c", script])
        .arg(std::env::current_exe().unwrap())
        .arg(folder.mounted())
        .env(CHILD, folder.mounted())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}
