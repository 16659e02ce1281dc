//! The libraries through the whole engine: what they decode, what they refuse, and what is said of the choice.

use crate::on_any::picture::{Picture, TILE, layout};
use crate::{count, no_misuse, numbered, pattern, ready, standin};
use std::sync::Arc;
use strile_cpu::CpuEngine;
use strile_cuda::picture::nvidia::{NvjpegError, Which};
use strile_cuda::{CudaEngine, CudaOptions, NvidiaPictures};
use strile_emulate::{Call, nvjpeg2000};
use strile_engine::{BlockLayout, Context, Encoded, Engine, Report, Span};
use strile_tiff::{Compression as C, DataType, SampleFormat, SampleType};

fn open(nvjpeg: NvidiaPictures) -> CudaEngine {
    ready(nvjpeg2000((0, 11), true).unwrap());
    ready(strile_emulate::nvjpeg((13, 2), true).unwrap());
    let options = CudaOptions { nvjpeg, ..CudaOptions::default() };
    CudaEngine::open(0, Arc::new(CpuEngine::new()), options).unwrap()
}

fn grey(compression: C) -> BlockLayout {
    let sample = SampleType { format: SampleFormat::Uint, bits: 8 };
    BlockLayout { sample, data_type: DataType::U8, ..layout(compression) }
}

/// A picture whose streams have numbers.
fn picture(compression: C, blocks: u32) -> Picture {
    let mut picture = Picture::with(grey(compression), blocks, |i, _| (i / 7 % 251) as u16);
    let (before, comment) = if compression == C::Jpeg { (0xC0, 0xFE) } else { (0x5C, 0x64) };
    let mut bytes = Vec::new();
    for (number, task) in (0..).zip(&mut picture.tasks) {
        let Span { offset, len } = task.span.unwrap();
        let stream = &picture.bytes[offset as usize..(offset + len) as usize];
        let stream = numbered(stream, before, comment, number, b"");
        task.span = Some(Span { offset: bytes.len() as u64, len: stream.len() as u64 });
        bytes.extend(stream);
    }
    picture.bytes = bytes;
    picture
}

fn read(engine: &CudaEngine, picture: &Picture, encoded: Encoded) -> (Report, Vec<u8>) {
    let output = picture.poisoned();
    let outputs = std::slice::from_ref(&output);
    let report = engine.submit(picture.job(), encoded, outputs, &Context::default()).unwrap().wait().unwrap();
    (report, output.into_vec().unwrap())
}

const LEN: usize = (TILE * TILE) as usize;

fn patterns(blocks: u32) -> Vec<u8> {
    (0..blocks).flat_map(|number| pattern(number, LEN)).collect()
}

#[test]
fn pictures_of_trusted_files_are_decoded_by_the_libraries() {
    let Some(standin) = standin() else { return };
    let engine = open(NvidiaPictures::TrustedAlways);
    for (compression, name, decodes) in [
        (C::Jpeg2000, "nvJPEG2000 0.11.0, asked for; the file is trusted", "nvjpeg2kDecodeImage"),
        (C::Jpeg, "nvJPEG 13.2.3 on 7 engines, asked for; the file is trusted", "nvjpegDecodeBatched"),
    ] {
        let picture = picture(compression, 40);
        assert_eq!(engine.nvjpeg(&picture.layout), Some(Ok(name.to_owned())));
        for encoded in [picture.staged(), picture.pulled()] {
            let (report, pixels) = read(&engine, &picture, encoded);
            assert_eq!((report.blocks, report.host_blocks, report.faults.len()), (40, 0, 0));
            assert!(pixels == patterns(40), "{compression:?}");
        }
        standin.calls();
        read(&engine, &picture, picture.staged());
        let calls = standin.calls();
        no_misuse(&calls);
        let called: Vec<&Call> = calls.iter().filter(|call| call.name == decodes).collect();
        assert_eq!(called.len(), if compression == C::Jpeg { 1 } else { 40 });
        // A state that was not yet used takes its own when it is.
        let own = (4 * LEN + 1000) as u64;
        let taken = calls.iter().filter(|call| call.name == "cuMemAllocFromPoolAsync");
        assert_eq!(taken.filter(|call| call.size != Some(own)).count(), 1, "one pool");
        assert_eq!(count(&calls, "cuMemcpyDtoHAsync_v2"), 2, "statuses and pixels");
        assert_eq!(count(&calls, "cuCtxSynchronize") + count(&calls, "cuStreamSynchronize"), 0);
    }
}

#[test]
fn what_they_refuse_is_decided_by_the_host() {
    let Some(standin) = standin() else { return };
    let engine = open(NvidiaPictures::TrustedAlways);
    let cpu = |picture: &Picture| {
        let output = picture.poisoned();
        let outputs = std::slice::from_ref(&output);
        let ticket = CpuEngine::new().submit(picture.job(), picture.staged(), outputs, &Context::default());
        (ticket.unwrap().wait().unwrap(), output.into_vec().unwrap())
    };
    for (compression, planted) in [
        (C::Jpeg2000, "nvjpeg2kDecodeImage:3:3"),
        (C::Jpeg2000, "nvjpeg2kStreamParse:4:4"),
        (C::Jpeg, "nvjpegJpegStreamParseHeader:2:3"),
    ] {
        let picture = picture(compression, 6);
        let (_, of_cpu) = cpu(&picture);
        standin.set(&format!("fail={planted}"));
        let (report, pixels) = read(&engine, &picture, picture.staged());
        assert_eq!((report.blocks, report.host_blocks, report.faults.len()), (6, 1, 0), "{planted}");
        let block = |i: usize| i * LEN..(i + 1) * LEN;
        let by_host = (0..6).filter(|&i| pixels[block(i)] == of_cpu[block(i)]).count();
        let by_library = (0..6).filter(|&i| pixels[block(i)] == patterns(6)[block(i)]).count();
        assert_eq!((by_host, by_library), (1, 5), "{planted}");
    }
    for compression in [C::Jpeg2000, C::Jpeg] {
        // A stream that ends early: the CPU's fault, at its place, and the others are what they are.
        let mut picture = picture(compression, 6);
        picture.tasks[4].span = picture.tasks[4].span.map(|span| Span { len: span.len - 9, ..span });
        let (report, pixels) = read(&engine, &picture, picture.staged());
        assert_eq!((report.faults, report.host_blocks), (cpu(&picture).0.faults, 1), "{compression:?}");
        assert!(pixels[..4 * LEN] == patterns(6)[..4 * LEN] && pixels[5 * LEN..] == patterns(6)[5 * LEN..]);
    }
    no_misuse(&standin.calls());
}

#[test]
fn they_are_not_used_where_they_are_slower_nor_for_anything_else() {
    let Some(_standin) = standin() else { return };
    let engine = open(NvidiaPictures::Trusted);
    let said = |compression: C| engine.nvjpeg(&grey(compression)).unwrap().unwrap_err();
    assert!(said(C::Jpeg2000).starts_with("not by nvJPEG2000 0.11.0: 0.34 GB/s measured by it and "));
    assert!(said(C::Jpeg).starts_with("not by nvJPEG 13.2.3 on 7 engines: "));
    assert_eq!(said(C::Deflate), "neither nvJPEG2000 nor nvJPEG is used for deflate");
    assert_eq!(open(NvidiaPictures::Off).nvjpeg(&grey(C::Jpeg)), None);
}

#[test]
fn neither_is_an_error_that_names_both() {
    let absent = |library: Which| Box::new(NvjpegError::NoLibrary { library });
    let neither =
        NvjpegError::Neither { first: absent(Which::Nvjpeg2000), second: absent(Which::Nvjpeg) }.to_string();
    assert!(
        neither.starts_with("neither nvJPEG2000 nor nvJPEG can be used: no nvJPEG2000: `libnvjpeg2k.so.0`")
    );
    assert!(
        neither.contains("; no nvJPEG: `libnvjpeg.so.13` or `libnvjpeg.so.12` was not found"),
        "{neither}"
    );
}
