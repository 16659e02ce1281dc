//! The result of a read: pixels with their shape, type and location, in host or GPU memory.

use crate::error::{Error, Result};
use crate::options::Interleave;
use crate::raster::Raster;
use crate::read::{Done, WindowFault, fetch_back};
use bytemuck::{AnyBitPattern, pod_read_unaligned, try_cast_slice};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use strile_crs::{Crs, Operation};
use strile_engine::{
    Context, DeviceBytes, Engine, EngineError, Fill, LocatedFault, Location, Output, OutputSpec, Report,
};
use strile_tiff::DataType;
use strile_tiff::geo::GeoTransform;

/// Decoded pixels: one window, many windows of a batch, or files on a grid, in host or GPU memory.
///
/// The memory is contiguous and in native byte order. [`samples`](Self::samples) returns it as numbers,
/// [`into_host`](Self::into_host) brings it from a GPU to the host.
///
/// ```no_run
/// use strile::{Context, Dataset, ReadOptions};
///
/// let pixels = Dataset::open("dem.tif")?.read(&ReadOptions::new().masked(true), &Context::default())?;
/// let heights = pixels.samples::<f32>()?;
/// println!("{} × {}, first {}", pixels.columns, pixels.rows, heights[0]);
/// # Ok::<(), strile::Error>(())
/// ```
#[non_exhaustive]
pub struct Pixels {
    /// Type of a sample.
    pub data_type: DataType,
    /// Windows of a batch; `None` for a read that is not a batch.
    pub windows: Option<u32>,
    /// Bands, of a batch those of one window.
    pub bands: u32,
    /// Rows.
    pub rows: u32,
    /// Columns.
    pub columns: u32,
    /// Order of bands. Batches are band by band, one window after the other.
    pub interleave: Interleave,
    /// Transform from columns and rows of pixel corners to coordinates of `crs`. `None` for batches, for files without
    /// one, for pages after the first, and for a result that was turned.
    pub transform: Option<GeoTransform>,
    /// The reference system of `transform`.
    pub crs: Option<Crs>,
    /// The value of sparse and faulty blocks. 0 for batches, whose files may differ.
    pub fill: Fill,
    /// The level that each window was read from. For a read onto a grid, the level of each file.
    pub levels: Vec<usize>,
    /// The operations between the datums, in the order of `levels`, with their codes and stated accuracies. Empty for a
    /// read that is not onto a grid.
    pub operations: Vec<Arc<Operation>>,
    /// Faulty blocks that were filled, as [`OnFault::Fill`](crate::read::OnFault::Fill) requests.
    pub faults: Vec<WindowFault>,
    /// Sources that mosaics skipped, by their names in the mosaic, and the reasons.
    pub holes: Vec<(String, String)>,
    /// Report of the engine. Its faults are in `faults`.
    pub report: Report,
    pub(crate) memory: Memory,
}

/// The location of pixels, and the owner of their memory.
pub(crate) enum Memory {
    Host(Vec<u8>),
    Device { output: Output, engine: Arc<dyn Engine> },
}

impl Pixels {
    /// Wraps finished pixels in host memory.
    pub(crate) fn of_raster(raster: Raster, report: Report, faults: Vec<WindowFault>) -> Self {
        let Raster { data_type, bands, rows, columns, interleave, pixels, fill } = raster;
        let memory = Memory::Host(pixels);
        Self::new((data_type, [bands, rows, columns]), None, (interleave, fill), (report, faults), memory)
    }

    /// Returns pixels without a location, of one window or of `windows`: `bands` are those of all windows.
    fn new(
        (data_type, [bands, rows, columns]): (DataType, [u32; 3]),
        windows: Option<u32>,
        (interleave, fill): (Interleave, Fill),
        (report, faults): (Report, Vec<WindowFault>),
        memory: Memory,
    ) -> Self {
        Self {
            data_type,
            windows,
            bands: bands / windows.unwrap_or(1).max(1),
            rows,
            columns,
            interleave,
            transform: None,
            crs: None,
            fill,
            levels: Vec::new(),
            operations: Vec::new(),
            faults,
            holes: Vec::new(),
            report: Report { faults: Vec::new(), ..report },
            memory,
        }
    }

    /// Returns the pixels of a finished read, of one window or of several.
    pub(crate) fn of_done(
        done: Done,
        windows: Option<u32>,
        (interleave, fill): (Interleave, Fill),
    ) -> Result<Self> {
        let Done { output, report, faults, engine } = done;
        let OutputSpec { data_type, bands, rows, columns, .. } = *output.spec();
        let memory = match output.location() {
            Location::Host => Memory::Host(output.into_vec().ok_or_else(abandoned)?),
            Location::Cuda(_) => Memory::Device { output, engine },
        };
        let shape = (data_type, [bands, rows, columns]);
        Ok(Self::new(shape, windows, (interleave, fill), (report, faults), memory))
    }

    /// Adds the georeferencing of the pixels.
    pub(crate) fn placed(self, transform: Option<GeoTransform>, crs: Option<&Crs>) -> Self {
        Self { transform, crs: crs.cloned(), ..self }
    }

    /// Returns the pixels in host memory, in the crate's own form.
    pub(crate) fn into_raster(self) -> Result<Raster> {
        let Self { data_type, bands, rows, columns, interleave, fill, .. } = self;
        let pixels = self.into_bytes()?;
        Ok(Raster { data_type, bands, rows, columns, interleave, pixels, fill })
    }

    /// Returns the operation between the datums for a window of a batch, or for a file of any other read, by its number
    /// from 0. `None` for a read that is not onto a grid.
    ///
    /// ```no_run
    /// # use strile::grid::{Grid, WarpOptions};
    /// # use strile::{Context, Dataset, ReadOptions};
    /// let read = ReadOptions::new().onto(Grid::xyz_tile(12, 2218, 1391, 512)?, WarpOptions::new());
    /// let pixels = Dataset::open("scene.tif")?.read(&read, &Context::default())?;
    /// if let Some(operation) = pixels.operation(0) {
    ///     println!("{operation}, accuracy {:?} m", operation.accuracy);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn operation(&self, number: usize) -> Option<&Operation> {
        self.operations.get(number).map(AsRef::as_ref)
    }

    /// Returns windows, bands, rows and columns; a read that is not a batch has one window.
    pub fn shape(&self) -> [u32; 4] {
        [self.windows.unwrap_or(1), self.bands, self.rows, self.columns]
    }

    /// Returns the shape of the memory. The bands of a batch are those of all windows, one window after the other.
    pub fn spec(&self) -> Result<OutputSpec> {
        if let Memory::Device { output, .. } = &self.memory {
            return Ok(output.spec().clone());
        }
        let make = match self.interleave {
            Interleave::BandFirst => OutputSpec::band_first,
            Interleave::BandLast => OutputSpec::band_last,
        };
        let bands = self.bands.saturating_mul(self.windows.unwrap_or(1));
        make(self.data_type, bands, self.rows, self.columns)
            .map_err(|error| Error::output(error, |_| abandoned()))
    }

    /// Returns where the pixels are.
    pub fn location(&self) -> Location {
        match &self.memory {
            Memory::Host(_) => Location::Host,
            Memory::Device { output, .. } => output.location(),
        }
    }

    /// Returns the bytes of pixels in host memory, or an error for pixels in GPU memory.
    pub fn bytes(&self) -> Result<&[u8]> {
        match &self.memory {
            Memory::Host(bytes) => Ok(bytes),
            Memory::Device { output, .. } => Err(Error::OnDevice { location: output.location() }),
        }
    }

    /// Returns the bytes of pixels in host memory without a copy, or an error for pixels in GPU memory.
    pub fn into_bytes(self) -> Result<Vec<u8>> {
        match self.memory {
            Memory::Host(bytes) => Ok(bytes),
            Memory::Device { output, .. } => Err(Error::OnDevice { location: output.location() }),
        }
    }

    /// Returns the GPU memory of the pixels, for another read into it; `None` for host memory.
    pub fn output(&self) -> Option<&Output> {
        match &self.memory {
            Memory::Host(_) => None,
            Memory::Device { output, .. } => Some(output),
        }
    }

    /// Returns the bytes in GPU memory; `None` for host memory.
    pub fn device_bytes(&self) -> Option<&DeviceBytes> {
        self.output().and_then(Output::device_bytes)
    }

    /// Returns the pixels in host memory: unchanged if they are there already, else as a copy.
    pub fn into_host(self, context: &Context) -> Result<Self> {
        let Memory::Device { output, engine } = &self.memory else { return Ok(self) };
        let copy = copied(output, engine.as_ref(), self.interleave, context)?;
        Ok(Self { memory: Memory::Host(copy), ..self })
    }

    /// Returns a copy of the pixels in host memory.
    pub fn to_host(&self, context: &Context) -> Result<Self> {
        let copy = match &self.memory {
            Memory::Host(bytes) => {
                let _lease = context.take(bytes.len() as u64, COPY)?;
                let mut copy = strile_engine::memory::try_with_capacity(bytes.len(), COPY)?;
                copy.extend_from_slice(bytes);
                copy
            }
            Memory::Device { output, engine } => copied(output, engine.as_ref(), self.interleave, context)?,
        };
        Ok(Self {
            crs: self.crs.clone(),
            levels: self.levels.clone(),
            operations: self.operations.clone(),
            faults: self.faults.clone(),
            holes: self.holes.clone(),
            report: self.report.clone(),
            memory: Memory::Host(copy),
            ..*self
        })
    }

    /// Returns the faulty blocks that were filled, without their files.
    pub(crate) fn located_faults(&self) -> Vec<LocatedFault> {
        self.faults.iter().map(|fault| fault.fault.clone()).collect()
    }
}

/// Purpose of a copy's memory, for messages of the budget.
const COPY: &str = "a copy of the pixels";

fn abandoned() -> Error {
    Error::Engine(EngineError::Abandoned)
}

/// Copies a device's pixels to host memory.
fn copied(
    output: &Output,
    engine: &dyn Engine,
    interleave: Interleave,
    context: &Context,
) -> Result<Vec<u8>> {
    let spec = output.spec().clone();
    let need = spec.len().map_or(u64::MAX, |len| len as u64);
    let _lease = context.take(need, COPY)?;
    let copy = Output::new(spec).map_err(|error| Error::output(error, |_| abandoned()))?;
    let bytes = output.device_bytes().ok_or_else(abandoned)?;
    fetch_back(bytes, interleave, engine, &copy, context)?;
    copy.into_vec().ok_or_else(abandoned)
}

/// Compares pixels in host memory: they are equal if type, shape, layout, values and faults are. Pixels in GPU memory
/// are never equal: compare what `to_host` returns.
impl PartialEq for Pixels {
    fn eq(&self, other: &Self) -> bool {
        let (Memory::Host(own), Memory::Host(others)) = (&self.memory, &other.memory) else { return false };
        let shape = |of: &Self| (of.data_type, of.windows, of.shape(), of.interleave, of.fill);
        shape(self) == shape(other) && own == others && self.faults == other.faults
    }
}

impl fmt::Debug for Pixels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [windows, bands, rows, columns] = self.shape();
        write!(f, "Pixels(")?;
        if self.windows.is_some() {
            write!(f, "{windows} windows × ")?;
        }
        write!(f, "{bands} × {rows} × {columns} {} in {})", self.data_type, self.location())
    }
}

mod sealed {
    pub trait Sealed {}
}

/// A Rust type that samples can have. Complex samples are pairs: real part, imaginary part.
pub trait Sample: sealed::Sealed + AnyBitPattern + bytemuck::NoUninit {
    /// The type of the samples.
    const DATA_TYPE: DataType;
}

macro_rules! samples {
    ($($rust:ty = $name:ident),* $(,)?) => {
        $(
            impl sealed::Sealed for $rust {}
            impl Sample for $rust {
                const DATA_TYPE: DataType = DataType::$name;
            }
        )*
    };
}

samples! {
    u8 = U8, i8 = I8, u16 = U16, i16 = I16, u32 = U32, i32 = I32, u64 = U64, i64 = I64,
    f32 = F32, f64 = F64, [f32; 2] = C64, [f64; 2] = C128,
}

impl Pixels {
    /// Returns the samples in the order of `interleave`, or an error if they have another type or are in GPU memory.
    /// Half floats have no Rust type: [`bytes`](Self::bytes) returns their bytes.
    ///
    /// The samples are borrowed if the pixels are aligned for the type, which is nearly always the case, and copied
    /// otherwise.
    ///
    /// ```
    /// # use testkit::{ImageSpec, Pattern, Pixels};
    /// # use strile::io::MemorySource;
    /// # use strile::{Context, Dataset, OpenOptions, ReadOptions, tiff};
    /// # let sample = tiff::SampleType { format: tiff::SampleFormat::Float, bits: 32 };
    /// # let pixels = Pixels::generate(Pattern::Dem, sample, [1, 6, 8], 1);
    /// # let bytes = ImageSpec::new(sample).build(&pixels, tiff::ByteOrder::Little, false).bytes;
    /// # let source = std::sync::Arc::new(MemorySource::new("dem.tif", bytes));
    /// # let dataset = Dataset::from_source(source, &OpenOptions::default())?;
    /// let pixels = dataset.read(&ReadOptions::new(), &Context::default())?;
    /// let heights = pixels.samples::<f32>()?;
    /// assert_eq!(heights.len(), 6 * 8);
    /// assert!(pixels.samples::<u16>().is_err());
    /// # Ok::<(), strile::Error>(())
    /// ```
    pub fn samples<T: Sample>(&self) -> Result<Cow<'_, [T]>> {
        if T::DATA_TYPE != self.data_type {
            return Err(Error::SampleType { expected: T::DATA_TYPE, found: self.data_type });
        }
        self.bytes().map(samples_of)
    }
}

fn samples_of<T: Sample>(bytes: &[u8]) -> Cow<'_, [T]> {
    match try_cast_slice(bytes) {
        Ok(samples) => Cow::Borrowed(samples),
        Err(_) => Cow::Owned(bytes.chunks_exact(size_of::<T>()).map(pod_read_unaligned).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(data_type: DataType, pixels: Vec<u8>) -> Pixels {
        let columns = u32::try_from(pixels.len() / data_type.size()).unwrap();
        let interleave = Interleave::BandFirst;
        let fill = Fill::default();
        let raster = Raster { data_type, bands: 1, rows: 1, columns, interleave, pixels, fill };
        Pixels::of_raster(raster, Report::default(), Vec::new())
    }

    #[test]
    fn samples_have_the_type_of_the_pixels() {
        let bytes: Vec<u8> = [1.5f64, -2.0].iter().flat_map(|value| value.to_ne_bytes()).collect();
        assert_eq!(made(DataType::F64, bytes.clone()).samples::<f64>().unwrap().as_ref(), [1.5, -2.0]);
        assert_eq!(
            made(DataType::C128, bytes.clone()).samples::<[f64; 2]>().unwrap().as_ref(),
            [[1.5, -2.0]]
        );
        let refused = made(DataType::U8, bytes).samples::<i8>().unwrap_err();
        assert_eq!(refused.to_string(), "expected samples of type int8, got uint8");
        assert_eq!(refused.kind(), crate::ErrorKind::InvalidRequest);
    }

    #[test]
    fn bytes_at_any_address_are_readable() {
        let whole: Vec<u8> = std::iter::once(0).chain((7u32..40).flat_map(u32::to_ne_bytes)).collect();
        let expected: Vec<u32> = (7..40).collect();
        assert_eq!(samples_of::<u32>(&whole[1..]).as_ref(), expected);
        assert!(matches!(samples_of::<u32>(&whole[1..]), Cow::Owned(_)));
    }
}
