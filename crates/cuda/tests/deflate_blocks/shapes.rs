//! The ways in which a Deflate stream is decoded on the device, each held to libdeflate.

use crate::decoding::{Decoder, Stream};
use libdeflater::{CompressionLvl, Compressor, Decompressor};

const fn decoder(passes: &'static [&'static str]) -> Decoder {
    Decoder { module: "deflate", passes, scratch: |_, _| 0 }
}

/// For many blocks, for few, and for fewer than fill a device.
pub const SHAPES: [Decoder; 3] = [decoder(&["deflate_decode"]), decoder(&["deflate_decode_wide"]), SPLIT];

pub const SPLIT: Decoder = Decoder {
    module: "deflate_split",
    passes: &[
        "deflate_find",
        "deflate_measure",
        "deflate_measure_wide",
        "deflate_chain",
        "deflate_segments",
        "deflate_segments_wide",
        "deflate_resolve",
        "deflate_resolve",
        "deflate_resolve",
        "deflate_resolve",
        "deflate_resolve",
        "deflate_resolve",
        "deflate_resolve",
        "deflate_resolve",
        "deflate_finish",
    ],
    scratch: |src_len, dst_len| {
        let chunk = (u64::from(src_len) / 256).next_power_of_two().clamp(256, 8192);
        let (src, dst) = (u64::from(src_len), u64::from(dst_len));
        64 + 32 * ((src + 15).div_ceil(chunk) + 1) + 16 * dst.div_ceil(8192) + 4 * dst.next_multiple_of(4)
    },
};

impl Decoder {
    /// CUDA blocks per stream for every pass, where so many share a stream that is split.
    pub fn times(&self, several: u32) -> Vec<u32> {
        let times = |entry: &&str| match *entry {
            "deflate_chain" | "deflate_finish" | "deflate_decode" | "deflate_decode_wide" => 1,
            _ => several,
        };
        self.passes.iter().map(times).collect()
    }

    /// Decodes with more or fewer CUDA blocks per stream by the seed.
    pub fn run(&self, streams: &[Stream], seed: u64) -> Vec<(u32, Vec<u8>)> {
        self.decode_by(streams, &self.times(1 + (seed % 4) as u32), seed)
    }
}

/// What became of the chunks of a split stream: those in which a header was found, and those whose segments the stream
/// consists of, the first one included; and the fault of the whole.
pub fn segments(scratch: &[u8], src_len: usize) -> (usize, usize, u32) {
    let chunk = (src_len / 256).next_power_of_two().clamp(256, 8192);
    let words = |at: usize| u32::from_le_bytes(*scratch[at..].first_chunk().unwrap());
    let all = (1..src_len / chunk + 1).map(|index| (words(64 + 32 * index + 8), words(64 + 32 * index + 24)));
    all.fold((0, 1, words(8)), |(found, live, fault), (begin, offset)| {
        (found + usize::from(begin != u32::MAX), live + usize::from(offset != u32::MAX), fault)
    })
}

pub fn pack(data: &[u8], level: i32) -> Vec<u8> {
    let mut compressor = Compressor::new(CompressionLvl::new(level).unwrap());
    let mut out = vec![0; compressor.zlib_compress_bound(data.len())];
    let len = compressor.zlib_compress(data, &mut out).unwrap();
    out.truncate(len);
    out
}

/// libdeflate's bytes, where it takes the stream for one of exactly so many.
pub fn unpack(src: &[u8], len: usize) -> Option<Vec<u8>> {
    let mut dst = vec![0; len];
    (Decompressor::new().zlib_decompress(src, &mut dst) == Ok(len)).then_some(dst)
}

pub fn stream(src: Vec<u8>, data: &[u8]) -> (Stream, Vec<u8>) {
    assert_eq!(unpack(&src, data.len()).as_deref(), Some(data), "the test's own stream");
    (Stream { src, dst_len: data.len() }, data.to_vec())
}

/// Every stream decodes, under every seed.
pub fn decodes(made: Vec<(Stream, Vec<u8>)>, seeds: impl IntoIterator<Item = u64>) {
    let (streams, expected): (Vec<_>, Vec<_>) = made.into_iter().unzip();
    for (seed, shape) in seeds.into_iter().flat_map(|seed| SHAPES.each_ref().map(|shape| (seed, shape))) {
        for (i, ((status, found), data)) in shape.run(&streams, seed).iter().zip(&expected).enumerate() {
            let what = format!("{:?}, stream {i} of {} bytes, seed {seed}", shape.passes, data.len());
            assert_eq!(*status, 0, "{what}");
            assert!(found == data, "{what}");
        }
    }
}

/// Nothing is called right that libdeflate does not give the same bytes for; how many were right.
pub fn agrees(streams: &[Stream], seed: u64) -> usize {
    let right = SHAPES.map(|shape| {
        let mut right = 0;
        for (i, ((status, found), stream)) in shape.run(streams, seed).iter().zip(streams).enumerate() {
            assert!(*status <= 7, "stream {i}, seed {seed}: status {status}");
            if *status == 0 {
                let expected = unpack(&stream.src, stream.dst_len);
                assert_eq!(expected.as_ref(), Some(found), "stream {i}, seed {seed}: {:02x?}", stream.src);
                right += 1;
            }
        }
        right
    });
    assert_eq!(right, [right[0]; 3], "as many by every shape, seed {seed}");
    right[0]
}
