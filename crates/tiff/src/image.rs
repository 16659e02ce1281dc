//! Validates a directory and converts it to an `Image`. This is the only place where statements of a file become facts:
//! later code never checks whether a tag exists.

use crate::block_table::{BlockArray, BlockTable};
use crate::colour::{Colour, colour_of};
use crate::directory::{Directory, place_of};
use crate::grid::{BlockGrid, BlockKind};
use crate::samples_of::{Samples, samples_of};
use crate::{Compression, Limits, Predictor, SampleFormat, SampleType, Tag, TiffError, Warning, Warnings};

/// The purpose of an image (tag NewSubfileType, or SubfileType).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Subfile {
    /// A reduced version of another image.
    pub reduced: bool,
    /// One page of several.
    pub page: bool,
    /// A transparency mask of another image.
    pub mask: bool,
}

/// How the samples of a pixel are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Planar {
    /// Interleaved in each block.
    Chunky,
    /// Each sample in separate blocks.
    Separate,
}

/// The properties of one image.
#[derive(Debug, Clone, PartialEq)]
pub struct Image {
    /// Index of its directory in `Tiff::directories`.
    pub directory: usize,
    /// Its purpose.
    pub subfile: Subfile,
    /// Pixels across, at least 1.
    pub width: u32,
    /// Rows, at least 1.
    pub height: u32,
    /// Samples per pixel, at least 1.
    pub samples: u16,
    /// The type of every sample; the widest one if depths are mixed.
    pub sample: SampleType,
    /// Depth of each sample, if they differ.
    pub mixed_bits: Option<Vec<u16>>,
    /// Whether samples are interleaved or separate.
    pub planar: Planar,
    /// Strips or tiles.
    pub grid: BlockGrid,
    /// Offsets and sizes of the blocks.
    pub table: BlockTable,
    /// The codec.
    pub compression: Compression,
    /// Transformation before compression.
    pub predictor: Predictor,
    /// Whether FillOrder is 2.
    pub reverse_bits: bool,
    /// Byte order of samples.
    pub byte_order: crate::ByteOrder,
    /// Tag Orientation, 1 to 8. It is reported, but not applied.
    pub orientation: u8,
    /// The meaning of samples, and codec parameters that depend on it.
    pub colour: Colour,
}

impl Image {
    /// Validates the directory at `index` and returns its image.
    pub fn from_directory(
        directory: &Directory,
        index: usize,
        file_len: u64,
        limits: &Limits,
        warnings: &mut Warnings,
    ) -> Result<Self, TiffError> {
        let place = place_of(directory.offset);
        let width = directory.required_size(Tag::ImageWidth)?;
        let height = directory.required_size(Tag::ImageLength)?;
        let depth = directory.integer(Tag::ImageDepth)?.unwrap_or(1);
        if depth > 1 {
            return Err(TiffError::unsupported(place, format!("an image of {depth} planes in depth")));
        }
        let Samples { count: samples, sample, mixed_bits } = samples_of(directory, warnings)?;
        let compression = compression_of(directory)?;
        let planar = planar_of(directory, samples, warnings)?;
        if mixed_bits.is_some() && planar == Planar::Separate {
            return Err(TiffError::unsupported(place, "separate planes of different depths"));
        }
        let predictor = predictor_of(directory, compression, sample, warnings)?;
        let fill_order = directory.short(Tag::FillOrder, 1)?;
        let grid = grid_of(directory, (width, height), if planar == Planar::Separate { samples } else { 1 })?;
        if grid.blocks() > limits.blocks {
            let (found, limit) = (grid.blocks(), limits.blocks);
            return Err(TiffError::Limit { place, what: "number of blocks", found, limit });
        }
        let pixel_bits = match (&mixed_bits, planar) {
            (Some(bits), _) => bits.iter().map(|&b| u64::from(b)).sum(),
            (None, Planar::Chunky) => u64::from(samples) * u64::from(sample.bits),
            (None, Planar::Separate) => u64::from(sample.bits),
        };
        let colour = colour_of(directory, samples, sample, planar, compression, warnings)?;
        let stored = Stored { compression, pixel_bits, height, file_len };
        let table = table_of(directory, &grid, &stored, warnings)?;
        Ok(Self {
            directory: index,
            subfile: subfile_of(directory)?,
            width,
            height,
            samples,
            sample,
            mixed_bits,
            planar,
            grid,
            table,
            compression,
            predictor,
            reverse_bits: fill_order == 2,
            byte_order: directory.byte_order,
            orientation: orientation_of(directory, warnings)?,
            colour,
        })
    }
}

/// Depths, formats and meanings of samples are listed for callers, one per sample.
const PER_SAMPLE: usize = 32;

impl Image {
    /// Returns the memory of the image in bytes, without its table of blocks, but with the lists of samples for
    /// callers.
    pub fn facts_len(&self) -> u64 {
        let Colour { extra_samples, colour_map, jpeg_tables, .. } = &self.colour;
        let bits = self.mixed_bits.as_ref().map_or(0, |bits| size_of_val(bits.as_slice()));
        let map = colour_map.as_ref().map_or(0, |map| size_of_val(map.as_slice()));
        let tables = jpeg_tables.as_ref().map_or(0, Vec::len);
        let samples = PER_SAMPLE * usize::from(self.samples);
        (size_of::<Self>() + samples + bits + size_of_val(extra_samples.as_slice()) + map + tables) as u64
    }
}

fn subfile_of(directory: &Directory) -> Result<Subfile, TiffError> {
    if let Some(flags) = directory.integer(Tag::NewSubfileType)? {
        return Ok(Subfile { reduced: flags & 1 != 0, page: flags & 2 != 0, mask: flags & 4 != 0 });
    }
    let old = directory.integer(Tag::SubfileType)?.unwrap_or(1);
    Ok(Subfile { reduced: old == 2, page: old == 3, mask: false })
}

fn compression_of(directory: &Directory) -> Result<Compression, TiffError> {
    let code = directory.short(Tag::Compression, 1)?;
    Compression::from_code(code).ok_or_else(|| {
        let known = match code {
            9 => " (JBIG, T.85)",
            10 => " (JBIG, T.43)",
            32895..=32898 => " (IT8)",
            32908 | 32909 => " (Pixar)",
            32947 => " (Kodak DCS)",
            34661 => " (JBIG)",
            34718 => " (Microsoft document imaging)",
            65000 => " (Kodak DCR)",
            65535 => " (Pentax PEF)",
            _ => "",
        };
        TiffError::unsupported(directory.place(Tag::Compression), format!("compression {code}{known}"))
    })
}

fn planar_of(directory: &Directory, samples: u16, warnings: &mut Warnings) -> Result<Planar, TiffError> {
    match directory.short(Tag::PlanarConfiguration, 1)? {
        // One sample is the same either way.
        2 if samples > 1 => Ok(Planar::Separate),
        1 | 2 => Ok(Planar::Chunky),
        found if samples == 1 => {
            let place = directory.place(Tag::PlanarConfiguration);
            warnings.push(Warning::new("bad-planar-configuration", place, format!("{found}, taken as 1")));
            Ok(Planar::Chunky)
        }
        found => {
            let place = directory.place(Tag::PlanarConfiguration);
            Err(TiffError::invalid(place, format!("expected 1 or 2, got {found}")))
        }
    }
}

fn predictor_of(
    directory: &Directory,
    compression: Compression,
    sample: SampleType,
    warnings: &mut Warnings,
) -> Result<Predictor, TiffError> {
    let place = || directory.place(Tag::Predictor);
    let code = directory.short(Tag::Predictor, 1)?;
    use Compression as C;
    let applies = matches!(compression, C::Lzw | C::Deflate | C::Zstd | C::Lzma | C::Lz4);
    if code != 1 && !applies {
        let message = format!("{code} ignored, as compression {} has no predictor", compression.name());
        warnings.push(Warning::new("predictor-ignored", place(), message));
        return Ok(Predictor::None);
    }
    match (code, sample.format, sample.bits) {
        (1, ..) => Ok(Predictor::None),
        (2, _, 8 | 16 | 32 | 64) => Ok(Predictor::Horizontal),
        (3, SampleFormat::Float, 16 | 24 | 32 | 64) => Ok(Predictor::FloatingPoint),
        (2 | 3, ..) => Err(TiffError::unsupported(place(), format!("predictor {code} on {sample} samples"))),
        _ => Err(TiffError::invalid(place(), format!("expected 1, 2 or 3, got {code}"))),
    }
}

fn orientation_of(directory: &Directory, warnings: &mut Warnings) -> Result<u8, TiffError> {
    let code = directory.short(Tag::Orientation, 1)?;
    match u8::try_from(code) {
        Ok(code @ 1..=8) => Ok(code),
        _ => {
            let message = format!("expected 1 to 8, got {code}; taken as 1");
            warnings.push(Warning::new("bad-orientation", directory.place(Tag::Orientation), message));
            Ok(1)
        }
    }
}

fn grid_of(directory: &Directory, image: (u32, u32), planes: u16) -> Result<BlockGrid, TiffError> {
    if directory.get(Tag::TileWidth).is_some() || directory.get(Tag::TileLength).is_some() {
        let block = (directory.required_size(Tag::TileWidth)?, directory.required_size(Tag::TileLength)?);
        return Ok(BlockGrid::new(BlockKind::Tile, image, block, planes));
    }
    let rows = directory.integer(Tag::RowsPerStrip)?.unwrap_or(u64::from(u32::MAX));
    if rows == 0 {
        return Err(TiffError::invalid(directory.place(Tag::RowsPerStrip), "expected at least 1, got 0"));
    }
    let rows = u32::try_from(rows).unwrap_or(u32::MAX).min(image.1);
    Ok(BlockGrid::new(BlockKind::Strip, image, (image.0, rows), planes))
}

/// Properties from which the sizes of blocks follow if the file does not state them.
struct Stored {
    compression: Compression,
    pixel_bits: u64,
    height: u32,
    file_len: u64,
}

fn table_of(
    directory: &Directory,
    grid: &BlockGrid,
    stored: &Stored,
    warnings: &mut Warnings,
) -> Result<BlockTable, TiffError> {
    let tiled = grid.kind == BlockKind::Tile;
    let blocks = grid.blocks();
    let (offsets, sizes) = BlockTable::from_directory(directory, tiled, blocks, warnings)?;
    let tag = if tiled { Tag::TileOffsets } else { Tag::StripOffsets };
    if offsets.count() > blocks {
        let message = format!("{} values for {blocks} blocks, the rest ignored", offsets.count());
        warnings.push(Warning::new("extra-block-offsets", directory.place(tag), message));
    }
    // A single block of size 0 with an offset is a writer's mistake, not a sparse block, as in libtiff.
    let lone_zero = matches!(
        (&offsets, &sizes),
        (BlockArray::Here(offsets), Some(BlockArray::Here(sizes)))
            if matches!(offsets.as_slice(), [offset] if *offset != 0) && sizes.as_slice() == [0]
    );
    let sizes = match sizes {
        Some(sizes) if !lone_zero => sizes,
        _ => {
            let message = "sizes of blocks are missing and taken from where blocks begin";
            warnings.push(Warning::new("estimated-block-sizes", place_of(directory.offset), message));
            BlockArray::Here(estimate_sizes(directory, grid, &offsets, stored)?)
        }
    };
    Ok(BlockTable { offsets, sizes })
}

/// Returns estimated sizes of blocks: from the dimensions of the image if uncompressed, else up to the next block or
/// the end of file.
fn estimate_sizes(
    directory: &Directory,
    grid: &BlockGrid,
    offsets: &BlockArray,
    stored: &Stored,
) -> Result<Vec<u64>, TiffError> {
    let BlockArray::Here(offsets) = offsets else {
        let place = place_of(directory.offset);
        return Err(TiffError::invalid(
            place,
            "sizes of blocks are missing and there are too many to estimate",
        ));
    };
    let row_len = (u64::from(grid.block_width).saturating_mul(stored.pixel_bits)).div_ceil(8);
    let mut sorted = offsets.clone();
    sorted.sort_unstable();
    let per_plane = u64::from(grid.across) * u64::from(grid.down);
    let size_of = |(index, &offset): (usize, &u64)| {
        if offset == 0 {
            return 0;
        }
        let next = sorted.get(sorted.partition_point(|&o| o <= offset)).copied();
        let room = next.unwrap_or(stored.file_len).min(stored.file_len).saturating_sub(offset);
        if stored.compression != Compression::None {
            return room;
        }
        let block_row = (index as u64 % per_plane) / u64::from(grid.across);
        let rows = grid.rows_of(u32::try_from(block_row).unwrap_or(u32::MAX), stored.height);
        row_len.saturating_mul(u64::from(rows)).min(stored.file_len.saturating_sub(offset))
    };
    Ok(offsets.iter().enumerate().map(size_of).collect())
}
