//! nvJPEG2000 as an encoder: what it is given, that it is that or an error, and that pictures do not wait for each other.

use crate::{count, no_misuse, standin};
use std::ffi::OsStr;
use std::sync::Arc;
use strile_cpu::CpuEngine;
use strile_cuda::vendor::NVJPEG2000;
use strile_cuda::vendor::nvjpeg2000::version_of;
use strile_cuda::{CudaEngine, CudaOptions};
use strile_emulate::nvjpeg2000;
use strile_engine::{
    BlockAddress, BlockLayout, Context, EncodeJob, EncodeLayout, EncodeParams, EncodeTask, EncodedBlocks,
    Encoder, Engine, EngineError, Fill, OutputSpec, SharedPixels,
};
use strile_tiff::{Compression as C, DataType, Photometric};

const TILE: u32 = 16;
const BY_LIBRARY: Encoder = Encoder::Library { name: NVJPEG2000, effort: 0 };

fn engine() -> CudaEngine {
    nvjpeg2000((0, 11), true).unwrap();
    CudaEngine::open(0, Arc::new(CpuEngine::new()), CudaOptions::default()).unwrap()
}

fn layout(data_type: DataType, samples: u16, psnr: Option<u8>) -> EncodeLayout {
    let mut block = BlockLayout::stored(data_type, (TILE, TILE), samples);
    block.compression = C::Jpeg2000;
    block.is_strip = false;
    block.extras.photometric = if samples >= 3 { Photometric::Rgb } else { Photometric::MinIsBlack };
    let params = EncodeParams {
        encoder: BY_LIBRARY,
        level: 6,
        quality: psnr.unwrap_or(75),
        lossless: psnr.is_none(),
        max_error: 0.0,
    };
    EncodeLayout { block: Arc::new(block), params, nan_to: None, sparse: None }
}

/// A column of tiles, and its pixels with the samples of each together.
fn pixels(data_type: DataType, samples: u16, tiles: u32) -> (SharedPixels, Vec<u8>) {
    let spec = OutputSpec::band_last(data_type, samples.into(), TILE * tiles, TILE).unwrap();
    let bytes: Vec<u8> = (0..spec.len().unwrap()).map(|i| (i / 3 % 251) as u8).collect();
    (SharedPixels::new(spec, Arc::new(bytes.clone())).unwrap(), bytes)
}

fn encode(
    engine: &CudaEngine,
    layout: &EncodeLayout,
    pixels: SharedPixels,
    tiles: u32,
) -> Result<EncodedBlocks, EngineError> {
    let task = |row: u32| EncodeTask {
        layout: 0,
        pixels: 0,
        address: BlockAddress { row, ..BlockAddress::default() },
        rows: TILE,
        x: 0,
        y: row * TILE,
        width: TILE,
        height: TILE,
        first_band: 0,
    };
    let prepared = engine.prepare(layout.clone()).unwrap();
    let job = EncodeJob { layouts: vec![prepared], tasks: (0..tiles).map(task).collect() };
    engine.encode(job, &[pixels], &Context::default())?.wait()
}

#[test]
fn samples_and_wishes_reach_the_encoder() {
    let Some(standin) = standin() else { return };
    let engine = engine();
    assert_eq!(engine.encoder(BY_LIBRARY), "nvJPEG2000 0.11.0");
    for (data_type, samples, psnr) in [
        (DataType::U8, 1, None),
        (DataType::U8, 3, Some(40)),
        (DataType::U16, 1, Some(60)),
        (DataType::I16, 2, None),
        (DataType::U8, 4, None),
    ] {
        for tiles in [1, 40] {
            let layout = layout(data_type, samples, psnr);
            let (given, bytes) = pixels(data_type, samples, tiles);
            let done = encode(&engine, &layout, given, tiles).unwrap();
            assert_eq!((done.blocks.len(), done.faults.len()), (tiles as usize, 0));
            let len = bytes.len() / tiles as usize;
            for (block, samples_of) in done.blocks.iter().zip(bytes.chunks(len)) {
                let head = [b"j2k!".as_slice(), &[u8::from(samples >= 3), psnr.unwrap_or(0)]].concat();
                assert!(
                    done.bytes(block) == [&head, samples_of].concat(),
                    "{data_type:?} {samples} {psnr:?}"
                );
            }
            let calls = standin.calls();
            no_misuse(&calls);
            assert_eq!(count(&calls, "nvjpeg2kEncode"), tiles as usize);
            assert_eq!(count(&calls, "cuMemAllocFromPoolAsync"), 1, "one piece of memory a batch");
        }
    }
    drop(engine);
    no_misuse(&standin.calls());
}

#[test]
fn sparse_blocks_are_left_out() {
    let Some(standin) = standin() else { return };
    let layout = EncodeLayout { sparse: Some(Fill::default()), ..layout(DataType::U8, 1, None) };
    let spec = OutputSpec::band_last(DataType::U8, 1, TILE * 3, TILE).unwrap();
    let mut bytes = vec![0u8; spec.len().unwrap()];
    bytes[TILE as usize * TILE as usize + 5] = 9;
    let done = encode(&engine(), &layout, SharedPixels::new(spec, Arc::new(bytes)).unwrap(), 3).unwrap();
    let stored: Vec<bool> = done.blocks.iter().map(|block| block.span.is_some()).collect();
    assert_eq!(stored, [false, true, false]);
    no_misuse(&standin.calls());
}

#[test]
fn it_is_that_or_an_error() {
    let Some(standin) = standin() else { return };
    let engine = engine();
    let refused = |layout: EncodeLayout| engine.prepare(layout).unwrap_err().to_string();
    assert_eq!(refused(layout(DataType::U8, 5, None)), "nvJPEG2000 writes at most 4 samples, not 5");
    assert_eq!(refused(layout(DataType::I8, 1, None)), "nvJPEG2000 does not write samples of int8");
    let mut deflate = layout(DataType::U8, 1, None);
    deflate.block = Arc::new(BlockLayout { compression: C::Deflate, ..(*deflate.block).clone() });
    assert_eq!(refused(deflate), "nvJPEG2000 does not write deflate");
    let by_cpu = CpuEngine::new().prepare(layout(DataType::U8, 1, None)).unwrap_err().to_string();
    assert_eq!(by_cpu, "`nvjpeg2000` encodes on a GPU, not on the CPU");
    for (planted, said) in [
        ("nvjpeg2kEncode:3:6", "`nvjpeg2kEncode` failed with status 6 (execution failed)"),
        ("nvjpeg2kEncodeRetrieveBitstream:2:8", "`nvjpeg2kEncodeRetrieveBitstream` failed with status 8"),
    ] {
        standin.set(&format!("fail={planted}"));
        let (given, _) = pixels(DataType::U8, 1, 9);
        let error = encode(&engine, &layout(DataType::U8, 1, None), given, 9).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
        // The states go on.
        let (given, _) = pixels(DataType::U8, 1, 9);
        assert!(encode(&engine, &layout(DataType::U8, 1, None), given, 9).is_ok());
        no_misuse(&standin.calls());
    }
    let (given, _) = pixels(DataType::U8, 1, 1);
    standin.set("fail=nvjpeg2kEncodeParamsSetEncodeConfig:1:2");
    let wide = layout(DataType::U8, 1, Some(30));
    assert!(encode(&engine, &wide, given, 1).unwrap_err().to_string().contains("(invalid parameter)"));
}

#[test]
fn versions_are_told_apart_by_what_they_say() {
    let Some(standin) = standin() else { return };
    let told = |version, encodes| {
        let path = nvjpeg2000(version, encodes).unwrap();
        version_of(path.as_os_str())
            .map_or_else(|error| error.to_string(), |version| format!("taken: {version}"))
    };
    assert_eq!(told((0, 11), true), "taken: 0.11.0");
    assert_eq!(told((1, 0), true), "nvJPEG2000 cannot be used: expected version 0, got 1.0.0");
    assert_eq!(told((0, 9), false), "nvJPEG2000 0.9.0 lacks `nvjpeg2kEncode`");
    standin.set("fail=nvjpeg2kGetProperty:2:8");
    assert_eq!(told((0, 11), true), "`nvjpeg2kGetProperty` failed with status 8 (internal error)");
    let absent = version_of(OsStr::new("/nowhere/libnvjpeg2k.so.0")).unwrap_err().to_string();
    assert_eq!(
        absent,
        "no nvJPEG2000: `libnvjpeg2k.so.0` was not found; add its folder to LD_LIBRARY_PATH, or leave it off"
    );
}
