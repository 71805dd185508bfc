//! Hostile frames at a router: what `forward` sends on, Linux would send on without it; kernel and
//! engine agree on every frame.
//!
//! `XWAY_HOSTILE_FRAMES=N XWAY_HOSTILE_SEED=S` set the number of frames and the seed.

use std::collections::BTreeSet;
use std::time::Duration;

use functions::route::{Config, IcmpErrors};
use kernel::KernelRuntime;
use lab::{Capture, Router};
use spec::Verdict;
use vm::VmRuntime;
use xway_tests::bpf::Judgement;
use xway_tests::bpf::router::{Forward, Port, from_a};
use xway_tests::hostile::{self, Hostile, OWN_SOURCE, ROUTER, Settings};
use xway_tests::random::Random;

/// What is sent on although Linux drops it, and why that is so.
const KNOWN: [(&str, &str); 1] = [(
    OWN_SOURCE,
    "forward does not look up sources: the reverse path is not checked, which `rp_filter` does not \
     ask for either",
)];
/// Frames between two checks of what arrived: this number fits in a socket's buffer.
const BATCH: u16 = 100;
const PATIENCE: Duration = Duration::from_secs(20);

/// A router without any program of ours.
struct Linux {
    net: Router,
    out: Capture,
    /// What `c` sends itself is captured, too.
    receiver: [u8; 6],
}

impl Linux {
    fn new() -> Self {
        let net = Router::build(&hostile::in_order()).unwrap();
        let out = Capture::open(&net.c, "eth0").unwrap();
        let receiver = net.c.mac("eth0").unwrap().0;
        for name in ["all", "eth0"] {
            net.b.set_sysctl(&format!("ipv4/conf/{name}/rp_filter"), "0").unwrap();
        }
        let linux = Self { net, out, receiver };
        for to in ["10.0.2.2", "fd00:0:0:2::2"] {
            linux.last(to);
        }
        linux
    }

    /// Sends a frame that is routed, and gives the numbers of those that arrived before it.
    fn last(&self, to: &str) -> BTreeSet<u16> {
        const LAST: &[u8] = b"the last of these";
        let wire = Capture::open(&self.net.a, "eth0").unwrap();
        wire.send(&from_a(to, 9).udp(LAST).unwrap()).unwrap();
        let mut seen = BTreeSet::new();
        loop {
            let frame = self.out.next(PATIENCE, |_| true).unwrap();
            if frame.windows(LAST.len()).any(|part| part == LAST) {
                return seen;
            }
            if frame.starts_with(&self.receiver) {
                seen.extend(hostile::number(&frame));
            }
        }
    }

    /// Which of these it sends on.
    fn routes(&self, frames: &[(u16, Hostile)]) -> BTreeSet<u16> {
        let wire = Capture::open(&self.net.a, "eth0").unwrap();
        for (_, frame) in frames {
            // Longer ones than the link takes, and shorter ones than a header, are not sent.
            let _refused = wire.send(&frame.bytes);
        }
        self.last("10.0.2.2")
    }
}

/// It was sent on, and not an ICMP error back to the sender.
fn is_forwarded(judgement: &Judgement) -> bool {
    judgement.verdict == Verdict::Redirect && judgement.reason == "forwarded"
}

/// Without the random identification of an IPv4 error, which its header's checksum covers.
fn comparable(mut judgement: Judgement) -> Judgement {
    let is_ipv4 = judgement.packet.get(12..14) == Some(&[8, 0]);
    if judgement.reason.starts_with("sent-") && is_ipv4 {
        judgement.packet[18..20].fill(0);
        judgement.packet[24..26].fill(0);
    }
    judgement
}

/// `None` where both may be right.
fn finding(frame: &Hostile, ours: &Judgement, routed: bool) -> Option<String> {
    let known = KNOWN.iter().any(|(fault, _)| frame.faults.contains(fault));
    if !is_forwarded(ours) || routed || known {
        return None;
    }
    let hex: String = frame.bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Some(format!("{:?} is sent on by forward alone: {hex}", frame.faults))
}

#[test]
fn nothing_is_forwarded_that_linux_would_not_forward() {
    let Settings { frames: total, seed } = Settings::from_environment(3000, 0x5eed_0007);
    let linux = Linux::new();
    // Their limits are by the time, which differs.
    let config = Config { icmp_errors: IcmpErrors::UNLIMITED, ..Config::default() };
    let mut kernel = Forward::<KernelRuntime>::with(&config);
    let mut engine = Forward::<VmRuntime>::with(&config);
    let mut random = Random::new(seed);
    let (mut findings, mut done, mut forwarded) = (Vec::new(), 0, 0);
    while done < total {
        let numbers = 1..=u64::from(BATCH).min(total - done) as u16;
        let batch: Vec<_> =
            numbers.map(|number| (number, hostile::frame(&mut random, &ROUTER, number))).collect();
        let routed = linux.routes(&batch);
        for (number, frame) in &batch {
            let ours = comparable(kernel.judge(Port::Eth0, &frame.bytes));
            let engines = comparable(engine.judge(Port::Eth0, &frame.bytes));
            assert_eq!(ours, engines, "seed {seed}: {frame:?}");
            forwarded += u64::from(is_forwarded(&ours));
            findings.extend(finding(frame, &ours, routed.contains(number)));
        }
        done += batch.len() as u64;
    }
    assert!(
        findings.is_empty(),
        "seed {seed}: {}\n{:#?}",
        findings.len(),
        &findings[..findings.len().min(10)]
    );
    assert!(forwarded > total / 10, "{forwarded} of {total}: most frames are not so hostile");
    println!("{total} frames from seed {seed}: {forwarded} forwarded, by Linux as well");
}
