//! `xway why-drop`: frames that are lost in queues and rings, produced by real packets.
//!
//! Rule: where the kernel loses a fixed number of frames, all of them are expected; where it
//! depends on the order in which processors run, at least one.

use std::io::{BufRead, BufReader};
use std::os::fd::AsFd;
use std::process::{Child, Stdio};
use std::time::Duration;

use kernel::{Attach, Link, Mode, Object, Replace};
use lab::{Host, until};
use serde_json::Value;
use spec::Spec;
use sys::memory::{Anonymous, Pages};
use sys::net::ethtool::Ethtool;
use sys::net::xsk::{RingKind, UmemMemory, XskBinding, XskSocket};
use xsk::{Interface, Umem};
use xway_tests::clang;
use xway_tests::program::load;
use xway_tests::stage::Stage;
use xway_tests::xway::Answer;

const SOURCE: &str = r#"
static long (*const bpf_redirect)(__u32, __u64) = (void *)BPF_FUNC_redirect;
static long (*const bpf_redirect_map)(void *, __u64, __u64) = (void *)BPF_FUNC_redirect_map;
static __u32 (*const this_cpu)(void) = (void *)BPF_FUNC_get_smp_processor_id;
struct { int (*type)[BPF_MAP_TYPE_CPUMAP]; __u32 *key; __u32 *value; int (*max_entries)[256]; }
	processors SEC(".maps");
struct { int (*type)[BPF_MAP_TYPE_XSKMAP]; __u32 *key; __u32 *value; int (*max_entries)[4]; }
	sockets SEC(".maps");
const volatile __u32 target;

SEC("xdp") int turn(struct xdp_md *ctx) { return XDP_TX; }
SEC("xdp") int to_target(struct xdp_md *ctx) { return bpf_redirect(target, 0); }
SEC("xdp") int to_processor(struct xdp_md *ctx)
{
	return bpf_redirect_map(&processors, this_cpu(), 0);
}
SEC("xdp") int to_socket(struct xdp_md *ctx) { return bpf_redirect_map(&sockets, 0, 0); }
SEC("xdp") int slow(struct xdp_md *ctx)
{
	for (int i = 0; i < 60000; i++)
		asm volatile("");
	return XDP_DROP;
}
"#;
/// For everything that waits.
const LIMIT: &str = "60s";

/// The programs of `SOURCE`; one redirects to this interface of the host.
fn object(target: Option<(&Host, &str)>) -> Object {
    let mut spec: Spec = clang::read("queues", SOURCE);
    if let Some((host, name)) = target {
        let index = host.ifindex(name).unwrap().0;
        spec.set_global("target", &index.to_ne_bytes()).unwrap();
    }
    load(&spec)
}

fn attach(host: &Host, object: &Object, name: &str) -> Link {
    let (program, ifindex) = (object.program(name).unwrap(), host.ifindex("eth0").unwrap());
    let attach = Attach { ifindex, program, mode: Mode::Native, replace: Replace::No };
    host.run(|| kernel::attach(&attach)).unwrap().unwrap()
}

/// Starts counting, and waits until the tracepoints are attached.
fn why_drop(stage: &Stage, host: &Host, count: usize) -> Child {
    let count = count.to_string();
    let words = ["--json", "why-drop", "eth0", "--count", &count, "--time", LIMIT];
    let mut command = stage.xway.command_in(host, &words);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    // The command ends by its `--time`, so this waits no longer.
    stderr.read_line(&mut line).unwrap();
    assert!(line.contains("counting lost frames"), "{line}");
    child.stderr = Some(stderr.into_inner());
    child
}

/// The only loss of a report: its cause, frames and the loss itself.
#[track_caller]
fn loss(child: Child) -> (String, u64, Value) {
    let report = Answer::of(child.wait_with_output().unwrap()).json(0);
    let losses = report["losses"].as_array().unwrap();
    assert_eq!((losses.len(), &report["uncounted"]), (1, &0.into()), "{report:#}");
    let loss = &losses[0];
    (loss["cause"].as_str().unwrap().to_owned(), loss["frames"].as_u64().unwrap(), loss.clone())
}

#[track_caller]
fn assert_loss(child: Child, cause: &str, frames: u64) -> Value {
    let (found, count, loss) = loss(child);
    assert_eq!((found.as_str(), count), (cause, frames), "{loss:#}");
    loss
}

/// Frames that leave together, so that a queue has to hold them.
fn burst(stage: &Stage, count: &str) {
    let address = format!("{}:7", stage.net.b.ipv4("eth0").unwrap());
    let words = ["gen", "udp", &address, "--dev", "eth0", "--count", count, "--batch", "256"];
    let sent = stage.xway.run_in(&stage.net.a, &words);
    // Frames that do not fit into the first queue are a negative result.
    assert!([0, 1].contains(&sent.code), "{sent:?}");
}

/// Sends bursts until the command has counted a loss.
fn flood(stage: &Stage, mut child: Child, count: &str) -> Child {
    until("a loss", Duration::from_secs(50), || {
        if child.try_wait().unwrap().is_some() {
            return Ok(Some(()));
        }
        burst(stage, count);
        Ok(None)
    })
    .unwrap();
    child
}

fn large(stage: &Stage) -> Vec<u8> {
    stage.flow(7).udp(&[0; 1000]).unwrap()
}

#[test]
fn frames_that_are_sent_back_to_a_peer_without_xdp() {
    let stage = Stage::new();
    let (a, b) = (&stage.net.a, &stage.net.b);
    let _link = attach(b, &object(None), "turn");
    a.run(|| Ethtool::open()?.set_feature("eth0", "gro", false)).unwrap().unwrap();
    let child = why_drop(&stage, b, 40);
    stage.send(&large(&stage), 40);
    let loss = assert_loss(child, "peer-without-xdp", 40);
    assert_eq!(loss["received_on"], "eth0", "{loss:#}");
}

/// Makes two interfaces in `b`, of which the second receives shorter frames only.
fn short_pair(host: &Host) {
    for words in
        ["add near type veth peer name far", "set near up", "set far up", "set far mtu 500"]
    {
        let mut command = host.command("ip").unwrap();
        assert!(command.arg("link").args(words.split(' ')).status().unwrap().success(), "{words}");
    }
    host.run(|| Ethtool::open()?.set_feature("far", "gro", true)).unwrap().unwrap();
}

#[test]
fn redirected_frames_that_the_targets_peer_does_not_take() {
    let stage = Stage::new();
    let b = &stage.net.b;
    short_pair(b);
    let _link = attach(b, &object(Some((b, "near"))), "to_target");
    let child = why_drop(&stage, b, 30);
    stage.send(&large(&stage), 30);
    let loss = assert_loss(child, "queue-full", 30);
    assert_eq!((&loss["target"], &loss["errno"]), (&"near".into(), &Value::Null), "{loss:#}");
    assert!(loss["remedy"].as_str().unwrap().contains("longer than the MTU"), "{loss:#}");
}

#[test]
fn the_receive_queue_of_a_slow_peer_is_full() {
    let stage = Stage::new();
    let (a, b) = (&stage.net.a, &stage.net.b);
    // The kernel gives up receiving for a while before a burst is over, and the queue fills.
    let _link = attach(b, &object(None), "slow");
    let child = flood(&stage, why_drop(&stage, a, 1), "2048");
    let (cause, frames, loss) = loss(child);
    assert_eq!((cause.as_str(), &loss["target"]), ("queue-full", &"eth0".into()), "{loss:#}");
    assert!(frames >= 1);
}

#[test]
fn the_queue_of_a_processor_is_full() {
    let stage = Stage::new();
    let (b, object) = (&stage.net.b, object(None));
    let map = object.map("processors").unwrap();
    for cpu in sys::cpu::online().unwrap() {
        map.put_cpu(cpu as u32, 1, None).unwrap();
    }
    let _link = attach(b, &object, "to_processor");
    // Frames of a burst come before the processor that receives them can take the first one.
    let child = flood(&stage, why_drop(&stage, b, 1), "2048");
    let (cause, frames, loss) = loss(child);
    assert_eq!((cause.as_str(), &loss["map"]["name"]), ("cpu-queue-full", &"processors".into()));
    assert!(frames >= 1 && loss["reason"].as_str().unwrap().contains("processor"), "{loss:#}");
}

#[test]
fn the_rings_of_a_socket_are_full_or_empty() {
    for (rings, frames, cause) in [(64, 2048, "socket-ring-full"), (256, 32, "fill-ring-empty")] {
        let stage = Stage::new();
        let b = &stage.net.b;
        let umem = Umem::builder().frames(frames).build().unwrap();
        let open = || {
            let interface = Interface::open("eth0")?;
            interface.socket(0).umem(&umem).rings(rings).fill(256).open()
        };
        let socket = b.run(open).unwrap().unwrap();
        let taken = u64::from(rings.min(frames));
        let child = why_drop(&stage, b, 100 - taken as usize);
        stage.send(&large(&stage), 100);
        let loss = assert_loss(child, cause, 100 - taken);
        assert!(loss["errno"].is_string(), "{loss:#}");
        drop(socket);
    }
}

/// A socket that can be entered in a map, bound to this interface or not bound.
fn socket(host: &Host, interface: Option<&str>) -> (XskSocket, Anonymous) {
    let memory = Anonymous::new(16 * 4096, Pages::Plain).unwrap();
    let socket = host.run(XskSocket::open).unwrap().unwrap();
    let (start, len) = (memory.as_ptr(), memory.len());
    let area =
        UmemMemory { start, len, chunk_size: 4096, headroom: 0, flags: 0, tx_metadata_len: 0 };
    socket.register(&area).unwrap();
    for kind in [RingKind::Fill, RingKind::Completion, RingKind::Rx] {
        socket.create_ring(kind, 16).unwrap();
    }
    if let Some(name) = interface {
        let ifindex = host.ifindex(name).unwrap();
        socket.bind(XskBinding { ifindex, queue: 0, flags: 0 }, None).unwrap();
    }
    (socket, memory)
}

#[test]
fn a_socket_is_not_bound_or_bound_to_another_interface() {
    for (interface, cause) in [(None, "socket-unbound"), (Some("near"), "wrong-queue")] {
        let stage = Stage::new();
        let (b, object) = (&stage.net.b, object(None));
        short_pair(b);
        let (socket, _memory) = socket(b, interface);
        object.map("sockets").unwrap().put_socket(0, socket.as_fd()).unwrap();
        let _link = attach(b, &object, "to_socket");
        let child = why_drop(&stage, b, 20);
        stage.send(&large(&stage), 20);
        let loss = assert_loss(child, cause, 20);
        assert_eq!(loss["map"]["name"], "sockets", "{loss:#}");
    }
}
