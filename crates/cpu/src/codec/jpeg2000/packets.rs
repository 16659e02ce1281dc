//! Packets of the JPEG 2000 encoder (ISO 15444-1, annex B): one layer, one precinct per resolution.

use super::code_block::Coded;

/// Encoded blocks of a subband, row by row.
pub(super) struct CodedBand {
    /// Code-blocks across.
    pub(super) across: usize,
    /// Bit planes that the quantisation allows.
    pub(super) planes: u32,
    /// Code-blocks.
    pub(super) blocks: Vec<Coded>,
}

/// Appends the packet of a resolution of a component.
pub(super) fn append_packet(dst: &mut Vec<u8>, bands: &[CodedBand]) {
    let mut bits = HeaderBits::default();
    // Not empty.
    bits.put(1, 1);
    for band in bands {
        let mut included = TagTree::new(band, |block| u32::from(block.planes == 0));
        let mut missing = TagTree::new(band, |block| band.planes.saturating_sub(block.planes));
        for (index, block) in band.blocks.iter().enumerate() {
            included.code(&mut bits, index, 1);
            if block.planes == 0 {
                continue;
            }
            missing.code(&mut bits, index, u32::MAX);
            put_passes(&mut bits, block.passes());
            // B.10.7.1: three bits plus those of the number of passes, and more if signalled by ones.
            let has = 3 + block.passes().ilog2();
            let len = u32::try_from(block.bytes.len()).unwrap_or(u32::MAX);
            let more = (32 - len.leading_zeros()).saturating_sub(has);
            (0..more).for_each(|_| bits.put(1, 1));
            bits.put(0, 1);
            bits.put(len, has + more);
        }
    }
    dst.extend(bits.finish());
    for block in bands.iter().flat_map(|band| &band.blocks) {
        dst.extend_from_slice(&block.bytes);
    }
}

/// Writes a number of passes (table B.4).
fn put_passes(bits: &mut HeaderBits, passes: u32) {
    match passes {
        0 | 1 => bits.put(0, 1),
        2 => bits.put(0b10, 2),
        3..6 => bits.put(0b1100 + (passes - 3), 4),
        6..37 => bits.put(0b1111 << 5 | (passes - 6), 9),
        _ => bits.put(0b1_1111_1111 << 7 | (passes - 37), 16),
    }
}

/// Bits of a packet header; after 0xFF a byte has seven (B.10.1).
#[derive(Default)]
struct HeaderBits {
    bytes: Vec<u8>,
    current: u8,
    count: u32,
}

impl HeaderBits {
    fn put(&mut self, bits: u32, count: u32) {
        for at in (0..count).rev() {
            self.current = self.current << 1 | u8::from(bits >> at & 1 == 1);
            self.count += 1;
            if self.count == self.room() {
                self.bytes.push(self.current);
                (self.current, self.count) = (0, 0);
            }
        }
    }

    fn room(&self) -> u32 {
        if self.bytes.last() == Some(&0xFF) { 7 } else { 8 }
    }

    /// Pads the last byte with zeros; a header does not end in 0xFF.
    fn finish(mut self) -> Vec<u8> {
        if self.count > 0 {
            let spare = self.room() - self.count;
            self.bytes.push(self.current << spare);
        }
        if self.bytes.last() == Some(&0xFF) {
            self.bytes.push(0);
        }
        self.bytes
    }
}

/// A tag tree (B.10.2): a grid of numbers, with the minimum of each group of four above it, level by level.
struct TagTree {
    /// Levels from the grid to the root: columns, and the nodes row by row.
    levels: Vec<(usize, Vec<Node>)>,
}

#[derive(Clone, Copy)]
struct Node {
    value: u32,
    /// Known lower limit of the value.
    low: u32,
    known: bool,
}

impl TagTree {
    fn new(band: &CodedBand, value: impl Fn(&Coded) -> u32) -> Self {
        let node = |value| Node { value, low: 0, known: false };
        let mut across = band.across.max(1);
        let mut nodes: Vec<Node> = band.blocks.iter().map(|block| node(value(block))).collect();
        let mut levels = Vec::new();
        while nodes.len() > 1 {
            let half = across.div_ceil(2);
            let mut above = vec![node(u32::MAX); half * (nodes.len() / across).div_ceil(2)];
            for (index, below) in nodes.iter().enumerate() {
                if let Some(above) = above.get_mut(index / across / 2 * half + index % across / 2) {
                    above.value = above.value.min(below.value);
                }
            }
            levels.push((across, std::mem::replace(&mut nodes, above)));
            across = half;
        }
        levels.push((across, nodes));
        Self { levels }
    }

    /// Codes whether the number at `index` is below `limit`, and if so, its value.
    fn code(&mut self, bits: &mut HeaderBits, index: usize, limit: u32) {
        let across = self.levels.first().map_or(1, |(across, _)| *across);
        let (x, y) = (index % across, index / across);
        let mut low = 0;
        for (depth, (across, nodes)) in self.levels.iter_mut().enumerate().rev() {
            let Some(node) = nodes.get_mut((y >> depth) * *across + (x >> depth)) else { continue };
            low = low.max(node.low);
            while low < limit {
                if low >= node.value {
                    if !node.known {
                        bits.put(1, 1);
                        node.known = true;
                    }
                    break;
                }
                bits.put(0, 1);
                low += 1;
            }
            node.low = low;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn band(across: usize, planes: &[u32]) -> CodedBand {
        let blocks = planes.iter().map(|&planes| Coded { planes, bytes: Vec::new() }).collect();
        CodedBand { across, planes: 16, blocks }
    }

    /// The example of B.10.2: six by three numbers, of which the first three are coded as 01111, 001 and 101.
    #[test]
    fn codes_the_tree_of_the_standard() {
        let numbers = [1, 3, 2, 3, 2, 3, 2, 2, 1, 4, 3, 2, 2, 2, 2, 2, 1, 2];
        let mut tree = TagTree::new(&band(6, &numbers), |block| block.planes);
        let mut bits = HeaderBits::default();
        (0..3).for_each(|index| tree.code(&mut bits, index, u32::MAX));
        assert_eq!(bits.finish(), [0b0111_1001, 0b1010_0000]);
    }

    #[test]
    fn seven_bits_follow_ones() {
        let mut bits = HeaderBits::default();
        bits.put(0x1FF, 9);
        assert_eq!(bits.finish(), [0xFF, 0x40]);
        let mut bits = HeaderBits::default();
        bits.put(0xFF, 8);
        assert_eq!(bits.finish(), [0xFF, 0]);
    }

    #[test]
    fn numbers_of_passes() {
        for (passes, expected) in [(1, vec![0]), (5, vec![0b1110_0000]), (6, vec![0b1111_0000, 0])] {
            let mut bits = HeaderBits::default();
            put_passes(&mut bits, passes);
            assert_eq!(bits.finish(), expected);
        }
    }
}
