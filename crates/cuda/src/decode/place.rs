//! The pass after decompression: supported layouts, and the launches of the kernels of `place.cu`.
//!
//! The CPU engine defines the meaning of every layout. A layout that this pass does not support is refused here with
//! the reason, and the host decodes such blocks. Uncompressed blocks are placed directly from where they were read.

mod abi;
mod convert;
mod ways;

pub use abi::{NO_STATUS, PlaceArgs, PlaceLayout, PlaceTask};
pub use convert::converting_layout;
pub use ways::launches;

use abi::{Finish, LAYOUT_REVERSE, LAYOUT_SUMS, Load, Path, TASK_FILL, TASK_INTERLEAVED};
use strile_engine::{BlockLayout, ChromaTables, DecodedForm, OutputSpec, Placement};
use strile_tiff::{ByteOrder, Compression, Predictor, SampleFormat};

/// Name of the `.cu` file without its extension.
pub const MODULE: &str = "place";
/// Threads per CUDA block, as in the kernel.
pub const THREADS: u32 = 128;

/// Longest packed row.
const MAX_ROW: usize = 1 << 30;

/// Checks whether the pass supports blocks of this layout; the error says why not.
pub fn support(block: &BlockLayout) -> Result<(), String> {
    stored(block, &mut Vec::new()).map(|_| ())
}

/// Returns how blocks of a layout are placed in an output, or why there is no kernel for it. Additional tables are
/// appended to `tables`, which all layouts of a launch share.
pub fn layout(block: &BlockLayout, out: &OutputSpec, tables: &mut Vec<i32>) -> Result<PlaceLayout, String> {
    if out.data_type != block.data_type {
        return Err(format!("{} into an output of {}", block.data_type, out.data_type));
    }
    let mut layout = stored(block, tables)?;
    put_strides(&mut layout, out);
    Ok(layout)
}

fn put_strides(layout: &mut PlaceLayout, out: &OutputSpec) {
    layout.band_stride = out.strides.band as u64;
    layout.row_stride = out.strides.row as u64;
    layout.column_stride = out.strides.column as u64;
}

/// Positions of a task, in addition to its placement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskPlaces {
    /// Device address of the block's first byte; `None` for a block that is filled.
    pub src: Option<u64>,
    /// Device address of the output's first byte.
    pub output: u64,
    /// Index of the layout.
    pub layout: u32,
    /// Index of the status, or [`NO_STATUS`].
    pub status: u32,
    /// Index of the first selected sample.
    pub selection: u32,
}

impl PlaceLayout {
    /// Returns the task that places the selected samples of a block.
    ///
    /// The placement must lie in the output and in the block, and the block must hold its rows; engines check this.
    pub fn task(&self, placement: &Placement, selection: &[u16], places: &TaskPlaces) -> PlaceTask {
        let offset = u64::from(placement.first_band).wrapping_mul(self.band_stride);
        let offset = offset.wrapping_add(u64::from(placement.out_y).wrapping_mul(self.row_stride));
        let offset = offset.wrapping_add(u64::from(placement.out_x).wrapping_mul(self.column_stride));
        let samples = self.samples as usize;
        let in_order =
            selection.len() == samples && selection.iter().zip(0..).all(|(&sample, i)| sample == i);
        let pixel = u64::from(self.size) * u64::from(self.samples);
        let adjacent = self.samples == 1 || self.band_stride == u64::from(self.size);
        let interleaved = in_order && adjacent && self.column_stride == pixel;
        PlaceTask {
            src: places.src.unwrap_or(0),
            dst: places.output.wrapping_add(offset),
            layout: places.layout,
            status: places.status,
            selection: places.selection,
            bands: u32::try_from(selection.len()).unwrap_or(0),
            block_x: placement.block_x,
            block_y: placement.block_y,
            width: placement.width,
            height: placement.height,
            flags: if places.src.is_none() { TASK_FILL } else { 0 }
                | if interleaved { TASK_INTERLEAVED } else { 0 },
            sought: 0,
        }
    }

    /// Returns the same layout for an output with other strides.
    pub fn with_strides(&self, out: &OutputSpec) -> Self {
        let mut layout = *self;
        put_strides(&mut layout, out);
        layout
    }

    /// Returns the layout of pixels that are already in an output, for a kernel that only reads them.
    pub(crate) fn of_output(out: &OutputSpec) -> Self {
        let mut layout = Self { size: small(out.data_type.size()), samples: out.bands, ..Self::default() };
        put_strides(&mut layout, out);
        layout
    }

    /// Returns the task for some bands and rows of such pixels, which begin at `start`.
    pub(crate) fn rows(&self, start: u64, bands: (u32, u32), rows: (u32, u32), columns: u32) -> PlaceTask {
        let offset = u64::from(bands.0).wrapping_mul(self.band_stride);
        let offset = offset.wrapping_add(u64::from(rows.0).wrapping_mul(self.row_stride));
        let size = u64::from(self.size);
        let adjacent = self.samples == 1 || self.band_stride == size;
        let whole = bands.1 == self.samples && self.column_stride == size * u64::from(self.samples);
        PlaceTask {
            dst: start.wrapping_add(offset),
            status: NO_STATUS,
            bands: bands.1,
            width: columns,
            height: rows.1,
            flags: if adjacent && whole { TASK_INTERLEAVED } else { 0 },
            ..PlaceTask::default()
        }
    }

    /// Returns the bytes of an output sample.
    pub fn sample_len(&self) -> u64 {
        self.size.into()
    }
}

/// Returns the layout of the stored side.
fn stored(block: &BlockLayout, tables: &mut Vec<i32>) -> Result<PlaceLayout, String> {
    let packed = block.decoded_form() == DecodedForm::Packed;
    let size = block.data_type.size();
    let row_len = if packed { block.packed_row_len() } else { block.samples_len(1) };
    let row_len = row_len.filter(|&len| len <= MAX_ROW).ok_or("rows of more than 1 GiB")?;
    let whole_row = block.samples_len(1).filter(|&len| len <= MAX_ROW).ok_or("rows of more than 1 GiB")?;
    let number = |n: usize| u32::try_from(n).map_err(|_| "rows of more than 1 GiB".to_owned());
    number(whole_row)?;
    let mut layout = PlaceLayout {
        fill: block.extras.fill.0,
        row_len: number(row_len)?,
        width: block.width,
        samples: block.samples.into(),
        bits: block.sample.bits.into(),
        pixel_bits: u32::try_from(block.pixel_bits()).map_err(|_| "pixels of more than 512 MiB")?,
        size: small(size),
        native: small(size),
        stored: small(size),
        down: 1,
        across: 1,
        ..PlaceLayout::default()
    };
    if packed {
        // The bits of compressed streams are reversed before decoding, not after.
        if block.reverse_bits && block.compression == Compression::None {
            layout.flags |= LAYOUT_REVERSE;
        }
        match block.extras.ycbcr {
            Some(ycbcr) => units(block, &ycbcr, &mut layout, tables)?,
            None => samples(block, &mut layout, tables)?,
        }
    } else {
        whole(&mut layout, size, 0);
    }
    if layout.flags & LAYOUT_REVERSE != 0 {
        layout.path = Path::Each as u8;
    }
    Ok(layout)
}

/// Sets up samples of bits, with or without a predictor.
fn samples(block: &BlockLayout, layout: &mut PlaceLayout, tables: &mut Vec<i32>) -> Result<(), String> {
    let sample = block.sample;
    let foreign = block.byte_order != ByteOrder::Little;
    // Integers of other depths are packed most significant bit first in both byte orders, except 24-bit ones in
    // big-endian files, which have the least significant byte first; 24-bit floats are three bytes in the file's order.
    let reversed = sample.is_reversed_triple(block.byte_order);
    let whole_bytes = sample.whole_bytes().filter(|bytes| match bytes {
        3 => sample.format == SampleFormat::Float,
        bytes => matches!(bytes, 1 | 2 | 4 | 8 | 16),
    });
    let whole_bytes = whole_bytes.filter(|_| block.mixed_bits.is_none());
    let size = block.data_type.size();
    if let Some(depths) = &block.mixed_bits {
        return mixed(block, depths, layout, tables);
    }
    match (block.predictor, whole_bytes) {
        (Predictor::None, Some(bytes)) => {
            let unit = sample.swap_unit().unwrap_or(1);
            whole(layout, bytes, if foreign && unit > 1 { unit } else { 0 });
        }
        (Predictor::Horizontal, Some(lane @ (1 | 2 | 4 | 8))) => {
            whole(layout, lane, if foreign && lane > 1 { lane } else { 0 });
            layout.flags |= LAYOUT_SUMS;
            layout.path = if lane < 8 { Path::Sums } else { Path::Each } as u8;
        }
        (Predictor::FloatingPoint, Some(bytes @ (2 | 3 | 4 | 8))) => {
            whole(layout, bytes, 0);
            layout.flags |= LAYOUT_SUMS;
            layout.load = Load::Planes as u8;
            let fast = bytes != 3 && block.samples == 1;
            layout.path = if fast { Path::Planes } else { Path::Each } as u8;
        }
        (Predictor::None, None) if reversed => whole(layout, 3, 0),
        (Predictor::Horizontal, None) if reversed => {
            whole(layout, 3, 0);
            layout.flags |= LAYOUT_SUMS;
        }
        (Predictor::None, None) if sample.bits <= 64 => bits(layout),
        // The three bytes of a float are summed as stored, whatever the byte order of the file.
        (Predictor::Horizontal, Some(3)) => {
            whole(layout, 3, 0);
            layout.flags |= LAYOUT_SUMS;
        }
        (Predictor::Horizontal, None) if sample.bits <= 64 => {
            bits(layout);
            layout.flags |= LAYOUT_SUMS;
        }
        (Predictor::None, None) => return Err(format!("samples of {sample}")),
        (Predictor::Horizontal, _) => return Err(format!("predictor 2 on samples of {sample}")),
        (Predictor::FloatingPoint, _) => return Err(format!("predictor 3 on samples of {sample}")),
    }
    let same = usize::from(sample.bits) == size * 8 && sample.format != SampleFormat::ComplexInt;
    if !same {
        layout.path = Path::Each as u8;
        let finish = match sample.format {
            SampleFormat::Uint => Finish::None,
            SampleFormat::Int => Finish::Sign,
            SampleFormat::Float if sample.bits == 24 => Finish::Float24,
            SampleFormat::ComplexInt if matches!(sample.bits, 16 | 32 | 64) => Finish::Pair,
            SampleFormat::Float | SampleFormat::ComplexInt | SampleFormat::ComplexFloat => {
                return Err(format!("samples of {sample}"));
            }
        };
        layout.finish = finish as u8;
    }
    Ok(())
}

/// Sets up depths that differ from sample to sample.
fn mixed(
    block: &BlockLayout,
    depths: &[u16],
    layout: &mut PlaceLayout,
    tables: &mut Vec<i32>,
) -> Result<(), String> {
    let sample = block.sample;
    let integers = matches!(sample.format, SampleFormat::Uint | SampleFormat::Int);
    let first = depths.first().copied().unwrap_or(0);
    let fits = depths
        .iter()
        .all(|&bits| (1..=64).contains(&bits) && usize::from(bits) <= block.data_type.size() * 8);
    if block.predictor != Predictor::None || !integers || !fits || depths.len() != usize::from(block.samples)
    {
        return Err(format!("mixed depths of {sample}, or with a predictor"));
    }
    bits(layout);
    if depths.iter().all(|&bits| bits == first) {
        layout.bits = first.into();
        let sign = sample.format == SampleFormat::Int;
        layout.finish = if sign { Finish::Sign } else { Finish::None } as u8;
        return Ok(());
    }
    layout.finish = Finish::Widen as u8;
    layout.table = u32::try_from(tables.len()).map_err(|_| "too many tables")?;
    let mut at = 0;
    for &bits in depths {
        tables.extend([i32::from(bits), at]);
        at += i32::from(bits);
    }
    Ok(())
}

/// Sets up units of subsampled chroma.
fn units(
    block: &BlockLayout,
    ycbcr: &strile_tiff::YCbCr,
    layout: &mut PlaceLayout,
    tables: &mut Vec<i32>,
) -> Result<(), String> {
    let (across, down) = ycbcr.subsampling;
    if block.sample.bits != 8 || block.samples != 3 || block.mixed_bits.is_some() {
        return Err(format!("YCbCr of {} samples of {}", block.samples, block.sample));
    }
    if !matches!((across, down), (1 | 2 | 4, 1 | 2 | 4)) {
        return Err(format!("chroma subsampling {across} × {down}"));
    }
    if block.predictor != Predictor::None {
        return Err("a predictor on YCbCr".to_owned());
    }
    layout.path = Path::Each as u8;
    layout.load = Load::Chroma as u8;
    (layout.across, layout.down) = (across, down);
    layout.table = u32::try_from(tables.len()).map_err(|_| "too many tables")?;
    let ChromaTables { luma, red_of_cr, green_of_cr, green_of_cb, blue_of_cb } = ChromaTables::new(ycbcr);
    tables.extend([luma, red_of_cr, green_of_cr, green_of_cb, blue_of_cb].iter().flatten());
    Ok(())
}

/// Sets up samples of whole bytes; `swap` bytes are in reverse order.
fn whole(layout: &mut PlaceLayout, bytes: usize, swap: usize) {
    layout.path = Path::Copy as u8;
    layout.load = Load::Bytes as u8;
    layout.swap = small(swap);
    layout.stored = small(bytes.min(8));
    if bytes == 16 {
        layout.finish = Finish::Double as u8;
    }
}

/// Sets up samples of bits, most significant first.
fn bits(layout: &mut PlaceLayout) {
    layout.path = Path::Each as u8;
    layout.load = Load::Bits as u8;
}

/// Returns a size of at most 16 bytes.
fn small(n: usize) -> u8 {
    u8::try_from(n).unwrap_or(0)
}
