//! LERC on the emulated device: blobs of Esri's library and of our own encoder give what the CPU engine gives, and
//! mutants of them too, or go to the host.
#![allow(
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test; small numbers made here"
)]

mod decoding;
mod lerc_blobs;

use decoding::{Decoder, Random};
use lerc_blobs::{Blob, blobs_of_esri, blobs_of_ours, repaired};
use strile_emulate::Emulator;
use strile_tiff::LercWrapper;

/// Scratch as in `codec/lerc.rs`.
const LERC: Decoder = Decoder {
    module: "lerc",
    passes: &["lerc_decode"],
    scratch: |_, dst_len| u64::from(dst_len).div_ceil(8),
};

const LERC_ZSTD: Decoder = Decoder {
    module: "lerc_zstd",
    passes: &["lerc_zstd_scan", "lerc_zstd_entropy", "lerc_zstd_execute", "lerc_zstd_decode"],
    scratch: |src_len, dst_len| {
        let (src, dst) = (u64::from(src_len), longest(dst_len));
        let zstd = 64 + (dst / 2048 + 32) * (96 + 16) + (dst * 9).div_ceil(4).min(dst + src * 16) + 16;
        256 + (dst + 64).next_multiple_of(256) + zstd
    },
};

const LERC_DEFLATE: Decoder = Decoder {
    module: "lerc_deflate",
    passes: &["lerc_deflate_unwrap", "lerc_deflate_decode"],
    scratch: |_, dst_len| {
        256 + (longest(dst_len) + 64).next_multiple_of(256) + u64::from(dst_len).div_ceil(8)
    },
};

/// With more warps for each stream.
const LERC_DEFLATE_WIDE: Decoder =
    Decoder { passes: &["lerc_deflate_unwrap_wide", "lerc_deflate_decode"], ..LERC_DEFLATE };

fn longest(dst_len: u32) -> u64 {
    u64::from(dst_len) + u64::from(dst_len / 8) + 1024
}

/// Every status and what was written, of streams with this around their blobs.
fn decode_in(around: LercWrapper, blobs: &[Blob], seed: u64) -> Vec<(u32, Vec<u8>)> {
    let (streams, forms) = lerc_blobs::streams(blobs);
    match around {
        LercWrapper::Zstd => LERC_ZSTD.decode_forms(&streams, &forms, &[1, 1 + (seed % 3) as u32], seed),
        LercWrapper::Deflate if seed % 2 == 1 => LERC_DEFLATE_WIDE.decode_forms(&streams, &forms, &[], seed),
        LercWrapper::Deflate => LERC_DEFLATE.decode_forms(&streams, &forms, &[], seed),
        LercWrapper::None => LERC.decode_forms(&streams, &forms, &[], seed),
    }
}

fn decode(blobs: &[Blob], seed: u64) -> Vec<(u32, Vec<u8>)> {
    decode_in(LercWrapper::None, blobs, seed)
}

/// Status 0 only with the CPU engine's bytes; how many there are.
fn must_agree_in(around: LercWrapper, blobs: &[Blob], seed: u64) -> usize {
    let mut good = 0;
    for (i, (blob, (status, bytes))) in blobs.iter().zip(decode_in(around, blobs, seed)).enumerate() {
        assert!(status <= 7, "blob {i}, seed {seed}: status {status}");
        if status == 0 {
            assert_eq!(blob.on_host(around).as_ref(), Ok(&bytes), "blob {i}, seed {seed}: {blob:?}");
            good += 1;
        }
    }
    good
}

fn must_agree(blobs: &[Blob], seed: u64) -> usize {
    must_agree_in(LercWrapper::None, blobs, seed)
}

/// The same blobs in streams of another codec.
fn wrapped(around: LercWrapper, blobs: &[Blob]) -> Vec<Blob> {
    let wrap = |(i, blob): (usize, &Blob)| {
        let src = match around {
            LercWrapper::None => blob.src.clone(),
            LercWrapper::Deflate => zlib(&blob.src),
            LercWrapper::Zstd => zstd::bulk::compress(&blob.src, [1, 3, 9, 19][i % 4]).unwrap(),
        };
        Blob { src, ..blob.clone() }
    };
    blobs.iter().enumerate().map(wrap).collect()
}

fn zlib(blob: &[u8]) -> Vec<u8> {
    let mut compressor = libdeflater::Compressor::new(libdeflater::CompressionLvl::default());
    let mut stream = vec![0; compressor.zlib_compress_bound(blob.len())];
    let len = compressor.zlib_compress(blob, &mut stream).unwrap();
    stream.truncate(len);
    stream
}

const AROUND: [LercWrapper; 2] = [LercWrapper::Deflate, LercWrapper::Zstd];

#[test]
fn blobs_of_esri_give_the_same_pixels() {
    let blobs = blobs_of_esri();
    for seed in Emulator::seeds() {
        let decoded = decode(&blobs, seed);
        let mut taken = 0;
        for (i, (blob, (status, bytes))) in blobs.iter().zip(decoded).enumerate() {
            assert!(status == 0 || !blob.takes, "blob {i}, seed {seed}: {status}, {blob:?}");
            if status == 0 {
                assert_eq!(libdeflater::crc32(&bytes), blob.crc.unwrap(), "blob {i}, seed {seed}, {blob:?}");
                assert_eq!(blob.on_host(LercWrapper::None), Ok(bytes));
                taken += 1;
            }
        }
        assert!(taken > 70, "{taken} of {}", blobs.len());
    }
}

#[test]
fn blobs_of_our_encoder_give_the_same_pixels() {
    let blobs = blobs_of_ours();
    for seed in Emulator::seeds() {
        for (i, (blob, (status, bytes))) in blobs.iter().zip(decode(&blobs, seed)).enumerate() {
            assert_eq!(status, 0, "blob {i}, seed {seed}, {blob:?}");
            assert_eq!(blob.on_host(LercWrapper::None), Ok(bytes), "blob {i}, seed {seed}");
        }
    }
}

#[test]
fn what_follows_a_blob_is_left() {
    let mut blobs: Vec<Blob> = blobs_of_esri().into_iter().filter(|blob| blob.takes).take(9).collect();
    blobs.iter_mut().for_each(|blob| blob.src.extend([1, 2, 3]));
    assert_eq!(must_agree(&blobs, 3), blobs.len());
}

#[test]
fn blobs_of_another_shape_are_left_to_the_host() {
    let mut wrong = Vec::new();
    for blob in blobs_of_esri().into_iter().filter(|blob| blob.takes).step_by(6) {
        wrong.push(Blob { width: blob.height, height: blob.width, ..blob.clone() });
        wrong.push(Blob { kind: (blob.kind + 1) % 8, ..blob.clone() });
        wrong.push(Blob { samples: blob.samples + 1, ..blob.clone() });
        // As many bytes, cut another way.
        wrong.push(Blob {
            width: blob.width * blob.samples,
            samples: 1,
            kind: blob.kind ^ 1,
            ..blob.clone()
        });
        wrong.push(Blob { height: blob.height - 1, ..blob });
    }
    wrong.retain(|blob| blob.width != blob.height);
    for seed in 0..4 {
        let statuses = decode(&wrong, seed);
        assert!(statuses.iter().all(|(status, _)| *status != 0), "{statuses:?}");
    }
}

#[test]
fn cut_anywhere_is_left_to_the_host() {
    let all = blobs_of_esri();
    let whole = all.iter().filter(|blob| blob.takes && blob.src.len() < 700).step_by(5);
    let cut: Vec<Blob> = whole
        .flat_map(|blob| {
            (1..blob.src.len()).step_by(7).map(|len| Blob { src: blob.src[..len].to_vec(), ..blob.clone() })
        })
        .collect();
    assert!(cut.len() > 100);
    for (status, _) in decode(&cut, 1) {
        assert_ne!(status, 0);
    }
}

/// Mutants with a right checksum reach the units; a changed size states a shorter blob.
#[test]
fn mutants_agree_with_the_cpu_engine() {
    let mut blobs = blobs_of_esri();
    blobs.extend(blobs_of_ours());
    let (mut good, mut all) = (0, 0);
    for seed in Emulator::seeds() {
        let mut random = Random::new(seed);
        let mutants: Vec<Blob> = (0..100)
            .map(|_| {
                let blob = &blobs[random.below(blobs.len())];
                let mut src = random.mutant(&blob.src);
                if random.below(4) != 0 {
                    // Most damage behind the header.
                    let keep = 70.min(src.len()).min(blob.src.len());
                    src[..keep].copy_from_slice(&blob.src[..keep]);
                }
                if random.below(8) != 0 {
                    src = repaired(src);
                }
                Blob { src, ..blob.clone() }
            })
            .collect();
        all += mutants.len();
        good += must_agree(&mutants, seed);
    }
    assert!(good > all / 20, "{good} of {all} mutants were accepted: too few to tell");
}

/// A blob whose checksum alone is wrong.
#[test]
fn the_checksum_counts() {
    let blobs: Vec<Blob> = blobs_of_esri().into_iter().filter(|blob| blob.takes).collect();
    let wrong = blobs.iter().cloned().map(|mut blob| {
        blob.src[10] ^= 4;
        blob
    });
    let statuses: Vec<u32> =
        decode(&wrong.collect::<Vec<_>>(), 2).iter().map(|(status, _)| *status).collect();
    assert!(statuses.iter().all(|&status| status == 4), "{statuses:?}");
}

#[test]
fn wrapped_blobs_give_the_same_pixels() {
    let mut blobs = blobs_of_esri();
    blobs.extend(blobs_of_ours());
    for around in AROUND {
        let streams = wrapped(around, &blobs);
        for seed in 0..4 {
            for (i, (blob, (status, bytes))) in
                streams.iter().zip(decode_in(around, &streams, seed)).enumerate()
            {
                assert!(status == 0 || !blob.takes, "blob {i}, seed {seed}: {status}, {blob:?}");
                if status == 0 {
                    assert_eq!(blob.on_host(around), Ok(bytes), "blob {i}, seed {seed}, {blob:?}");
                }
            }
        }
    }
}

/// Damage to the streams around blobs, and to the blobs inside of whole streams.
#[test]
fn wrapped_mutants_agree_with_the_cpu_engine() {
    let blobs = blobs_of_ours();
    for around in AROUND {
        let streams = wrapped(around, &blobs);
        let mut good = 0;
        for seed in 0..8 {
            let mut random = Random::new(seed + 100);
            let mut mutants: Vec<Blob> = (0..40)
                .map(|_| {
                    let blob = &streams[random.below(streams.len())];
                    Blob { src: random.mutant(&blob.src), ..blob.clone() }
                })
                .collect();
            let inner: Vec<Blob> = (0..40)
                .map(|_| {
                    let blob = &blobs[random.below(blobs.len())];
                    Blob { src: repaired(random.mutant(&blob.src)), ..blob.clone() }
                })
                .collect();
            mutants.extend(wrapped(around, &inner));
            good += must_agree_in(around, &mutants, seed);
        }
        assert!(good > 30, "{good} mutants were accepted: too few to tell");
    }
}

/// Frames that do not say how long they are, streams that hold more than a blob may have, and several of them.
#[test]
fn odd_streams_are_left_to_the_host() {
    let blobs: Vec<Blob> = blobs_of_ours().into_iter().filter(|blob| blob.takes).take(6).collect();
    let mut odd = Vec::new();
    for blob in &blobs {
        let mut compressor = zstd::bulk::Compressor::new(3).unwrap();
        compressor.set_parameter(zstd::zstd_safe::CParameter::ContentSizeFlag(false)).unwrap();
        odd.push(Blob { src: compressor.compress(&blob.src).unwrap(), ..blob.clone() });
        let halves = blob.src.split_at(blob.src.len() / 2);
        let frames = [halves.0, halves.1].map(|half| zstd::bulk::compress(half, 3).unwrap());
        odd.push(Blob { src: frames.concat(), ..blob.clone() });
        let padded = [blob.src.clone(), vec![0; 2 * blob.decoded_len() + 2048]].concat();
        odd.push(Blob { src: zstd::bulk::compress(&padded, 3).unwrap(), ..blob.clone() });
        let long = Blob { src: zlib(&padded), ..blob.clone() };
        assert!(long.on_host(LercWrapper::Deflate).is_ok());
        assert_ne!(decode_in(LercWrapper::Deflate, &[long], 1)[0].0, 0);
    }
    // The CPU engine takes them all.
    assert!(odd.iter().all(|blob| blob.on_host(LercWrapper::Zstd).is_ok()));
    assert!(decode_in(LercWrapper::Zstd, &odd, 1).iter().all(|(status, _)| *status != 0));
}
