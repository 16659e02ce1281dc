//! The builder's files through another reader, the `tiff` crate.
#![allow(
    clippy::panic,
    clippy::cast_possible_truncation,
    reason = "dev-only: a wrong fixture should stop the test"
)]

use std::io::Cursor;
use testkit::{Pixels, fixtures};
use tiff::decoder::{Decoder, DecodingResult};

/// Interleaved samples as the crate gives them, from band-first ones.
fn interleaved(pixels: &Pixels) -> Vec<u8> {
    let mut out = Vec::new();
    for y in 0..pixels.height {
        for x in 0..pixels.width {
            for band in 0..pixels.bands {
                out.extend(pixels.sample(band, y, x));
            }
        }
    }
    out
}

fn native_bytes(result: DecodingResult) -> Vec<u8> {
    match result {
        DecodingResult::U8(v) => v,
        DecodingResult::U16(v) => v.iter().flat_map(|x| x.to_ne_bytes()).collect(),
        other => panic!("another type than the fixtures have: {other:?}"),
    }
}

#[test]
fn chunky_files_read_the_same() {
    let codecs = ["none_", "packbits_", "lzw_", "deflate_"];
    let mut read = 0;
    for fixture in fixtures() {
        let name = &fixture.name;
        let is_common = codecs.iter().any(|codec| name.starts_with(codec)) && !name.contains("fill2");
        if !is_common || name.contains("planar") || name.contains("f32") {
            continue;
        }
        let mut decoder =
            Decoder::new(Cursor::new(fixture.bytes())).unwrap_or_else(|e| panic!("{name}: {e}"));
        let dimensions = decoder.dimensions().unwrap();
        assert_eq!(dimensions, (fixture.expected.width as u32, fixture.expected.height as u32), "{name}");
        let found = native_bytes(decoder.read_image().unwrap_or_else(|e| panic!("{name}: {e}")));
        assert!(found == interleaved(&fixture.expected), "{name}: pixels differ");
        read += 1;
    }
    assert!(read >= 24, "{read} files");
}
