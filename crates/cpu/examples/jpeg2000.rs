//! How fast JPEG 2000 pictures are decoded: `jpeg2000 FOLDER [THREADS [--only]]`.
//!
//! FOLDER has `j2k.bin`, pictures one after the other, `j2k.idx`, the offset and length of each as two 64-bit numbers,
//! and maybe `j2k.ref`, their samples; or any files that each are a picture. Every picture is decoded by one thread,
//! for 1, 2, 4 … THREADS threads (without it: all cores; `--only`: just that many); the best of a few rounds counts, by
//! the clock and by the time that processors spent. Samples are compared first, where there is something to compare them
//! with. `docs/bench/jpeg2000_peers.py` makes such folders and measures OpenJPEG.

#![allow(
    clippy::cast_possible_truncation,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a benchmark: what is wrong ends it"
)]

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;
use strile_codestream::jpeg2000::size;
use strile_cpu::codec::{StoredBlock, Workspace, decode};
use strile_engine::BlockLayout;
use strile_tiff::{Compression, DataType};

const ROUNDS: usize = 5;

struct Picture {
    bytes: Vec<u8>,
    layout: BlockLayout,
}

impl Picture {
    fn new(bytes: Vec<u8>) -> Self {
        let shape = size(&bytes).expect("the picture has a size");
        let (first, samples) = (shape.components[0], shape.components.len());
        let data_type = match (first.bits, first.signed) {
            (..=8, false) => DataType::U8,
            (..=8, true) => DataType::I8,
            (..=16, false) => DataType::U16,
            (..=16, true) => DataType::I16,
            (_, false) => DataType::U32,
            (_, true) => DataType::I32,
        };
        let side = (shape.area.width(), shape.area.height());
        let mut layout = BlockLayout::stored(data_type, side, samples as u16);
        (layout.compression, layout.sample.bits) = (Compression::Jpeg2000, first.bits.into());
        Self { bytes, layout }
    }

    fn len(&self) -> usize {
        self.layout.decoded_len(self.layout.height).expect("the picture fits into memory")
    }

    fn decode(&self, out: &mut Vec<u8>, workspace: &mut Workspace) {
        out.resize(self.len(), 0);
        let block = StoredBlock { layout: &self.layout, rows: self.layout.height };
        decode(&self.bytes, out, block, workspace).expect("the picture decodes");
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().expect("jpeg2000 FOLDER [THREADS]");
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let most: usize = arguments.next().map_or(cores, |n| n.parse().expect("a number of threads"));
    let pictures = pictures(Path::new(&folder));
    let (bytes, encoded): (usize, usize) =
        pictures.iter().map(|p| (p.len(), p.bytes.len())).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
    println!("{} pictures, {bytes} bytes, {:.2}:1", pictures.len(), bytes as f64 / encoded as f64);
    if let Ok(reference) = std::fs::read(Path::new(&folder).join("j2k.ref")) {
        let (mut out, mut workspace, mut at) = (Vec::new(), Workspace::default(), 0);
        for picture in pictures.iter().take(16) {
            picture.decode(&mut out, &mut workspace);
            assert!(reference[at..at + out.len()] == out, "other samples");
            at += out.len();
        }
    }
    let mut threads = if arguments.next().is_some() { most } else { 1 };
    loop {
        let rounds = (0..ROUNDS).map(|_| round(&pictures, threads));
        let (best, spent) = rounds.fold((f64::MAX, f64::MAX), |a, b| (a.0.min(b.0), a.1.min(b.1)));
        let rate = bytes as f64 / best / 1e9;
        println!(
            "{threads} threads: {rate:.4} GB/s, {:.2} ms, {:.2} ms of processor time",
            best * 1e3,
            spent * 1e3
        );
        if threads >= most {
            break;
        }
        threads = (threads * 2).min(most);
    }
}

/// Seconds that processors spent on this program, to a hundredth; 0 where the system does not say.
fn spent() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    after_name.split_whitespace().nth(11).and_then(|ticks| ticks.parse::<f64>().ok()).unwrap_or(0.0) / 100.0
}

/// Seconds for all pictures: by the clock, and spent by processors.
fn round(pictures: &[Picture], threads: usize) -> (f64, f64) {
    let next = AtomicUsize::new(0);
    let (start, spent_before) = (Instant::now(), spent());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let (mut out, mut workspace) = (Vec::new(), Workspace::default());
                while let Some(picture) = pictures.get(next.fetch_add(1, Ordering::Relaxed)) {
                    picture.decode(&mut out, &mut workspace);
                }
            });
        }
    });
    (start.elapsed().as_secs_f64(), spent() - spent_before)
}

fn pictures(folder: &Path) -> Vec<Picture> {
    let Ok(index) = std::fs::read(folder.join("j2k.idx")) else {
        let entries = std::fs::read_dir(folder).expect("a folder");
        let paths = entries.map(|entry| entry.expect("a file").path()).filter(|path| path.is_file());
        return paths.map(|path| Picture::new(std::fs::read(path).expect("a readable file"))).collect();
    };
    let all = std::fs::read(folder.join("j2k.bin")).expect("j2k.bin");
    let numbers: Vec<usize> =
        index.as_chunks::<8>().0.iter().map(|&n| u64::from_le_bytes(n) as usize).collect();
    let spans = numbers.as_chunks::<2>().0.iter();
    spans.map(|&[offset, len]| Picture::new(all[offset..offset + len].to_vec())).collect()
}
