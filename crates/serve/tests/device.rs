//! Servers that decode on a GPU send the tiles that the CPU would.
//!
//! The device is the stand-in, which runs the real kernels by emulation; with `STRILE_REQUIRE_GPU=1` it is the first GPU.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "tests"
)]

#[allow(dead_code, reason = "shared with other tests")]
#[path = "serve/client.rs"]
mod client;

use client::{Running, bytes, uint};
use std::path::PathBuf;
use strile::Processor;
use strile_serve::{Server, ServerOptions};
use testkit::{Codec, FileFrame, FileOrder, Grid, ImageSpec, geo_tags};

fn options(decode_on: Processor) -> ServerOptions {
    let mut options = ServerOptions::default();
    options.decode_on = decode_on;
    options
}

#[test]
fn tiles_that_a_gpu_decodes_are_those_of_the_cpu() {
    let standin = match std::env::var_os("STRILE_REQUIRE_GPU").is_none_or(|value| value != "1") {
        true => Some(strile_emulate::StandIn::load().unwrap()),
        false => None,
    };
    // Blocks that the other processor decoded are not for this one.
    strile::cache::set_limit(0);
    let folder = tempfile::tempdir().unwrap();
    let pixels = bytes([3, 300, 600], |band, y, x| (x * (band + 1) / 4 + y / 3) as u8);
    let tags = geo_tags(32633, (500_000.0, 5_500_000.0), 10.0, false);
    let spec = ImageSpec::new(uint(8)).grid(Grid::Tiles(128, 128)).codec(Codec::Deflate);
    let reduced = spec.clone().subfile_type(1);
    let spec = tags.into_iter().fold(spec, ImageSpec::tag);
    let frame =
        FileFrame { order: strile::tiff::ByteOrder::Little, big: false, file_order: FileOrder::CogWithGhost };
    let built = spec.build_with(&pixels, &[(reduced, pixels.halved())], frame);
    let path: PathBuf = folder.path().join("a.tif");
    std::fs::write(&path, built.bytes).unwrap();
    let tiles = [
        "tiles/Native/0/0/0.png",
        "tiles/Native/2/1/1.npy",
        "tiles/Native/1/0/0.npy?resampling=bilinear",
        "tiles/WebMercatorQuad/14/8874/5572.npy",
        "preview.npy?max_size=64",
    ];
    let parts = ["api/0/tile/0/1/0", "api/0/tile/1/0/0?bands=2", "api/0/value?x=17&y=200"];
    let all = |decode_on: Processor| -> Vec<Vec<u8>> {
        let served = Running::tiles(std::slice::from_ref(&path), options(decode_on));
        let viewed = Running::view(std::slice::from_ref(&path), options(decode_on));
        let answers =
            tiles.iter().map(|tile| served.get(tile)).chain(parts.iter().map(|part| viewed.get(part)));
        answers
            .map(|answer| {
                assert_eq!(answer.status, 200, "{}", answer.text());
                answer.body
            })
            .collect()
    };
    let expected = all(Processor::Cpu);
    if let Some(standin) = standin {
        assert!(!standin.calls().iter().any(|call| call.name.starts_with("cuLaunch")));
    }
    let found = all(Processor::Cuda(0));
    for (address, (found, expected)) in tiles.iter().chain(&parts).zip(found.iter().zip(&expected)) {
        assert_eq!(found, expected, "{address}");
    }
    if let Some(standin) = standin {
        let calls = standin.calls();
        let launches = calls.iter().filter(|call| call.name.starts_with("cuLaunch")).count();
        assert!(launches >= found.len(), "{launches} kernels for {} answers", found.len());
    }
    let refused = Server::tiles(&[path], options(Processor::Cuda(77))).err().unwrap().to_string();
    assert!(refused.contains("cannot decode on cuda:77"), "{refused}");
}
