//! One decoder, called with layouts of the fixtures and damaged streams of their blocks.
//!
//! The layout is always valid. Three mutants of four keep the stream's own header too, and have checksums made
//! right that a decoder looks at first. A mutant counts as having reached the decoder where its header is whole
//! or it was read. What is read must not depend on what the output held before: every eighth mutant is decoded
//! twice to see it.

mod jpeg2000;

use super::{Outcome, Subject, sequence};
use crate::stream;
use std::cell::RefCell;
use std::sync::Arc;
use strile_cpu::codec::{StoredBlock, Workspace, decode};
use strile_engine::{BlockLayout, CodecExtras, DecodedForm, FaultKind, Fill};
use strile_tiff::{
    BlockArray, BlockKind, Compression, DataType, Image, LercWrapper, Limits, Parser, Photometric, Planar,
    SampleFormat, SampleType, Step, Tiff,
};
use testkit::{Fixture, Random, mutate_bytes};

/// See the module.
pub(crate) struct CodecTarget {
    name: String,
    pub(super) seeds: Vec<Seed>,
    workspace: RefCell<Workspace>,
}

/// A block that decodes.
#[derive(Clone)]
pub(super) struct Seed {
    pub(super) name: String,
    pub(super) layout: Arc<BlockLayout>,
    pub(super) rows: u32,
    /// As the decoder wants it: bit order undone, LERC's wrapper off.
    pub(super) stream: Vec<u8>,
}

/// Longer streams of the fixtures are left out where there are shorter ones.
const LONGEST: usize = 4096;

impl CodecTarget {
    pub(crate) fn all(fixtures: &[Fixture]) -> Vec<Self> {
        let mut seeds: Vec<Seed> = fixtures.iter().flat_map(seeds_of).collect();
        seeds.extend(variants(&seeds));
        seeds.extend(sgi_log());
        seeds.extend(jpeg2000::seeds());
        let mut targets: Vec<Self> = Vec::new();
        for seed in seeds {
            let name = target_name(&seed.layout);
            match targets.iter_mut().find(|target| target.name == name) {
                Some(target) => target.seeds.push(seed),
                None => targets.push(Self { name, seeds: vec![seed], workspace: RefCell::default() }),
            }
        }
        for target in &mut targets {
            if target.seeds.iter().any(|seed| seed.stream.len() <= LONGEST) {
                target.seeds.retain(|seed| seed.stream.len() <= LONGEST);
            }
        }
        targets
    }
}

impl Subject for CodecTarget {
    fn name(&self) -> &str {
        &self.name
    }

    fn mutant(&self, number: u64) -> (usize, Vec<u8>) {
        let mut random = sequence(number);
        let index = random.below(self.seeds.len());
        (index, self.seeds[index].mutant(&mut random))
    }

    fn try_one(&self, seed: usize, number: u64, bytes: &[u8]) -> Outcome {
        let seed = &self.seeds[seed];
        let block = StoredBlock { layout: &seed.layout, rows: seed.rows };
        let mut dst = vec![0x5A; seed.decoded_len()];
        // Taken, so that a panic leaves a fresh one.
        let mut workspace = self.workspace.take();
        let result = decode(bytes, &mut dst, block, &mut workspace);
        self.workspace.replace(workspace);
        let mut wrong = None;
        if result.is_ok() && number.is_multiple_of(8) {
            let mut again = vec![0xA5; dst.len()];
            let second = decode(bytes, &mut again, block, &mut Workspace::default());
            if second.is_err() || again != dst {
                wrong = Some("what is read depends on what the output held before".to_owned());
            }
        }
        Outcome {
            reached: result.is_ok() || seed.header_is_whole(bytes),
            refused: result.err().map(|fault| kind(fault.kind)),
            wrong,
            held: 0,
        }
    }

    /// The block, several times over, and 64 MiB (as the JPEG XL and LZMA decoders are allowed).
    fn memory_limit(&self, seed: usize) -> usize {
        // A stream of LZMA says how large its dictionary is. Up to 128 MiB are taken for it, out of the budget.
        let dictionary = if self.name() == "lzma" { 128 << 20 } else { 0 };
        self.seeds[seed].decoded_len() * 64 + (64 << 20) + dictionary
    }

    fn seed_name(&self, seed: usize) -> String {
        self.seeds[seed].name.clone()
    }

    fn seeds(&self) -> usize {
        self.seeds.len()
    }
}

impl Seed {
    /// A damaged copy of the stream.
    pub(super) fn mutant(&self, random: &mut Random) -> Vec<u8> {
        let Self { stream, layout, .. } = self;
        let compression = layout.compression;
        let bytes = if random.below(4) == 0 {
            mutate_bytes(stream, random.next_u64())
        } else {
            let (head, body) = stream.split_at(stream::header_len(compression, stream));
            let mut bytes = [head, &mutate_bytes(body, random.next_u64())].concat();
            stream::repair(compression, &mut bytes);
            if compression == Compression::Deflate && random.below(2) == 0 {
                stream::repair_zlib(&mut bytes, self.decoded_len());
            }
            bytes
        };
        // The wrapper itself is damaged now and then.
        match random.below(8) {
            0 => mutate_bytes(&stream::wrap(layout, bytes), random.next_u64()),
            _ => stream::wrap(layout, bytes),
        }
    }

    pub(super) fn decoded_len(&self) -> usize {
        self.layout.decoded_len(self.rows).unwrap()
    }

    /// Whether the file has the bits of each byte of the stream in reverse.
    pub(super) fn is_reversed(&self) -> bool {
        is_reversed(&self.layout)
    }

    /// Whether a mutant still has the stream's own header.
    fn header_is_whole(&self, mutant: &[u8]) -> bool {
        let compression = self.layout.compression;
        if compression == Compression::Lerc && self.layout.extras.lerc != LercWrapper::None {
            // Wrapped blobs are looked at from outside: the wrapper's magic number is there.
            let outside = stream::wrap(&self.layout, self.stream.clone());
            return mutant.get(..2) == outside.get(..2);
        }
        let header = &self.stream[..stream::header_len(compression, &self.stream)];
        let repaired = stream::repaired_in_header(compression);
        mutant.len() >= header.len()
            && header.iter().zip(mutant).enumerate().all(|(at, (a, b))| a == b || repaired.contains(&at))
    }
}

fn is_reversed(layout: &BlockLayout) -> bool {
    layout.reverse_bits && layout.decoded_form() == DecodedForm::Packed
}

fn target_name(layout: &BlockLayout) -> String {
    let name = layout.compression.name();
    match (layout.compression, layout.extras.lerc) {
        (Compression::Lerc, LercWrapper::Deflate) => format!("{name}-deflate"),
        (Compression::Lerc, LercWrapper::Zstd) => format!("{name}-zstd"),
        _ => name.to_owned(),
    }
}

fn kind(kind: FaultKind) -> &'static str {
    match kind {
        FaultKind::InputTruncated => "truncated",
        FaultKind::OutputShort => "short",
        FaultKind::OutputSurplus => "surplus",
        FaultKind::Checksum => "checksum",
        FaultKind::Corrupt => "corrupt",
        FaultKind::WrongShape => "wrong shape",
        FaultKind::Unsupported => "unsupported",
        FaultKind::Unreadable => "unreadable",
        FaultKind::OutOfMemory => "memory",
        FaultKind::Unrepresentable => "unrepresentable",
    }
}

/// The blocks of a file's images.
fn seeds_of(fixture: &Fixture) -> Vec<Seed> {
    let bytes = fixture.bytes();
    let mut seeds = Vec::new();
    let tiff = parse(bytes);
    for (index, directory) in tiff.directories.iter().enumerate() {
        let made = Image::from_directory(
            directory,
            index,
            tiff.file_len,
            &Limits::default(),
            &mut strile_tiff::Warnings::new(),
        );
        let Ok(image) = made else { continue };
        let Some(layout) = layout_of(&image).map(Arc::new) else { continue };
        let (BlockArray::Here(offsets), BlockArray::Here(sizes)) = (&image.table.offsets, &image.table.sizes)
        else {
            continue;
        };
        let grid = &image.grid;
        for (at, (&offset, &size)) in offsets.iter().zip(sizes).enumerate().take(grid.blocks() as usize) {
            let row = at as u32 / grid.across % grid.down;
            let mut stream = match bytes.get(offset as usize..(offset + size) as usize) {
                Some(stream) if size > 0 => stream.to_vec(),
                _ => continue,
            };
            if is_reversed(&layout) {
                stream.iter_mut().for_each(|byte| *byte = byte.reverse_bits());
            }
            seeds.push(Seed {
                name: format!("{}@{index}.{at}", fixture.name),
                layout: Arc::clone(&layout),
                rows: grid.rows_of(row, image.height),
                stream: stream::unwrap(&layout, stream),
            });
        }
    }
    seeds
}

fn parse(bytes: &[u8]) -> Tiff {
    let mut parser = Parser::new(bytes.len() as u64, Limits::default());
    loop {
        match parser.next().expect("fixtures are valid") {
            Step::Done(tiff) => return tiff,
            Step::Need(ranges) => {
                for range in ranges {
                    parser.feed(range.start, bytes[range.start as usize..range.end as usize].to_vec());
                }
            }
        }
    }
}

fn layout_of(image: &Image) -> Option<BlockLayout> {
    let data_type: DataType = image.sample.data_type()?;
    Some(BlockLayout {
        width: image.grid.block_width,
        height: image.grid.block_height,
        samples: if image.planar == Planar::Chunky { image.samples } else { 1 },
        sample: image.sample,
        mixed_bits: image.mixed_bits.as_deref().map(Arc::from),
        data_type,
        byte_order: image.byte_order,
        reverse_bits: image.reverse_bits,
        compression: image.compression,
        predictor: image.predictor,
        is_strip: image.grid.kind == BlockKind::Strip,
        extras: CodecExtras {
            photometric: image.colour.photometric,
            ycbcr: image.colour.ycbcr,
            jpeg_tables: image.colour.jpeg_tables.as_deref().map(Arc::from),
            lerc: image.colour.lerc,
            fax_options: image.colour.fax_options,
            fill: Fill::default(),
            reduce: 0,
        },
    })
}

/// Streams of one compression under another that takes the same: no fixture is written with these.
fn variants(seeds: &[Seed]) -> Vec<Seed> {
    let mut made = Vec::new();
    for seed in seeds {
        let with = |compression: Compression| {
            let mut layout = BlockLayout::clone(&seed.layout);
            layout.compression = compression;
            layout
        };
        match seed.layout.compression {
            Compression::Jpeg2000 if seed.layout.samples == 3 => {
                for compression in [Compression::Jpeg2000YCbCr, Compression::Jpeg2000Rgb] {
                    made.push(Seed { layout: Arc::new(with(compression)), ..seed.clone() });
                }
            }
            Compression::Jpeg if seed.layout.sample.bits == 8 => {
                made.push(Seed { layout: Arc::new(with(Compression::OldJpeg)), ..seed.clone() });
                if seed.layout.extras.jpeg_tables.is_some() {
                    continue;
                }
                // Headers apart from the scan, as old files have them.
                let scan = seed.stream.windows(2).position(|pair| pair == [0xFF, 0xDA]).unwrap();
                let mut layout = with(Compression::OldJpeg);
                layout.extras.jpeg_tables = Some(seed.stream[..scan].into());
                made.push(Seed {
                    name: format!("{}-apart", seed.name),
                    layout: Arc::new(layout),
                    stream: seed.stream[scan..].to_vec(),
                    ..seed.clone()
                });
            }
            _ => {}
        }
    }
    made
}

/// Blocks of SGI Log, which no fixture has: runs and literals by turns, and packed pixels.
fn sgi_log() -> Vec<Seed> {
    let sample = SampleType { format: SampleFormat::Int, bits: 16 };
    let (width, height) = (13, 9);
    let seed = |compression: Compression, samples: u16, stream: Vec<u8>| Seed {
        name: format!("{}-{samples}", compression.name()),
        layout: Arc::new(BlockLayout {
            width,
            height,
            samples,
            sample,
            mixed_bits: None,
            data_type: DataType::I16,
            byte_order: strile_tiff::ByteOrder::Little,
            reverse_bits: false,
            compression,
            predictor: strile_tiff::Predictor::None,
            is_strip: true,
            extras: CodecExtras {
                photometric: Photometric::MinIsBlack,
                ycbcr: None,
                jpeg_tables: None,
                lerc: LercWrapper::None,
                fax_options: 0,
                fill: Fill::default(),
                reduce: 0,
            },
        }),
        rows: height,
        stream,
    };
    // A row of a byte plane: a run of five, then eight bytes as they are.
    let plane = [131, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8];
    let rows = height as usize;
    vec![
        seed(Compression::SgiLog, 1, plane.repeat(2 * rows)),
        seed(Compression::SgiLog, 3, plane.repeat(4 * rows)),
        seed(Compression::SgiLog24, 3, (0..width as usize * rows * 3).map(|i| (i * 7) as u8).collect()),
    ]
}
