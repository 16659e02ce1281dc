//! Tiny compressed streams that decode to much data, written by hand: no encoder has to process the pixels.

use std::io::Write;

/// Bits in the order of Deflate and VP8L: from the lowest of each byte.
#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    used: u32,
}

impl Bits {
    fn put(&mut self, value: u32, count: u32) {
        for i in 0..count {
            if self.used.is_multiple_of(8) {
                self.bytes.push(0);
            }
            let bit = ((value >> i) & 1) as u8;
            *self.bytes.last_mut().expect("just pushed") |= bit << (self.used % 8);
            self.used += 1;
        }
    }

    /// Writes a Huffman code, from its highest bit on.
    fn code(&mut self, code: u32, count: u32) {
        (0..count).rev().for_each(|i| self.put(code >> i, 1));
    }
}

/// Returns a zlib stream of `len` zero bytes, at least 1: one byte per 1,032 of them, the maximum of Deflate.
pub fn zlib_zeros(len: u64) -> Vec<u8> {
    let mut bits = Bits { bytes: vec![0x78, 0x01], used: 16 };
    // One dynamic block: 286 codes of literals and lengths, 1 of distances, 18 of code lengths.
    for (value, count) in [(1, 1), (2, 2), (286 - 257, 5), (0, 5), (18 - 4, 4)] {
        bits.put(value, count);
    }
    // Code lengths 18 (a run of zeros), 2 and 1, in the order of the specification.
    for symbol in [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1] {
        bits.put([(18, 1), (2, 2), (1, 2)].iter().find(|(s, _)| *s == symbol).map_or(0, |(_, n)| *n), 3);
    }
    let (run, one, two) = ((0, 1), (0b10, 2), (0b11, 2));
    let zeros = |bits: &mut Bits, count: u32| {
        bits.code(run.0, run.1);
        bits.put(count - 11, 7);
    };
    // Literal 0 has two bits, 255 others none, the end two, 28 lengths none, length 258 one, distance 1 one.
    bits.code(two.0, two.1);
    zeros(&mut bits, 138);
    zeros(&mut bits, 117);
    bits.code(two.0, two.1);
    zeros(&mut bits, 28);
    bits.code(one.0, one.1);
    bits.code(one.0, one.1);
    // The first byte and the remainder as literals, the rest as copies of 258: two zero bits each.
    let copies = (len - 1) / 258;
    for _ in 0..len - copies * 258 {
        bits.code(0b10, 2);
    }
    let whole = copies / 4;
    for _ in 0..copies % 4 {
        bits.put(0, 2);
    }
    // Zero bits look the same at any byte alignment.
    bits.bytes.resize(bits.bytes.len() + whole as usize, 0);
    bits.used += 8 * whole as u32;
    bits.code(0b11, 2);
    let sum = 1 | ((len % 65_521) as u32) << 16;
    bits.bytes.extend(sum.to_be_bytes());
    bits.bytes
}

/// Returns a zstd frame of `len` zero bytes in runs of 128 KiB, four bytes each.
pub fn zstd_zeros(len: u64) -> Vec<u8> {
    const RUN: u64 = 128 << 10;
    // Magic number, a size of eight bytes, a window of 128 KiB.
    let mut frame = vec![0x28, 0xB5, 0x2F, 0xFD, 0xC0, 7 << 3];
    frame.extend(len.to_le_bytes());
    let runs = len.div_ceil(RUN).max(1);
    for run in 0..runs {
        let size = RUN.min(len - run * RUN) as u32;
        let header = size << 3 | 1 << 1 | u32::from(run + 1 == runs);
        frame.extend(&header.to_le_bytes()[..3]);
        frame.push(0);
    }
    frame
}

/// Returns a grey 8-bit PNG of zeros.
pub fn png_zeros(width: u32, height: u32) -> Vec<u8> {
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    let mut chunk = |name: &[u8], data: &[u8]| {
        let named = [name, data].concat();
        png.extend((data.len() as u32).to_be_bytes());
        png.extend(&named);
        png.extend(libdeflater::crc32(&named).to_be_bytes());
    };
    let size = [width.to_be_bytes(), height.to_be_bytes()].concat();
    chunk(b"IHDR", &[&size[..], &[8, 0, 0, 0, 0]].concat());
    chunk(b"IDAT", &zlib_zeros(u64::from(height) * (u64::from(width) + 1)));
    chunk(b"IEND", &[]);
    png
}

/// Returns a lossless WebP of one colour, at most 16,384 pixels per side: pixels take no bits.
pub fn webp_zeros(width: u32, height: u32) -> Vec<u8> {
    let mut bits = Bits { bytes: vec![0x2F], used: 8 };
    // Size, no alpha, version 0; no transform, no cache, no groups; five codes of one symbol.
    for (value, count) in [(width - 1, 14), (height - 1, 14), (0, 1), (0, 3), (0, 3)] {
        bits.put(value, count);
    }
    (0..5).for_each(|_| bits.put(0b0001, 4));
    bits.bytes.resize(bits.bytes.len().next_multiple_of(2), 0);
    let data = bits.bytes;
    let mut webp = b"RIFF".to_vec();
    webp.extend((data.len() as u32 + 12).to_le_bytes());
    webp.extend(b"WEBPVP8L");
    webp.extend((data.len() as u32).to_le_bytes());
    webp.extend(data);
    webp
}

/// Returns an XZ stream of `len` zero bytes whose header requests a dictionary of 4 GiB.
pub fn xz_large_dictionary(len: usize) -> Vec<u8> {
    let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 0);
    let zeros = vec![0; 1 << 16];
    let mut left = len;
    while left > 0 {
        let now = left.min(zeros.len());
        encoder.write_all(&zeros[..now]).expect("to memory");
        left -= now;
    }
    let mut stream = encoder.finish().expect("to memory");
    // The header of the block: size, flags, filter 0x21, one byte of properties (the dictionary size); a checksum.
    let header = 12..12 + (usize::from(stream[12]) + 1) * 4;
    let at = header.start + 4;
    assert_eq!(stream[at - 2..at], [0x21, 1], "LZMA2 is the only filter");
    stream[at] = 40;
    let sum = header.end - 4;
    let crc = libdeflater::crc32(&stream[header.start..sum]);
    stream[sum..header.end].copy_from_slice(&crc.to_le_bytes());
    stream
}

/// Returns a LERC blob of `width` × `height` float samples of one value.
pub fn lerc_constant(width: i32, height: i32) -> Vec<u8> {
    let mut blob = b"Lerc2 ".to_vec();
    blob.extend(4_i32.to_le_bytes());
    blob.extend([0; 4]);
    // Rows, columns, values per pixel, valid pixels, size of small blocks, bytes, type 6 (float).
    let valid = height.wrapping_mul(width);
    let len = 66 + 4;
    for number in [height, width, 1, valid, 8, len, 6] {
        blob.extend(number.to_le_bytes());
    }
    // Largest error, smallest and largest value; no mask.
    for number in [0.0_f64, 7.0, 7.0] {
        blob.extend(number.to_le_bytes());
    }
    blob.extend(0_i32.to_le_bytes());
    let sum = fletcher(&blob[14..]);
    blob[10..14].copy_from_slice(&sum.to_le_bytes());
    blob
}

/// Returns LERC's checksum: Fletcher-32 over big-endian words.
fn fletcher(bytes: &[u8]) -> u32 {
    let (mut a, mut b) = (0xFFFF_u32, 0xFFFF_u32);
    for pair in bytes.chunks(2) {
        a += u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |byte| u32::from(*byte));
        b += a;
        (a, b) = ((a & 0xFFFF) + (a >> 16), (b & 0xFFFF) + (b >> 16));
    }
    ((b & 0xFFFF) + (b >> 16)) << 16 | ((a & 0xFFFF) + (a >> 16))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    /// Other decoders agree about the contents of the streams.
    #[test]
    fn bombs_decode_to_zeros() {
        for len in [1, 2, 258, 259, 260, 100_000, 1_000_001] {
            let mut out = vec![1; len];
            let read = libdeflater::Decompressor::new().zlib_decompress(&zlib_zeros(len as u64), &mut out);
            assert_eq!((read, out.iter().all(|&byte| byte == 0)), (Ok(len), true), "{len}");
        }
        assert!(zlib_zeros(1 << 30).len() < (1 << 20) + (1 << 14));
        for len in [1, 131_072, 131_073, 1 << 20] {
            assert_eq!(zstd::bulk::decompress(&zstd_zeros(len as u64), len).unwrap(), vec![0; len]);
        }
        let mut reader = png::Decoder::new(std::io::Cursor::new(png_zeros(300, 200))).read_info().unwrap();
        let mut out = vec![1; 300 * 200];
        reader.next_frame(&mut out).unwrap();
        assert_eq!(out, vec![0; 300 * 200]);
        let mut webp = image_webp::WebPDecoder::new(std::io::Cursor::new(webp_zeros(300, 200))).unwrap();
        assert_eq!(webp.dimensions(), (300, 200));
        webp.read_image(&mut vec![1; 300 * 200 * 3]).unwrap();
        // The dictionary exceeds the limit of the decoder.
        let stream = xz_large_dictionary(1000);
        let limited = liblzma::stream::Stream::new_stream_decoder(64 << 20, 0).unwrap();
        let mut out = Vec::new();
        assert!(liblzma::read::XzDecoder::new_stream(&stream[..], limited).read_to_end(&mut out).is_err());
    }
}
