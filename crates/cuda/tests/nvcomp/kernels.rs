//! The passes around nvCOMP on the emulated device, each buffer by itself: what they hand over is aligned and right, and
//! they call nothing right that libdeflate or libzstd does not give the same bytes for.

use crate::chunks::{chunk, frame_with_checksum};
use crate::decoding::{KINDS, Random};
use crate::on_any::on_a_device;
use libdeflater::{CompressionLvl, Compressor, Decompressor};
use strile_emulate::{Emulator, Poisoned};

#[derive(Clone, Copy)]
#[repr(C)]
struct Args {
    encoded: u64,
    decoded: u64,
    scratch: u64,
    blocks: u64,
    statuses: u64,
    counter: u64,
    count: u32,
    reserved: u32,
    lists: [u64; 6],
}

const PENDING: u32 = u32::MAX;

/// The verdict on one stream that shall become `len` bytes, and its bytes. `say` is what nvCOMP reports of a chunk that
/// became so many bytes: status and number.
fn decode(codec: i32, src: &[u8], len: usize, seed: u64, say: fn(usize) -> (u32, usize)) -> (u32, Vec<u8>) {
    let (module, entries) = [
        ("nvcomp_deflate", ["nvcomp_deflate_prepare", "nvcomp_deflate_verify"]),
        ("nvcomp_zstd", ["nvcomp_zstd_prepare", "nvcomp_zstd_verify"]),
    ][usize::from(codec != 0)];
    // As the engine lays a block out: anywhere, with 16 bytes before and 64 behind that may be read.
    let at = 16 + seed as usize % 16;
    let mut encoded = Poisoned::new(at + src.len() + 64, seed);
    encoded[at..at + src.len()].copy_from_slice(src);
    let mut decoded = Poisoned::new(len.next_multiple_of(16), seed + 1);
    let mut scratch = Poisoned::new((src.len() + 16).next_multiple_of(256), seed + 2);
    let words = [at as u64, 0, 0].map(u64::to_le_bytes).concat();
    let more = [src.len() as u32, len as u32, len as u32, 0, 1, 1, 0, 0].map(u32::to_le_bytes).concat();
    let mut blocks = Poisoned::from_bytes(&[words, more].concat(), seed);
    let mut statuses = Poisoned::from_bytes(&PENDING.to_le_bytes(), seed);
    let mut counter = Poisoned::from_bytes(&[0; 4], seed);
    let mut lists: Vec<Poisoned> =
        (0..6).map(|i| Poisoned::new(if i == 5 { 4 } else { 8 }, seed + i)).collect();
    let args = Args {
        encoded: encoded.address(),
        decoded: decoded.address(),
        scratch: scratch.address(),
        blocks: blocks.address(),
        statuses: statuses.address(),
        counter: counter.address(),
        count: 1,
        reserved: 0,
        lists: [0, 1, 2, 3, 4, 5].map(|i: usize| lists[i].address()),
    };
    let kernels = Emulator::module(module).unwrap();
    let launch = |entry: &str| {
        kernels.launch(entry, (1, 1), kernels.threads(entry).unwrap(), &args, seed).unwrap();
    };
    launch(entries[0]);
    let word = |list: &Poisoned| u64::from_le_bytes(list[..8].try_into().unwrap());
    let (source, length) = (word(&lists[0]), word(&lists[1]) as usize);
    assert_eq!((source, word(&lists[2]), word(&lists[4])), (args.scratch, len as u64, args.decoded));
    assert!(length <= scratch.len() && lists[5][..] == PENDING.to_le_bytes() && word(&lists[3]) == 0);
    let (status, written) = match chunk(codec, &scratch[..length], &mut decoded[..len]) {
        Some(written) => say(written),
        None => (12, 0),
    };
    lists[3].copy_from_slice(&(written as u64).to_le_bytes());
    lists[5].copy_from_slice(&status.to_le_bytes());
    launch(entries[1]);
    for buffer in [&mut encoded, &mut decoded, &mut scratch, &mut blocks, &mut statuses, &mut counter] {
        buffer.check().unwrap();
    }
    lists.iter_mut().for_each(|list| list.check().unwrap());
    let verdict = u32::from_le_bytes(statuses[..4].try_into().unwrap());
    (verdict, decoded[..len].to_vec())
}

/// Whether there is nothing to do, which it says.
fn left_out() -> bool {
    if on_a_device() {
        eprintln!("skipped: a device is required, and this runs in the emulator");
    }
    on_a_device()
}

fn rightly(written: usize) -> (u32, usize) {
    (0, written)
}

/// The whole stream by its own library.
fn oracle(codec: i32, src: &[u8], len: usize) -> Option<Vec<u8>> {
    let mut dst = vec![0; len];
    let written = match codec {
        0 => Decompressor::new().zlib_decompress(src, &mut dst).ok(),
        _ => zstd::bulk::decompress_to_buffer(src, &mut dst).ok(),
    };
    (written == Some(len)).then_some(dst)
}

fn streams(codec: i32, data: &[u8]) -> Vec<Vec<u8>> {
    if codec == 1 {
        return vec![zstd::bulk::compress(data, 3).unwrap(), frame_with_checksum(data)];
    }
    let mut compressor = Compressor::new(CompressionLvl::new(6).unwrap());
    let mut out = vec![0; compressor.zlib_compress_bound(data.len())];
    let len = compressor.zlib_compress(data, &mut out).unwrap();
    out.truncate(len);
    vec![out]
}

#[test]
fn right_streams_of_every_size_are_right() {
    if left_out() {
        return;
    }
    let mut random = Random::new(5);
    for codec in [0, 1] {
        for (i, len) in (1..40).chain([511, 512, 513, 4099, 70_001]).enumerate() {
            let data = random.raster(i % KINDS, len);
            for stream in streams(codec, &data) {
                let (verdict, found) = decode(codec, &stream, len, i as u64, rightly);
                assert_eq!(verdict, 0, "codec {codec}, {len} bytes");
                assert!(found == data, "codec {codec}, {len} bytes");
            }
        }
    }
}

#[test]
fn what_nvcomp_reports_is_believed_only_where_all_of_it_fits() {
    if left_out() {
        return;
    }
    let data = Random::new(6).raster(3, 900);
    for codec in [0, 1] {
        let stream = &streams(codec, &data)[0];
        for say in
            [|written| (12, written), |written| (PENDING, written), |_| (0, 0), |written| (0, written - 1)]
        {
            assert_ne!(decode(codec, stream, 900, 1, say).0, 0);
        }
        assert_ne!(decode(codec, stream, 901, 1, rightly).0, 0, "one byte more is wanted");
        assert_ne!(decode(codec, stream, 899, 1, rightly).0, 0, "one byte less is wanted");
    }
}

#[test]
fn mutants_are_right_only_where_their_library_says_so() {
    if left_out() {
        return;
    }
    let mut random = Random::new(7);
    for codec in [0, 1] {
        let (mut right, mut all) = (0, 0);
        for round in 0..150 {
            let len = 1 + random.below(700);
            let data = random.raster(round % KINDS, len);
            let made = streams(codec, &data);
            let good = &made[round % made.len()];
            let src = if round % 10 == 0 { good.clone() } else { random.mutant(good) };
            let (verdict, found) = decode(codec, &src, len, round as u64, rightly);
            all += 1;
            if verdict == 0 {
                right += 1;
                assert_eq!(
                    oracle(codec, &src, len).as_deref(),
                    Some(&found[..]),
                    "codec {codec}, {src:02x?}"
                );
            }
        }
        assert!(right > 0 && right < all, "{right} of {all}");
    }
}
