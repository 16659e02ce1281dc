//! The blocks of a TIFF's first image as they lie in the file; its pixels by the CPU engine.

use crate::blocks::Blocks;
use std::path::Path;
use std::sync::Arc;
use strile_engine::{
    Arena, BlockAddress, BlockLayout, BlockTask, CodecExtras, Context, DecodeJob, Encoded, Engine, Fill,
    Output, OutputSpec, Placement, Span,
};
use strile_tiff::{BlockArray, BlockKind, Image, Limits, Parser, Planar, Step, Tiff};

fn parse(bytes: &[u8]) -> Tiff {
    let mut parser = Parser::new(bytes.len() as u64, Limits::default());
    loop {
        match parser.next().unwrap() {
            Step::Done(tiff) => return tiff,
            Step::Need(ranges) => {
                for range in ranges {
                    let part = bytes[range.start as usize..range.end as usize].to_vec();
                    parser.feed(range.start, part);
                }
            }
        }
    }
}

fn values(array: &BlockArray, bytes: &[u8]) -> Vec<u64> {
    match array {
        BlockArray::Here(values) => values.to_vec(),
        BlockArray::There(array) => {
            let range = array.bytes_of(0..array.count());
            array.decode(&bytes[range.start as usize..range.end as usize]).unwrap()
        }
    }
}

fn layout(image: &Image) -> BlockLayout {
    BlockLayout {
        width: image.grid.block_width,
        height: image.grid.block_height,
        samples: image.samples,
        sample: image.sample,
        mixed_bits: image.mixed_bits.as_deref().map(Arc::from),
        data_type: image.sample.data_type().unwrap(),
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
    }
}

/// The blocks of a file whose bands lie pixel by pixel.
pub fn blocks(cpu: &dyn Engine, path: &Path) -> Blocks {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let tiff = parse(&bytes);
    let image = Image::from_directory(
        &tiff.directories[0],
        0,
        bytes.len() as u64,
        &Limits::default(),
        &mut strile_tiff::Warnings::new(),
    );
    let image = image.unwrap();
    assert!(image.planar == Planar::Chunky, "{}: bands lie apart", path.display());
    let (width, height) = (image.grid.block_width, image.grid.block_height);
    let across = image.width.div_ceil(width);
    let (offsets, lengths) = (values(&image.table.offsets, &bytes), values(&image.table.sizes, &bytes));
    let tasks = offsets.iter().zip(&lengths).enumerate().map(|(i, (&offset, &len))| {
        let (row, column) = (i as u32 / across, i as u32 % across);
        let rows = match image.grid.kind {
            BlockKind::Strip => height.min(image.height - row * height),
            BlockKind::Tile => height,
        };
        BlockTask {
            source: 0,
            layout: 0,
            selection: 0,
            output: 0,
            span: (len > 0).then_some(Span { offset, len }),
            address: BlockAddress { row, column, ..BlockAddress::default() },
            placement: Placement {
                rows,
                image_rows: height.min(image.height - row * height),
                block_x: 0,
                block_y: 0,
                width: width.min(image.width - column * width),
                height: height.min(image.height - row * height),
                out_x: column * width,
                out_y: row * height,
                first_band: 0,
            },
        }
    });
    let tasks: Vec<BlockTask> = tasks.collect();
    let layout = Arc::new(layout(&image));
    let spec =
        OutputSpec::band_last(layout.data_type, image.samples.into(), image.height, image.width).unwrap();
    let mut blocks = Blocks {
        name: path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        layout,
        tasks,
        spec,
        arena: Arc::new(Arena::from_vec(bytes)),
        expected: Arc::default(),
    };
    let output = Output::new(blocks.spec.clone()).unwrap();
    let encoded = Encoded::Staged(Arc::clone(&blocks.arena));
    let job: DecodeJob = blocks.job();
    let ticket = cpu.submit(job, encoded, std::slice::from_ref(&output), &Context::default());
    assert_eq!(ticket.unwrap().wait().unwrap().faults, []);
    blocks.expected = Arc::new(output.into_vec().unwrap());
    blocks
}
