//! Nasty packets: random stacks of tags, tunnels, extension headers and options, fragments, then
//! wrong lengths, flipped bytes and cuts. From a seed, so that a failure can be had again.
#![allow(dead_code, reason = "each test file uses some of it")]

pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) % bound as u64) as usize
    }

    pub fn one_in(&mut self, odds: usize) -> bool {
        self.below(odds) == 0
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

pub const PORTS: [u16; 7] = [0, 7, 53, 80, 4789, 6081, 8472];
const LATER: [u16; 3] = [1, 0x2001, 0x1fff];

/// Packets whose innermost source can be chosen; honest in all else.
#[derive(Clone, Copy, Debug)]
pub struct Maker {
    /// Last byte of the innermost packet's source.
    pub source: u8,
    /// Invalid versions, lengths and the like, one in this number of places; 0 for never.
    pub lies: usize,
    pub fragments: bool,
}

impl Maker {
    pub fn frame(&self, random: &mut Random) -> Vec<u8> {
        let layers = random.pick(&[0, 0, 0, 1, 1, 2, 3]);
        self.link(random, layers)
    }

    /// Then broken: bytes flipped, the end cut off or padded.
    pub fn broken(&self, random: &mut Random) -> Vec<u8> {
        let mut frame = self.frame(random);
        for _ in 0..random.pick(&[0, 0, 1, 2, 4]) {
            let at = random.below(frame.len() - 12) + 12;
            frame[at] = match random.below(3) {
                0 => random.below(256) as u8,
                1 => random.pick(&[0, 4, 6, 17, 41, 43, 44, 47, 51, 58, 59, 60, 0x45, 0x81, 0x88]),
                _ => frame[at] ^ 1 << random.below(8),
            };
        }
        match random.below(4) {
            0 => frame.truncate(14 + random.below(frame.len() - 13)),
            1 => frame.resize(frame.len() + random.below(20), 0x45),
            _ => (),
        }
        frame
    }

    fn lie(&self, random: &mut Random) -> bool {
        self.lies > 0 && random.one_in(self.lies)
    }

    fn link(&self, random: &mut Random, layers: usize) -> Vec<u8> {
        let mut frame = vec![2, 0, 0, 0, 0, random.below(3) as u8, 2, 0, 0, 0, 1];
        frame.push(random.below(3) as u8);
        for _ in 0..random.pick(&[0, 0, 0, 1, 2, 4, if self.lies > 0 { 5 } else { 3 }]) {
            frame.extend(random.pick(&[[0x81, 0], [0x88, 0xa8]]));
            frame.extend((random.below(5) as u16 | 0x2000).to_be_bytes());
        }
        let (kind, payload) = self.ethernet_payload(random, layers);
        frame.extend(kind.to_be_bytes());
        frame.extend(payload);
        frame
    }

    fn ethernet_payload(&self, random: &mut Random, layers: usize) -> (u16, Vec<u8>) {
        match random.below(if layers > 0 { 10 } else { 7 }) {
            8 => (0x8864, self.pppoe(random, layers)),
            9 => (random.pick(&[0x8847, 0x8848]), self.labels(random, layers)),
            6 if self.lies > 0 => (random.pick(&[0x0806, 0x88cc, 46]), vec![0; 46]),
            _ => self.ip(random, layers),
        }
    }

    fn ip(&self, random: &mut Random, layers: usize) -> (u16, Vec<u8>) {
        if random.one_in(2) {
            (0x0800, self.ipv4(random, layers))
        } else {
            (0x86dd, self.ipv6(random, layers))
        }
    }

    fn pppoe(&self, random: &mut Random, layers: usize) -> Vec<u8> {
        let (kind, packet) = self.ip(random, layers - 1);
        let mut bytes = vec![if self.lie(random) { 0x21 } else { 0x11 }, 0, 0, 9];
        bytes.extend((packet.len() as u16 + 2).to_be_bytes());
        let protocol: u8 = if kind == 0x0800 { 0x21 } else { 0x57 };
        let other = if self.lies > 0 { random.pick(&[0xc0, 0x3d, 0xfd]) } else { protocol };
        let protocol = if self.lie(random) { other } else { protocol };
        if random.one_in(2) {
            bytes.push(0);
        }
        bytes.push(protocol);
        bytes.extend(packet);
        bytes
    }

    fn labels(&self, random: &mut Random, layers: usize) -> Vec<u8> {
        let count = random.pick(&[1, 2, if self.lies > 0 { 9 } else { 8 }]);
        let mut bytes = Vec::new();
        for label in 1..=count {
            bytes.extend([0, 1, u8::from(label == count), 64]);
        }
        bytes.extend(self.ip(random, layers - 1).1);
        bytes
    }

    fn ipv4(&self, random: &mut Random, layers: usize) -> Vec<u8> {
        let (mut protocol, mut payload, is_whole) = self.payload(random, layers, false);
        if random.one_in(12) {
            payload = [vec![protocol, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], payload].concat();
            protocol = 51;
        }
        let options = self.options(random);
        let ihl = 5 + options.len() / 4;
        let total = ihl * 4 + payload.len();
        let total = if self.lie(random) { random.below(total + 4) } else { total };
        let version = if self.lie(random) { 6 } else { 4 };
        let ihl = if self.lie(random) { random.below(16) } else { ihl };
        let mut packet = vec![version << 4 | ihl as u8, random.pick(&[0, 0xb8])];
        packet.extend((total as u16).to_be_bytes());
        packet.extend([0, random.below(3) as u8]);
        let fragment = self.fragment(random, is_whole);
        packet.extend((fragment | u16::from(random.one_in(4)) << 14).to_be_bytes());
        packet.extend([random.pick(&[1, 64]), protocol, 0, 0]);
        let source = if layers == 0 { self.source } else { random.below(4) as u8 };
        packet.extend([10, 0, 0, source, 10, 0, 1, random.below(3) as u8]);
        packet.extend(options);
        packet.extend(payload);
        packet
    }

    /// 0 for a whole packet; a packet that contains another one is whole or a first fragment.
    fn fragment(&self, random: &mut Random, is_whole: bool) -> u16 {
        match random.below(6) {
            0 if self.fragments && !is_whole => 0x2000,
            1 if self.fragments => random.pick(&LATER),
            _ => 0,
        }
    }

    fn options(&self, random: &mut Random) -> Vec<u8> {
        let mut options: Vec<u8> = match random.below(9) {
            0 => vec![1, 1, 1, 0],
            1 => vec![148, 4, 0, 0],
            2 if self.lies > 0 => vec![1, 131, 7, 4, 10, 0, 0, 9],
            3 if self.lies > 0 => vec![7, 4, 0, 0, 137, 3, 4, 1],
            4 if self.lies > 0 => vec![1, 1, 1, 68],
            5 if self.lies > 0 => vec![68, 9, 1, 1],
            6 if self.lies > 0 => vec![0, 131, 1, 1, 0, 0, 0, 0],
            _ => Vec::new(),
        };
        if random.one_in(20) {
            options.resize(40, 1);
        }
        options
    }

    fn ipv6(&self, random: &mut Random, layers: usize) -> Vec<u8> {
        let (mut next, mut payload, is_whole) = self.payload(random, layers, true);
        for _ in 0..random.pick(&[0, 0, 1, 2, 4, 7, if self.lies > 0 { 9 } else { 5 }]) {
            (next, payload) = self.extension(random, next, &payload, is_whole);
        }
        let length = payload.len();
        let length = if self.lie(random) { random.below(length + 4) } else { length };
        let version = if self.lie(random) { 4 } else { 6 };
        let mut packet = vec![version << 4 | random.pick(&[0, 0xb]), random.pick(&[0, 0x80]), 0, 0];
        packet.extend((length as u16).to_be_bytes());
        packet.extend([next, random.pick(&[1, 64])]);
        let source = if layers == 0 { self.source } else { random.below(4) as u8 };
        packet.extend([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, source]);
        packet.extend([0x20, 1, 0xd, 0xb8, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
        packet.push(random.below(3) as u8);
        packet.extend(payload);
        packet
    }

    fn extension(
        &self,
        random: &mut Random,
        next: u8,
        payload: &[u8],
        is_whole: bool,
    ) -> (u8, Vec<u8>) {
        let kind = random.pick(&[0, 43, 44, 51, 60]);
        let units = random.pick(&[0_u8, 0, 1, 3]);
        let mut header = vec![next, units];
        match kind {
            44 => {
                let fragment = self.fragment(random, is_whole);
                let fragment = fragment << 3 | u16::from(fragment == 0x2000);
                header.extend(fragment.to_be_bytes());
                header.extend([0, 0, 0, random.below(3) as u8]);
            }
            51 => header.resize(8 + usize::from(units) * 4, 0),
            _ => header.resize(8 + usize::from(units) * 8, 0),
        }
        if kind == 43 {
            header[2] = random.pick(&[2, 3, 4, if self.lies > 0 { 0 } else { 4 }, 4]);
            if self.lies > 0 && random.one_in(3) {
                header[2] = random.pick(&[0, 1, 5, 64, 255]);
            }
        }
        header.extend(payload);
        (kind, header)
    }

    /// Protocol and bytes; and whether a fragment of it would hide a packet.
    fn payload(&self, random: &mut Random, layers: usize, is_ipv6: bool) -> (u8, Vec<u8>, bool) {
        if layers > 0 {
            let (protocol, payload) = self.tunnel(random, layers - 1);
            return (protocol, payload, false);
        }
        let ports = [random.pick(&PORTS).to_be_bytes(), random.pick(&PORTS).to_be_bytes()].concat();
        let (protocol, payload) = match random.below(8) {
            0 | 1 => (6, self.tcp(random, &ports)),
            2..=4 => (17, self.udp(random, &ports)),
            5 => (random.pick(&[33, 132, 136]), [&ports[..], &[0; 8]].concat()),
            6 => {
                let kind = random.pick(&[0, 3, 8, 128]);
                (if is_ipv6 { 58 } else { 1 }, vec![kind, random.below(3) as u8, 0, 0, 0, 0, 0, 1])
            }
            _ => (random.pick(&[1, 2, 50, 58, 59, 89]), vec![0; 8]),
        };
        (protocol, payload, false)
    }

    fn tcp(&self, random: &mut Random, ports: &[u8]) -> Vec<u8> {
        let words = random.pick(&[5_u8, 6, if self.lies > 0 { 4 } else { 5 }]);
        let flags = random.pick(&[0, 2, 0x10, 0x12, 0xff]);
        let mut segment = [ports, &[0; 8]].concat();
        segment.extend([words << 4, flags, 0, 0, 0, 0, 0, 0]);
        segment.resize(segment.len() + random.pick(&[4, 12]), 1);
        segment
    }

    fn udp(&self, random: &mut Random, ports: &[u8]) -> Vec<u8> {
        let payload = random.pick(&[0, 4, 10, 40]);
        let length = 8 + payload;
        let length = if self.lie(random) { random.below(length + 4) } else { length };
        let mut datagram = [ports, &(length as u16).to_be_bytes()[..], &[0, 0]].concat();
        // Not VXLAN or Geneve by chance, unless fields are forged.
        datagram
            .resize(8 + payload, if self.lies > 0 { random.below(256) as u8 } else { 0xf1 & !8 });
        datagram
    }

    fn tunnel(&self, random: &mut Random, layers: usize) -> (u8, Vec<u8>) {
        match random.below(7) {
            0 | 1 => {
                let (kind, packet) = self.ip(random, layers);
                (if kind == 0x0800 { 4 } else { 41 }, packet)
            }
            2 => (47, self.gre(random, layers)),
            3 => (97, [vec![0x30, 0], self.link(random, layers)].concat()),
            4 => (143, self.link(random, layers)),
            5 => (137, self.labels(random, layers + 1)),
            _ => (17, self.over_udp(random, layers)),
        }
    }

    fn gre(&self, random: &mut Random, layers: usize) -> Vec<u8> {
        let (kind, packet) = match random.below(3) {
            0 => (0x6558, self.link(random, layers)),
            _ => self.ethernet_payload(random, layers),
        };
        let flags = random.pick(&[0_u16, 0x8000, 0x2000, 0x3000, 0xb000]);
        let flags = if self.lie(random) { random.pick(&[0x4000, 1, 0x2001]) } else { flags };
        let kind = if self.lie(random) { random.pick(&[0x880b, 0x88be, 0x22eb]) } else { kind };
        let mut bytes = [flags.to_be_bytes(), kind.to_be_bytes()].concat();
        bytes.resize(4 + (flags & 0xb000).count_ones() as usize * 4, 0);
        bytes.extend(packet);
        bytes
    }

    fn over_udp(&self, random: &mut Random, layers: usize) -> Vec<u8> {
        let port = random.pick(&[4789_u16, 8472, 6081]);
        let mut bytes = vec![0x30, 0x39];
        bytes.extend(port.to_be_bytes());
        bytes.extend([0, 0, 0, 0]);
        if port == 6081 {
            let options = random.pick(&[0_u8, 1, 63]);
            let (kind, packet) = if random.one_in(2) {
                (0x6558, self.link(random, layers))
            } else {
                self.ip(random, layers)
            };
            bytes.extend([options, 0]);
            bytes.extend(kind.to_be_bytes());
            bytes.extend([0, 0, 1, 0]);
            bytes.resize(bytes.len() + usize::from(options) * 4, 0);
            bytes.extend(packet);
        } else {
            bytes.extend([if self.lie(random) { 0 } else { 8 }, 0, 0, 0, 0, 0, 1, 0]);
            bytes.extend(self.link(random, layers));
        }
        let length = bytes.len() as u16;
        bytes[4..6].copy_from_slice(&length.to_be_bytes());
        bytes
    }
}
