//! Arrays of other libraries, as memory: numpy and anything with a buffer, CuPy and anything with
//! `__cuda_array_interface__`, torch, JAX and anything with DLPack.
//!
//! Nothing is copied. An array is refused if strile does not have its type, its bytes are not in native order, or it is
//! read-only but must be written; an array to write to also if an axis runs backwards. On a device, work that was
//! queued on the memory is waited for, so the memory may be used afterwards.

#![expect(unsafe_code, reason = "memory of others, by its address")]

use crate::error::{exception, refused, strile_error};
use crate::{dlpack, raster};
use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::any::Any;
use std::ptr::with_exposed_provenance_mut;
use std::sync::Arc;
use strile::batch::BatchOutput;
use strile::device::DeviceBytes;
use strile::engine::{Output, OutputError, OutputSpec, Strides};
use strile::{DataType, Location};

/// Memory of an array of any number of axes.
pub(crate) struct View {
    /// Of the first sample.
    pub(crate) address: usize,
    pub(crate) location: Location,
    pub(crate) data_type: DataType,
    pub(crate) shape: Vec<u64>,
    /// In bytes, one for each axis; negative where an axis runs backwards, 0 where it repeats a sample.
    pub(crate) strides: Vec<i64>,
    /// Keeps the memory alive.
    pub(crate) keep: Arc<dyn Any + Send + Sync>,
}

/// The order of the axes of an array; an array of two axes has rows and columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Axes {
    /// Bands, rows, columns.
    Byx,
    /// Rows, columns, bands.
    Yxb,
    /// Windows of a batch, bands, rows, columns: the bands of all windows, one window after the other.
    Nbyx,
}

impl View {
    /// Makes an array to read from; truth values are bytes. `stream` is the CUDA stream that the caller used it on, where they
    /// say so.
    pub(crate) fn new(object: &Bound<'_, PyAny>, stream: Option<u64>) -> PyResult<Self> {
        Self::found(object, Access { writable: false }, stream)
    }

    /// Returns an array to write to.
    pub(crate) fn writable(object: &Bound<'_, PyAny>, stream: Option<u64>) -> PyResult<Self> {
        Self::found(object, Access { writable: true }, stream)
    }

    fn found(object: &Bound<'_, PyAny>, access: Access, stream: Option<u64>) -> PyResult<Self> {
        let view = Self::of(object, access, stream)?;
        if let (Location::Cuda(device), Some(stream)) = (view.location, stream) {
            wait(object.py(), device, stream)?;
        }
        Ok(view)
    }

    fn of(object: &Bound<'_, PyAny>, access: Access, stream: Option<u64>) -> PyResult<Self> {
        if let Some(interface) = dict_of(object, "__cuda_array_interface__")? {
            return Self::of_cuda_interface(object, &interface, access);
        }
        if let Ok(buffer) = PyUntypedBuffer::get(object) {
            return Self::of_buffer(buffer, access);
        }
        if let Some(interface) = dict_of(object, "__array_interface__")? {
            let found = Interface::of(&interface, "__array_interface__", access)?;
            return Ok(found.view(Location::Host, Arc::new(object.clone().unbind())));
        }
        if object.hasattr("__dlpack__")? {
            return dlpack::taken(object, access, stream);
        }
        let class = object.get_type().name()?;
        Err(PyTypeError::new_err(format!(
            "expected a buffer, __array_interface__, __cuda_array_interface__ or __dlpack__, got {class}"
        )))
    }

    fn of_buffer(buffer: PyUntypedBuffer, access: Access) -> PyResult<Self> {
        access.check(buffer.readonly())?;
        let format = buffer.format().to_string_lossy().into_owned();
        let (order, kind) = match format.as_bytes() {
            [order @ (b'<' | b'>' | b'!' | b'=' | b'@'), kind @ ..] => (*order, kind),
            kind => (b'@', kind),
        };
        let letter = match kind {
            [b'?'] => 'b',
            [b'b' | b'h' | b'i' | b'l' | b'q' | b'n'] => 'i',
            [b'B' | b'H' | b'I' | b'L' | b'Q' | b'N' | b'c'] => 'u',
            [b'e' | b'f' | b'd'] => 'f',
            b"Zf" | b"Zd" => 'c',
            _ => return Err(refused(format!("an array of format `{format}` has none of strile's types"))),
        };
        let order = if order == b'!' { '>' } else { char::from(order) };
        let data_type = access.type_of(order, letter, buffer.item_size())?;
        if buffer.suboffsets().is_some() {
            return Err(refused("an array of pointers to rows is not taken"));
        }
        Ok(Self {
            address: buffer.buf_ptr().expose_provenance(),
            location: Location::Host,
            data_type,
            shape: buffer.shape().iter().map(|&size| size as u64).collect(),
            strides: buffer.strides().iter().map(|&stride| stride as i64).collect(),
            keep: Arc::new(buffer),
        })
    }

    fn of_cuda_interface(
        object: &Bound<'_, PyAny>,
        interface: &Bound<'_, PyDict>,
        access: Access,
    ) -> PyResult<Self> {
        let found = Interface::of(interface, "__cuda_array_interface__", access)?;
        let version: u32 = interface.get_item("version")?.map_or(Ok(0), |version| version.extract())?;
        if version < 2 {
            return Err(refused(format!("__cuda_array_interface__ is version {version}, expected 2 or 3")));
        }
        let device = device_of(object)?;
        // Version 3 says which stream is to be waited for, or that none is.
        let stream = match (version, interface.get_item("stream")?) {
            (3.., Some(stream)) => stream.extract::<Option<u64>>()?,
            (3.., None) => None,
            _ => Some(LEGACY_STREAM),
        };
        if let Some(stream) = stream {
            wait(object.py(), device, stream)?;
        }
        Ok(found.view(Location::Cuda(device), Arc::new(object.clone().unbind())))
    }

    /// Its shape as that of an image; strides of axes of one sample mean nothing and are put right.
    fn spec(&self, axes: Axes) -> PyResult<OutputSpec> {
        let all: Vec<(u64, i64)> = self.shape.iter().copied().zip(self.strides.iter().copied()).collect();
        let [band, row, column] = match (axes, all.as_slice()) {
            (Axes::Byx, &[band, row, column]) | (Axes::Yxb, &[row, column, band]) => [band, row, column],
            (Axes::Nbyx, &[window, band, row, column]) => {
                let (windows, step) = window;
                let (bands, stride) = band;
                let follows = i64::try_from(bands).ok().and_then(|bands| bands.checked_mul(stride));
                // Either axis of one alone has a stride that means nothing.
                let all = match (windows, bands) {
                    (_, 1) => step,
                    (0 | 1, _) => stride,
                    _ if follows == Some(step) => stride,
                    _ => {
                        return Err(refused(format!(
                            "the windows of the array are {step} bytes apart, and their bands {stride}: expected an array \
                             whose windows follow each other"
                        )));
                    }
                };
                [(windows.saturating_mul(bands), all), row, column]
            }
            (Axes::Nbyx, other) => {
                let found = other.len();
                return Err(refused(format!(
                    "the array has {found} axes, expected 4: windows, bands, rows, columns"
                )));
            }
            // An image of one band.
            (_, &[row, column]) => [(1, 0), row, column],
            _ => {
                let found = self.shape.len();
                return Err(refused(format!("the array has {found} axes, expected 3, or 2 for one band")));
            }
        };
        let size = |(size, _): (u64, i64)| {
            u32::try_from(size).map_err(|_| refused(format!("an axis of the array has {size} samples")))
        };
        let stride = |(size, stride): (u64, i64)| {
            match size {
            0 | 1 => Ok(0),
            _ => usize::try_from(stride).map_err(|_| {
                refused(format!(
                    "the array has a negative stride ({stride} bytes): give one that runs forward, and turn it after"
                ))
            }),
        }
        };
        Ok(OutputSpec {
            data_type: self.data_type,
            bands: size(band)?,
            rows: size(row)?,
            columns: size(column)?,
            strides: Strides { band: stride(band)?, row: stride(row)?, column: stride(column)? },
        })
    }

    /// Returns an output in this memory.
    pub(crate) fn output(&self, axes: Axes) -> PyResult<Output> {
        let spec = self.spec(axes)?;
        let wrong = |error: OutputError| refused(format!("the array cannot be written to: {error}"));
        let len = spec.len().map_err(wrong)?;
        let output = match self.location {
            Location::Host => {
                let start = with_exposed_provenance_mut(self.address);
                let keep: Box<dyn Any + Send + Sync> = Box::new(Arc::clone(&self.keep));
                // SAFETY: the array says that the bytes from its first sample to its last are there and writable, and is
                // kept; the caller must ensure that nothing else touches them while they are written, as with any
                // array that is given away.
                unsafe { Output::borrowed(spec, start, len, keep) }
            }
            Location::Cuda(device) => {
                // SAFETY: as above; what was queued on them has been waited for.
                let memory = unsafe {
                    DeviceBytes::new(device, self.address as u64, len as u64, Arc::clone(&self.keep))
                };
                Output::on_device(spec, memory)
            }
        };
        output.map_err(wrong)
    }

    /// Returns an output for the windows of batches in this memory.
    pub(crate) fn batch_output(&self) -> PyResult<BatchOutput> {
        let output = self.output(Axes::Nbyx)?;
        let windows = self.shape.first().and_then(|&windows| u32::try_from(windows).ok());
        BatchOutput::new(output, windows.unwrap_or(0)).map_err(exception)
    }
}

/// The access that an array must allow.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Access {
    writable: bool,
}

impl Access {
    pub(crate) fn check(self, readonly: bool) -> PyResult<()> {
        match self.writable && readonly {
            true => Err(refused("the array is read-only, and shall be written to")),
            false => Ok(()),
        }
    }

    /// Returns the type of samples of that byte order, kind and size.
    pub(crate) fn type_of(self, order: char, kind: char, size: usize) -> PyResult<DataType> {
        let foreign = if cfg!(target_endian = "big") { '<' } else { '>' };
        if order == foreign && size > 1 {
            return Err(refused(format!(
                "the samples of the array ({order}{kind}{size}) are not in this machine's byte order: convert them"
            )));
        }
        // Truth values are bytes of 0 and 1; written as such they may be others.
        let found = if (kind, size, self.writable) == ('b', 1, false) {
            Some(DataType::U8)
        } else {
            raster::data_type(kind, size)
        };
        found.ok_or_else(|| {
            refused(format!("samples of the array are `{kind}{size}`, which is none of strile's types"))
        })
    }
}

/// The default stream, which waits for all blocking ones.
const LEGACY_STREAM: u64 = 1;

/// Waits for what is queued on a stream.
pub(crate) fn wait(py: Python<'_>, device: u32, stream: u64) -> PyResult<()> {
    // On this thread: stream 2 is the one of the thread that asks.
    crate::call::detached(py, || strile::device::wait_for_stream(device, stream))?.map_err(|problem| {
        strile_error(
            py,
            "DeviceError",
            format!("cuda:{device}: work queued on stream {stream} failed: {problem}"),
        )
    })
}

fn dict_of<'py>(object: &Bound<'py, PyAny>, name: &str) -> PyResult<Option<Bound<'py, PyDict>>> {
    // An array that is elsewhere raises AttributeError, TypeError or RuntimeError (torch).
    match object.getattr(name) {
        Ok(found) => Ok(Some(found.cast_into::<PyDict>()?)),
        Err(_) => Ok(None),
    }
}

/// Returns the device of an array that gives `__cuda_array_interface__`, which itself does not say.
fn device_of(object: &Bound<'_, PyAny>) -> PyResult<u32> {
    if object.hasattr("__dlpack_device__")? {
        let (kind, index): (i32, i32) = object.call_method0("__dlpack_device__")?.extract()?;
        return match dlpack::location((kind, index))? {
            Location::Cuda(index) => Ok(index),
            Location::Host => {
                Err(refused("the array gives __cuda_array_interface__, and says it is on the host"))
            }
        };
    }
    let found = object.py().detach(strile::device::devices);
    let gpus: Vec<_> = found.iter().filter(|device| device.gpu.is_some()).collect();
    match gpus.len() {
        0 | 1 => Ok(0),
        several => {
            let problem = format!(
                "the array does not say on which of {several} devices it is: expected one with __dlpack_device__"
            );
            Err(strile_error(object.py(), "DeviceError", problem))
        }
    }
}

/// The part that the two array interfaces have in common.
struct Interface {
    address: usize,
    shape: Vec<u64>,
    strides: Vec<i64>,
    data_type: DataType,
}

impl Interface {
    fn of(dict: &Bound<'_, PyDict>, name: &str, access: Access) -> PyResult<Self> {
        let get = |key: &str| {
            let missing = || PyValueError::new_err(format!("{name} has no `{key}`"));
            dict.get_item(key)?.ok_or_else(missing)
        };
        let shape: Vec<u64> = get("shape")?.extract()?;
        let typestr: String = get("typestr")?.extract()?;
        let unknown =
            || refused(format!("samples of the array are `{typestr}`, which is none of strile's types"));
        let mut letters = typestr.chars();
        let (order, kind) = letters.next().zip(letters.next()).ok_or_else(unknown)?;
        let data_type = access.type_of(order, kind, letters.as_str().parse().map_err(|_| unknown())?)?;
        let data = get("data")?;
        let data = data.cast::<PyTuple>().map_err(|_| refused(format!("{name} gives no address")))?;
        let (address, readonly): (usize, bool) = data.extract()?;
        access.check(readonly)?;
        let strides = match dict.get_item("strides")?.filter(|strides| !strides.is_none()) {
            Some(strides) => strides.extract::<Vec<i64>>()?,
            None => contiguous(&shape, data_type),
        };
        if strides.len() != shape.len() {
            return Err(refused(format!("{name} has {} strides for {} axes", strides.len(), shape.len())));
        }
        Ok(Self { address, shape, strides, data_type })
    }

    fn view(self, location: Location, keep: Arc<dyn Any + Send + Sync>) -> View {
        let Self { address, shape, strides, data_type } = self;
        View { address, location, data_type, shape, strides, keep }
    }
}

/// Makes strides of row-major memory without gaps.
pub(crate) fn contiguous(shape: &[u64], data_type: DataType) -> Vec<i64> {
    let mut next = data_type.size() as u64;
    let mut strides: Vec<i64> = shape
        .iter()
        .rev()
        .map(|&size| {
            let stride = i64::try_from(next).unwrap_or(i64::MAX);
            next = next.saturating_mul(size.max(1));
            stride
        })
        .collect();
    strides.reverse();
    strides
}
