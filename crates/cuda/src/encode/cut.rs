//! The first pass of encoding, from pixels on the device to the packed bytes of blocks: supported layouts, and
//! arguments of the kernels of `cut.cu`; counterparts of `kernels/cut/cut_abi.h`.
//!
//! The CPU engine defines the meaning of every layout. A layout that this pass does not support is refused here with
//! the reason, and the host encodes such blocks.

#![expect(unsafe_code, reason = "structs that may be taken as the bytes they are")]

mod ways;

pub use ways::launches;

use crate::abi::Address;
use strile_engine::{BlockLayout, DecodedForm, EncodeLayout, EncodeTask, Fill, OutputSpec};
use strile_tiff::{ByteOrder, DataType, Predictor, SampleFormat};

/// Name of the `.cu` file without its extension.
pub const MODULE: &str = "cut";
/// Threads per CUDA block, as in the kernels.
pub const THREADS: u32 = 128;

/// Maximum bytes of a row, and of a block.
const MOST: usize = 1 << 30;

/// Which numbers are checked for NaN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Nan {
    Kept = 0,
    Half = 1,
    Single = 2,
    Double = 3,
}

/// How the blocks of one layout are cut: `CutRecipe` of `cut_abi.h`. Made by [`on_device`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct Recipe {
    fill: [u8; 16],
    nan: [u8; 16],
    row_len: u32,
    width: u32,
    samples: u32,
    row_samples: u32,
    size: u8,
    swap: u8,
    predictor: u8,
    nan_of: u8,
    sparse: u8,
    bits: u8,
    reserved: [u8; 2],
}

/// One block to cut: `CutTask` of `cut_abi.h`. Made by [`Recipe::task`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct CutTask {
    src: Address,
    end: Address,
    dst: Address,
    band_stride: u64,
    row_stride: u64,
    column_stride: u64,
    recipe: u32,
    width: u32,
    height: u32,
    rows: u32,
    len: u32,
    index: u32,
    stored: u32,
    reserved: u32,
}

/// Arguments of all entry points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct CutArgs {
    /// `CutTask`s of one launch.
    pub tasks: Address,
    /// `Recipe`s.
    pub recipes: Address,
    /// One `u32` per block, initially `PENDING`.
    pub states: Address,
    /// One `u32` per block, written for stored blocks.
    pub sizes: Address,
    /// Number of tasks.
    pub count: u32,
    /// Always 0.
    pub reserved: u32,
}

const _: () = assert!(size_of::<Recipe>() == 56);
const _: () = assert!(size_of::<CutTask>() == 80);
const _: () = assert!(size_of::<CutArgs>() == 40);

// SAFETY: the fields fill the struct without padding, as asserted above.
unsafe impl crate::abi::Plain for Recipe {}
// SAFETY: as above.
unsafe impl crate::abi::Plain for CutTask {}

/// Positions of a task, in addition to its own fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CutPlaces {
    /// Device address of the first sample of the image.
    pub pixels: Address,
    /// Device address of the first packed byte, a multiple of 16; the task owns the bytes up to the next multiple of
    /// 16.
    pub dst: Address,
    /// Index of the recipe.
    pub recipe: u32,
    /// Index of the block's state and size.
    pub index: u32,
    /// Whether the block is stored without a codec: `dst` is in the slab, and the block is done.
    pub stored: bool,
}

/// Returns how blocks of a layout are cut, or why there is no kernel for it.
pub fn on_device(layout: &EncodeLayout) -> Result<Recipe, String> {
    let block = &*layout.block;
    let sample = block.sample;
    if block.decoded_form() != DecodedForm::Packed {
        return Err(format!("{}, a codec of pictures", block.compression.name()));
    }
    if block.mixed_bits.is_some() {
        return Err("samples of mixed depths".to_owned());
    }
    if block.reverse_bits {
        return Err("bits in reverse order".to_owned());
    }
    if block.extras.ycbcr.is_some() {
        return Err("units of luma and chroma".to_owned());
    }
    let size = block.data_type.size();
    let whole = usize::from(sample.bits) == size * 8 && sample.format != SampleFormat::ComplexInt;
    let bits = sample.bits == 1 && sample.format == SampleFormat::Uint && size == 1;
    if !whole && !bits {
        return Err(format!("samples of {sample}"));
    }
    let (predictor, swap) = if bits { (bit_predictor(block)?, 0) } else { predictor(block, size)? };
    let short = |len: Option<usize>| len.filter(|&len| (1..=MOST).contains(&len)).and_then(number);
    let row_len = short(block.packed_row_len()).ok_or("rows of more than 1 GiB")?;
    let row_samples = (block.width as usize).checked_mul(block.samples.into());
    // A sparse test with a value that one bit cannot hold is left to the host, which gets such a block as unfit.
    let sparse = layout.sparse.filter(|fill| !bits || fill.0.first().is_some_and(|&byte| byte <= 1));
    let nan_to = layout.nan_to.filter(|_| nan_of(block.data_type) != Nan::Kept);
    Ok(Recipe {
        fill: repeated(sparse, size),
        nan: repeated(nan_to, size),
        row_len,
        width: block.width,
        samples: block.samples.into(),
        row_samples: short(row_samples).ok_or("rows of more than 2^30 samples")?,
        size: u8::try_from(size).map_err(|_| format!("samples of {size} bytes"))?,
        swap,
        predictor,
        nan_of: nan_to.map_or(Nan::Kept, |_| nan_of(block.data_type)) as u8,
        sparse: sparse.is_some().into(),
        bits: bits.into(),
        reserved: [0; 2],
    })
}

/// Returns the predictor of whole samples, and the bytes of the units whose byte order is swapped; 0 for none.
fn predictor(block: &BlockLayout, size: usize) -> Result<(u8, u8), String> {
    let foreign = block.byte_order != ByteOrder::Little;
    let swap = |unit: usize| if foreign && unit > 1 { u8::try_from(unit).unwrap_or(0) } else { 0 };
    match (block.predictor, size) {
        (Predictor::None, _) => Ok((1, swap(block.sample.swap_unit().unwrap_or(1)))),
        (Predictor::Horizontal, 1 | 2 | 4 | 8) => Ok((2, swap(size))),
        (Predictor::FloatingPoint, 2 | 4 | 8) => Ok((3, 0)),
        (Predictor::Horizontal, _) => Err(format!("predictor 2 on samples of {}", block.sample)),
        (Predictor::FloatingPoint, _) => Err(format!("predictor 3 on samples of {}", block.sample)),
    }
}

fn bit_predictor(block: &BlockLayout) -> Result<u8, String> {
    match block.predictor {
        Predictor::None => Ok(1),
        _ => Err(format!("a predictor on samples of {}", block.sample)),
    }
}

fn number(n: usize) -> Option<u32> {
    u32::try_from(n).ok()
}

fn nan_of(data_type: DataType) -> Nan {
    match data_type {
        DataType::F16 => Nan::Half,
        DataType::F32 | DataType::C64 => Nan::Single,
        DataType::F64 | DataType::C128 => Nan::Double,
        DataType::U8 | DataType::I8 | DataType::U16 | DataType::I16 => Nan::Kept,
        DataType::U32 | DataType::I32 | DataType::U64 | DataType::I64 => Nan::Kept,
    }
}

/// Returns a sample repeated to 16 bytes.
fn repeated(fill: Option<Fill>, size: usize) -> [u8; 16] {
    let mut bytes = [0; 16];
    let Some(Fill(fill)) = fill else { return bytes };
    for (to, from) in bytes.iter_mut().zip(fill.iter().take(size).cycle()) {
        *to = *from;
    }
    bytes
}

impl Recipe {
    /// Returns the bytes of a packed row.
    pub fn row_len(&self) -> u32 {
        self.row_len
    }

    /// Returns the bytes of a packed block of `rows` rows; `None` for more than 1 GiB, which the kernels do not
    /// support.
    pub fn packed_len(&self, rows: u32) -> Option<u32> {
        self.row_len.checked_mul(rows).filter(|&len| len as usize <= MOST && len > 0)
    }

    /// Returns the task that cuts one block out of an image; `None` for a block of more than 1 GiB.
    ///
    /// The task must lie in the image, as engines check, and the image must have the layout's type.
    pub fn task(&self, task: &EncodeTask, spec: &OutputSpec, places: &CutPlaces) -> Option<CutTask> {
        let strides = [spec.strides.band, spec.strides.row, spec.strides.column].map(|n| n as u64);
        let [band_stride, row_stride, column_stride] = strides;
        let first = [task.first_band, task.y, task.x].map(u64::from);
        let offset = first.iter().zip(strides).map(|(&n, stride)| n.wrapping_mul(stride));
        Some(CutTask {
            src: offset.fold(places.pixels, u64::wrapping_add),
            end: places.pixels.checked_add(spec.len().ok()? as u64)?,
            dst: places.dst,
            band_stride,
            row_stride,
            column_stride,
            recipe: places.recipe,
            width: task.width,
            height: task.height,
            rows: task.rows,
            len: self.packed_len(task.rows)?,
            index: places.index,
            stored: places.stored.into(),
            reserved: 0,
        })
    }
}
