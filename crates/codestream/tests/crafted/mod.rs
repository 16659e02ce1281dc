//! JPEG 2000 streams made by hand, for tests of several crates.
#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "tests, which each take what they need; small numbers made here"
)]

/// Bits of a packet header, with a bit of 0 after every byte of ones.
#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    last: u8,
    count: u32,
}

impl Bits {
    fn put(&mut self, bit: u8) {
        self.last = self.last << 1 | bit;
        self.count += 1;
        if self.count == 8 {
            self.bytes.push(self.last);
            self.count = u32::from(self.last == 0xFF);
            self.last = 0;
        }
    }

    fn end(mut self) -> Vec<u8> {
        while self.count != 0 && !(self.count == 1 && self.bytes.last() == Some(&0xFF)) {
            self.put(0);
        }
        if self.bytes.last() == Some(&0xFF) {
            self.bytes.push(0);
        }
        self.bytes
    }
}

fn segment(marker: u8, body: &[u8]) -> Vec<u8> {
    let len = u16::try_from(body.len() + 2).unwrap().to_be_bytes();
    [&[0xFF, marker], &len[..], body].concat()
}

/// A stream of one tile with one component of 8 bits and no wavelet levels.
fn stream(side: u32, coding: &[u8], packets: &[u8]) -> Vec<u8> {
    let mut size = vec![0, 0];
    for field in [side, side, 0, 0, side, side, 0, 0] {
        size.extend(field.to_be_bytes());
    }
    size.extend([0, 1, 7, 1, 1]);
    let part = u32::try_from(14 + packets.len()).unwrap().to_be_bytes();
    [
        &[0xFF, 0x4F][..],
        &segment(0x51, &size),
        &segment(0x52, coding),
        &segment(0x5C, &[0x40, 0x40]),
        &[0xFF, 0x90, 0, 10, 0, 0],
        &part,
        &[0, 1, 0xFF, 0x93],
        packets,
        &[0xFF, 0xD9],
    ]
    .concat()
}

/// A sound stream of precincts of 2 x 2 samples, each a packet of one byte, with a code-block of one pass of no bytes.
/// Hundreds of times as much memory would be made of it.
pub fn tiny_precincts(side: u32) -> Vec<u8> {
    // There is something; it is in this layer; no bit planes are missing; one pass; lengths have three bits; no bytes.
    let packets = vec![0b1110_0000; (side / 2 * (side / 2)) as usize];
    stream(side, &[1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0x11], &packets)
}

/// A sound stream of one packet, which tells every code-block of 4 x 4 samples in eight bits: one pass of no bytes.
pub fn many_code_blocks(side: u32) -> Vec<u8> {
    let across = side / 4;
    let levels = across.next_power_of_two().trailing_zeros();
    let mut bits = Bits::default();
    bits.put(1);
    for (row, column) in (0..across).flat_map(|row| (0..across).map(move |column| (row, column))) {
        // In either tag tree, nodes of the path that no code-block before asked for: all say 0.
        let fresh = (0..=levels).filter(|level| (row | column) % (1 << level) == 0).count();
        (0..2 * fresh).for_each(|_| bits.put(1));
        // One pass; lengths have three bits; no bytes.
        (0..5).for_each(|_| bits.put(0));
    }
    stream(side, &[0, 0, 0, 1, 0, 0, 0, 0, 0, 1], &bits.end())
}
