//! The placement pass alone: 1024 × 1024 pixels in tiles of 256, stored uncompressed in memory that the
//! source lends, one thread, into memory that has been touched before. Inside the timer: submit to wait.
//! Rates are bytes of output a second, the best of many runs; `copy` is a plain memcpy of
//! 2 MiB.

use std::io;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};
use strile_cpu::CpuEngine;
use strile_engine::*;
use strile_tiff::{ByteOrder, Compression, LercWrapper, Photometric, Predictor, SampleFormat, SampleType};

const SIDE: u32 = 1024;
const TILE: u32 = 256;
const RUNS: u32 = 1000;

struct Memory(Vec<u8>);

impl ReadAt for Memory {
    fn read_at<'a>(&'a self, span: Span, _: &'a mut Vec<u8>) -> io::Result<&'a [u8]> {
        let range =
            usize::try_from(span.offset).ok().zip(span.end().and_then(|end| usize::try_from(end).ok()));
        let bytes = range.and_then(|(start, end)| self.0.get(start..end));
        bytes.ok_or(io::ErrorKind::UnexpectedEof.into())
    }
}

struct Case {
    name: &'static str,
    format: SampleFormat,
    bits: u16,
    samples: u16,
    predictor: Predictor,
    foreign: bool,
    band_last: bool,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let base = Case {
        name: "none u8",
        format: SampleFormat::Uint,
        bits: 8,
        samples: 1,
        predictor: Predictor::None,
        foreign: false,
        band_last: false,
    };
    let (horizontal, floating) = (Predictor::Horizontal, Predictor::FloatingPoint);
    let cases = [
        Case { name: "none u16", bits: 16, ..base },
        Case { name: "none u16, other byte order", bits: 16, foreign: true, ..base },
        Case { name: "predictor 2 u8", predictor: horizontal, ..base },
        Case { name: "predictor 2 u16", bits: 16, predictor: horizontal, ..base },
        Case {
            name: "predictor 2 u16, other byte order",
            bits: 16,
            predictor: horizontal,
            foreign: true,
            ..base
        },
        Case { name: "predictor 2 u32", bits: 32, predictor: horizontal, ..base },
        Case { name: "predictor 3 f32", bits: 32, format: SampleFormat::Float, predictor: floating, ..base },
        Case { name: "predictor 3 f64", bits: 64, format: SampleFormat::Float, predictor: floating, ..base },
        Case { name: "RGB u8 to bands", samples: 3, ..base },
        Case { name: "RGB u8 to pixels", samples: 3, band_last: true, ..base },
        Case { name: "RGBA u16 to bands", bits: 16, samples: 4, ..base },
        Case { name: "predictor 2 RGB u8 to bands", samples: 3, predictor: horizontal, ..base },
        Case { name: "1 bit to u8", bits: 1, ..base },
        Case { name: "12 bits to u16", bits: 12, ..base },
        base,
    ];
    for case in &cases {
        measure(case)?;
    }
    let (from, mut to) = (vec![1u8; 2 << 20], vec![0u8; 2 << 20]);
    let best = best_of(|| {
        to.copy_from_slice(std::hint::black_box(&from));
        std::hint::black_box(&mut to);
        Ok(())
    })?;
    print_rate("copy", from.len(), best);
    Ok(())
}

fn measure(case: &Case) -> Result<(), Box<dyn std::error::Error>> {
    let sample = SampleType { format: case.format, bits: case.bits };
    let other = if ByteOrder::NATIVE == ByteOrder::Little { ByteOrder::Big } else { ByteOrder::Little };
    let layout = Arc::new(BlockLayout {
        width: TILE,
        height: TILE,
        samples: case.samples,
        sample,
        mixed_bits: None,
        data_type: sample.data_type().ok_or("no such type")?,
        byte_order: if case.foreign { other } else { ByteOrder::NATIVE },
        reverse_bits: false,
        compression: Compression::None,
        predictor: case.predictor,
        is_strip: false,
        extras: CodecExtras {
            photometric: Photometric::MinIsBlack,
            ycbcr: None,
            jpeg_tables: None,
            lerc: LercWrapper::None,
            fax_options: 0,
            fill: Fill::default(),
            reduce: 0,
        },
    });
    let across = SIDE / TILE;
    let len = layout.decoded_len(TILE).ok_or("too large")? as u64;
    let task = |index: u32| BlockTask {
        source: 0,
        layout: 0,
        selection: 0,
        output: 0,
        span: Some(Span { offset: u64::from(index % 4) * len, len }),
        address: BlockAddress::default(),
        placement: Placement {
            rows: TILE,
            image_rows: TILE,
            block_x: 0,
            block_y: 0,
            width: TILE,
            height: TILE,
            out_x: index % across * TILE,
            out_y: index / across * TILE,
            first_band: 0,
        },
    };
    // Four tiles' worth of input stays in the second cache, as a block just decompressed does.
    let bytes = (0..len * 4).map(|i| i.wrapping_mul(2_654_435_761).to_le_bytes()[3]).collect();
    let source: Arc<dyn ReadAt> = Arc::new(Memory(bytes));
    let selection = vec![(0..case.samples).collect()];
    let job = DecodeJob::new(vec![Arc::clone(&layout)], selection, (0..across * across).map(task).collect())?;
    let shape = if case.band_last { OutputSpec::band_last } else { OutputSpec::band_first };
    let output = Output::new(shape(layout.data_type, case.samples.into(), SIDE, SIDE)?)?;
    let context = Context { threads: NonZeroUsize::MIN, ..Context::default() };
    let best = best_of(|| {
        let encoded = Encoded::Pulled(vec![Arc::clone(&source)]);
        let report =
            CpuEngine::new().submit(job.clone(), encoded, std::slice::from_ref(&output), &context)?.wait()?;
        if report.faults.is_empty() { Ok(()) } else { Err("a block is faulty".into()) }
    })?;
    print_rate(case.name, output.spec().len()?, best);
    Ok(())
}

fn best_of(
    mut work: impl FnMut() -> Result<(), Box<dyn std::error::Error>>,
) -> Result<Duration, Box<dyn std::error::Error>> {
    let mut best = Duration::MAX;
    for _ in 0..RUNS {
        let start = Instant::now();
        work()?;
        best = best.min(start.elapsed());
    }
    Ok(best)
}

#[expect(clippy::cast_precision_loss, reason = "a rate for people")]
fn print_rate(name: &str, bytes: usize, time: Duration) {
    println!("{name:36} {:6.2} GB/s", bytes as f64 / time.as_secs_f64() / 1e9);
}
