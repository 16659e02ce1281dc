//! Byte-oriented codecs.

/// Encodes PackBits; runs never cross rows, as TIFF requires.
pub(super) fn packbits(packed: &[u8], rows: usize) -> Vec<u8> {
    let mut out = Vec::new();
    for row in packed.chunks((packed.len() / rows).max(1)) {
        let mut at = 0;
        while at < row.len() {
            let run = row[at..].iter().take(128).take_while(|&&b| b == row[at]).count();
            if run > 1 {
                out.extend([(1 - run as i32) as u8, row[at]]);
                at += run;
                continue;
            }
            let mut end = at + 1;
            while end < row.len() && end - at < 128 && (end + 1 == row.len() || row[end] != row[end + 1]) {
                end += 1;
            }
            out.push((end - at - 1) as u8);
            out.extend(&row[at..end]);
            at = end;
        }
        // The no-operation code, which decoders must skip.
        out.push(0x80);
    }
    out
}

pub(super) fn lzw(packed: &[u8]) -> Vec<u8> {
    weezl::encode::Encoder::with_tiff_size_switch(weezl::BitOrder::Msb, 8).encode(packed).expect("memory")
}

pub(super) fn old_lzw(packed: &[u8]) -> Vec<u8> {
    weezl::encode::Encoder::new(weezl::BitOrder::Lsb, 8).encode(packed).expect("memory")
}

pub(super) fn zlib(packed: &[u8]) -> Vec<u8> {
    let mut compressor = libdeflater::Compressor::new(libdeflater::CompressionLvl::default());
    let mut out = vec![0; compressor.zlib_compress_bound(packed.len())];
    let len = compressor.zlib_compress(packed, &mut out).expect("the bound suffices");
    out.truncate(len);
    out
}

pub(super) fn zstd(packed: &[u8]) -> Vec<u8> {
    zstd::bulk::compress(packed, 3).expect("memory")
}

/// Encodes a skippable frame of three bytes, then two frames.
pub(super) fn zstd_frames(packed: &[u8]) -> Vec<u8> {
    let mut out = vec![0x50, 0x2A, 0x4D, 0x18, 3, 0, 0, 0, 1, 2, 3];
    let (first, second) = packed.split_at(packed.len() / 2);
    out.extend(zstd(first));
    out.extend(zstd(second));
    out
}

pub(super) fn lz4_frame(packed: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
    encoder.write_all(packed).expect("memory");
    encoder.finish().expect("memory")
}

pub(super) fn xz(packed: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 1);
    encoder.write_all(packed).expect("memory");
    encoder.finish().expect("memory")
}

/// Encodes every row as a literal row; span rows would be allowed too, but are rare in real files.
pub(super) fn next(packed: &[u8], rows: usize) -> Vec<u8> {
    packed
        .chunks((packed.len() / rows).max(1))
        .flat_map(|row| std::iter::once(0).chain(row.iter().copied()))
        .collect()
}

/// Encodes each 4-bit pixel as a raw value; without deltas and runs.
pub(super) fn thunderscan(samples: &[u8]) -> Vec<u8> {
    samples.iter().map(|pixel| 0xC0 | (pixel & 0x0F)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packbits_runs_and_literals() {
        assert_eq!(packbits(&[5, 5, 5, 1, 2, 2], 1), [254, 5, 0, 1, 255, 2, 0x80]);
    }

    #[test]
    fn old_lzw_begins_as_readers_recognise_it() {
        let out = old_lzw(&[1, 2, 3]);
        assert_eq!((out[0], out[1] & 1), (0, 1));
    }
}
