//! Blocks that are JPEG and JPEG 2000 streams.
//!
//! Those in `data` were made by OpenJPEG (lossless) and libjpeg-turbo (quality 85, chroma of half size), whose decoder
//! made the raw pixels beside them. JPEG leaves its arithmetic to decoders: engines have libjpeg's, bit for bit.

use super::jobs::{Uint, job, layout, output, run, task};
use strile_engine::{BlockAddress, BlockLayout, BlockTask, Engine, FaultKind, Span, Support};
use strile_tiff::{Compression, Photometric, YCbCr};

/// A stream, its layout, and its samples pixel by pixel.
struct Sample {
    layout: BlockLayout,
    stream: &'static [u8],
    samples: Vec<u8>,
}

fn grey16() -> Sample {
    let value = |i: u32| {
        let (x, y) = (i % 40, i / 40);
        ((x * 701 + y * 977 + (x * y % 7) * 300) % 65_536) as u16
    };
    let layout = BlockLayout { compression: Compression::Jpeg2000, ..layout(40, 24, 1, Uint, 16) };
    let samples = (0..40 * 24).flat_map(|i| value(i).to_ne_bytes()).collect();
    Sample { layout, stream: include_bytes!("data/grey16.j2k"), samples }
}

fn rgb8() -> Sample {
    let pixel = |i: u32| {
        let (x, y) = (i % 33, i / 33);
        [x * 7 + y * 3, x * x + y * 5, (x ^ y) * 9].map(|value| (value % 256) as u8)
    };
    let mut layout = BlockLayout { compression: Compression::Jpeg2000, ..layout(33, 17, 3, Uint, 8) };
    layout.extras.photometric = Photometric::Rgb;
    Sample {
        layout,
        stream: include_bytes!("data/rgb8.j2k"),
        samples: (0..33 * 17).flat_map(pixel).collect(),
    }
}

fn jpeg(samples: u16, stream: &'static [u8], raw: &[u8]) -> Sample {
    let mut layout = BlockLayout { compression: Compression::Jpeg, ..layout(40, 24, samples, Uint, 8) };
    if samples == 3 {
        layout.extras.photometric = Photometric::YCbCr;
        layout.extras.ycbcr = Some(YCbCr::default());
    }
    Sample { layout, stream, samples: raw.to_vec() }
}

/// Faults by the row of their block, and the samples of each block band by band.
type Decoded = (Vec<(u32, FaultKind)>, Vec<Vec<u8>>);

impl Sample {
    /// The stream three times, one below the other, the one in the middle without its last `cut` bytes.
    fn tasks(&self, cut: u64) -> Vec<BlockTask> {
        let len = self.stream.len() as u64;
        let block = |row: u32| {
            let mut task = task(&self.layout, 0);
            let cut = if row == 1 { cut } else { 0 };
            task.span = Some(Span { offset: u64::from(row) * len, len: len - cut });
            task.address = BlockAddress { row, ..BlockAddress::default() };
            task.placement.out_y = row * self.layout.height;
            task
        };
        (0..3).map(block).collect()
    }

    /// Decodes all three; `None` where the engine does not.
    fn decoded(&self, engine: &dyn Engine, cut: u64) -> Option<Decoded> {
        let layout = &self.layout;
        if engine.support(layout) != Support::Yes {
            return None;
        }
        let bands = usize::from(layout.samples);
        let output = output(layout.data_type, bands as u32, 3 * layout.height, layout.width);
        let report = run(engine, job(layout, self.tasks(cut)), &self.stream.repeat(3), &output);
        let faults = report.faults.iter().map(|fault| (fault.address.row, fault.fault.kind)).collect();
        let all = output.into_vec().unwrap();
        let band = layout.samples_len(layout.height).unwrap() / bands;
        let block = |row: usize| {
            let part = |at: usize| all[(at * 3 + row) * band..][..band].to_vec();
            (0..bands).flat_map(part).collect()
        };
        Some((faults, (0..3).map(block).collect()))
    }

    /// The samples band by band.
    fn by_band(&self) -> Vec<u8> {
        let (size, bands) = (self.layout.data_type.size(), usize::from(self.layout.samples));
        let of = |band: usize| self.samples.chunks(size).skip(band).step_by(bands).flatten().copied();
        (0..bands).flat_map(of).collect()
    }
}

pub(super) fn jpeg2000_keeps_every_sample(engine: &dyn Engine) {
    for sample in [grey16(), rgb8()] {
        let Some((faults, blocks)) = sample.decoded(engine, 0) else { continue };
        assert_eq!(faults, []);
        for block in blocks {
            assert_eq!(block, sample.by_band());
        }
    }
}

pub(super) fn jpeg_has_the_pixels_of_libjpeg(engine: &dyn Engine) {
    let grey = jpeg(1, include_bytes!("data/grey8.jpg"), include_bytes!("data/grey8.raw"));
    let rgb = jpeg(3, include_bytes!("data/rgb8.jpg"), include_bytes!("data/rgb8.raw"));
    for sample in [grey, rgb] {
        let Some((faults, blocks)) = sample.decoded(engine, 0) else { continue };
        assert_eq!(faults, []);
        for block in blocks {
            assert!(block == sample.by_band(), "{} samples", sample.layout.samples);
        }
    }
}

pub(super) fn a_broken_picture_leaves_others_alone(engine: &dyn Engine) {
    let sample = grey16();
    let Some((faults, blocks)) = sample.decoded(engine, 400) else { return };
    let [(1, kind)] = faults.as_slice() else { panic!("{faults:?}") };
    assert!(matches!(kind, FaultKind::InputTruncated | FaultKind::Corrupt), "{kind:?}");
    let expected = sample.by_band();
    assert!(blocks[0] == expected && blocks[2] == expected);
    assert!(blocks[1].iter().all(|&byte| byte == 0), "filled");
}
