//! Damaged captures, with a fixed seed: whatever the bytes, reading them ends, and ends in an
//! answer. `fuzz/` looks for more with coverage; this keeps what must never come back.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod made;

use made::{Big, END, Little, U64, enhanced, interface, option, section, simple};
use pcap::{LinkType, MAX_PACKET, Options, Packet, Reader, Resolution, Writer};

const SEED: u64 = 0x5eed_0b1e_c75e_ed00;
const CASES: usize = 20_000;

/// xorshift64*: small, and the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }
}

fn corpus() -> Vec<Vec<u8>> {
    let mut nano = Writer::pcap(Vec::new(), LinkType::ETHERNET, Resolution::Nano).unwrap();
    let mut ng = Writer::pcapng(Vec::new(), &Options::default()).unwrap();
    ng.interface("eth0", LinkType::ETHERNET).unwrap();
    for n in 0..8 {
        let data = vec![n; 10 + usize::from(n)];
        let verdict = Some(u64::from(n));
        let comment = Some("text".into());
        let packet = Packet { data, verdict, queue: Some(1), comment, ..Packet::default() };
        nano.write(&packet).unwrap();
        ng.write(&packet).unwrap();
    }
    let sections = [Big, Little].map(|order| {
        let options = [option(order, 14, U64(1)), END.to_vec()].concat();
        let packet = [enhanced(order, 0, 5, b"12345", &[]), simple(order, 3, b"abc")].concat();
        [section(order, &[]), interface(order, 1, 0, &options), packet.repeat(3)].concat()
    });
    vec![nano.finish().unwrap(), ng.finish().unwrap(), sections.concat()]
}

/// One of the ways in which files are damaged.
fn damage(bytes: &mut Vec<u8>, random: &mut Random) {
    let at = random.below(bytes.len());
    match random.below(5) {
        0 => bytes[at] ^= 1 << random.below(8),
        1 => bytes[at] = random.next() as u8,
        2 => {
            let number = [0u32, 1, 12, 16 << 20, 0x7fff_ffff, u32::MAX][random.below(6)];
            let at = at / 4 * 4;
            let end = bytes.len().min(at + 4);
            bytes[at..end].copy_from_slice(&number.to_le_bytes()[..end - at]);
        }
        3 => bytes.truncate(at.max(4)),
        _ => {
            let from = random.below(bytes.len());
            let len = random.below(64).min(bytes.len() - at.max(from));
            bytes.copy_within(from..from + len, at);
        }
    }
}

/// Reads all; how many packets there were.
fn exercise(bytes: &[u8]) -> usize {
    let Ok(mut reader) = Reader::new(bytes) else { return 0 };
    let mut packet = Packet::default();
    let mut packets = 0;
    while matches!(reader.next_into(&mut packet), Ok(true)) {
        packets += 1;
        assert!(packet.data.len() <= MAX_PACKET.min(bytes.len()));
        assert!(packet.original_len as usize >= packet.data.len());
        assert!(packet.interface < reader.interfaces().len());
        assert!(reader.bytes_read() <= bytes.len() as u64);
    }
    packets
}

#[test]
fn damaged_captures_are_answered() {
    let corpus = corpus();
    let whole: Vec<usize> = corpus.iter().map(|bytes| exercise(bytes)).collect();
    assert_eq!(whole, [8, 8, 12]);
    let mut random = Random(SEED);
    let mut read = 0;
    for case in 0..CASES {
        let mut bytes = corpus[random.below(corpus.len())].clone();
        for _ in 0..=random.below(4) {
            damage(&mut bytes, &mut random);
        }
        let answer = std::panic::catch_unwind(|| exercise(&bytes));
        let Ok(packets) = answer else {
            panic!("case {case} of seed {SEED:#x} panics; {} bytes", bytes.len())
        };
        read += usize::from(packets > 0);
    }
    // Damage that is always detected immediately would test the first check only.
    assert!(read > CASES / 2, "only {read} of {CASES} gave packets");
}
