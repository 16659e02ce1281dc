//! Provides `strile.Raster`: pixels that numpy and DLPack take without a copy.

use crate::dict::dict;
use crate::dlpack::{self, Tensor};
use crate::{call, device};
use pyo3::exceptions::{PyAttributeError, PyBufferError, PyMemoryError, PyTypeError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple};
use std::sync::Arc;
use strile::crs::Operation;
use strile::engine::LocatedFault;
use strile::read::{Interleave, WindowFault};
use strile::{Context, DataType, Location, Pixels};

/// Pixels and their memory.
pub(crate) enum Memory {
    /// In host memory; the holder of an array may write to them, by `address`.
    Host { address: usize, pixels: Vec<u8> },
    /// In the memory of a device.
    Device(Box<Pixels>),
}

/// Decoded pixels in host memory or in that of a GPU: (bands, rows, columns), (rows, columns, bands) where they were
/// read pixel by pixel, or (windows, bands, rows, columns) of a batch.
#[pyclass(frozen, module = "strile._core")]
pub(crate) struct Raster {
    memory: Arc<Memory>,
    data_type: DataType,
    shape: Shape,
    faults: Vec<(String, String)>,
    holes: Vec<(String, String)>,
    /// The level that each window, or each file on a grid, was read from.
    levels: Vec<usize>,
    /// The operations between the datums, in the same order.
    operations: Vec<Arc<Operation>>,
    /// Whether the value that was looked for is among the pixels.
    found: Option<bool>,
    origin: PyOnceLock<Py<PyAny>>,
    attrs: PyOnceLock<Py<PyDict>>,
}

/// The axes in the order of memory: how long they are, and their names.
#[derive(Clone)]
struct Shape {
    sizes: Vec<u32>,
    dims: &'static [&'static str],
}

impl Raster {
    /// Makes a raster of the result of a read, in any memory.
    pub(crate) fn new(mut pixels: Pixels) -> strile::Result<Self> {
        let data_type = pixels.data_type;
        let levels = std::mem::take(&mut pixels.levels);
        let operations = std::mem::take(&mut pixels.operations);
        let (shape, faults) = match pixels.windows {
            None => {
                let shape = shape(pixels.interleave, (pixels.bands, pixels.rows, pixels.columns));
                (shape, fault_pairs(pixels.faults.iter().map(|fault| &fault.fault)))
            }
            Some(_) => {
                let shape = Shape { sizes: pixels.shape().to_vec(), dims: &["window", "band", "y", "x"] };
                (shape, window_fault_pairs(&pixels.faults))
            }
        };
        let (holes, found) = (std::mem::take(&mut pixels.holes), pixels.report.found);
        let made = match pixels.location() {
            Location::Host => Self::of(pixels.into_bytes()?, data_type, shape, faults),
            Location::Cuda(_) => {
                Self::with(Arc::new(Memory::Device(Box::new(pixels))), data_type, shape, faults)
            }
        };
        Ok(Self { holes, levels, operations, found, ..made })
    }

    fn of(mut pixels: Vec<u8>, data_type: DataType, shape: Shape, faults: Vec<(String, String)>) -> Self {
        let address = pixels.as_mut_ptr().expose_provenance();
        Self::with(Arc::new(Memory::Host { address, pixels }), data_type, shape, faults)
    }

    fn with(memory: Arc<Memory>, data_type: DataType, shape: Shape, faults: Vec<(String, String)>) -> Self {
        Self {
            memory,
            data_type,
            shape,
            faults,
            holes: Vec::new(),
            levels: Vec::new(),
            operations: Vec::new(),
            found: None,
            origin: PyOnceLock::new(),
            attrs: PyOnceLock::new(),
        }
    }

    fn location(&self) -> Location {
        match self.memory.as_ref() {
            Memory::Host { .. } => Location::Host,
            Memory::Device(pixels) => pixels.location(),
        }
    }

    /// Copies the pixels to host memory.
    fn copied(&self, py: Python<'_>) -> PyResult<Self> {
        let bytes = match self.memory.as_ref() {
            Memory::Device(pixels) => {
                call::run_at_once(py, || pixels.to_host(&Context::default())?.into_bytes())?
            }
            Memory::Host { pixels, .. } => pixels.clone(),
        };
        Ok(Self::of(bytes, self.data_type, self.shape.clone(), self.faults.clone()))
    }

    fn address(&self) -> u64 {
        match self.memory.as_ref() {
            Memory::Host { address, .. } => *address as u64,
            Memory::Device(pixels) => pixels.device_bytes().map_or(0, strile::device::DeviceBytes::address),
        }
    }

    fn tensor(&self) -> Tensor {
        Tensor {
            address: self.address(),
            location: self.location(),
            data_type: self.data_type,
            shape: self.shape.sizes.iter().copied().map(i64::from).collect(),
            keep: Arc::clone(&self.memory),
        }
    }

    /// Makes the part that the array interfaces of hosts and of devices have in common.
    fn interface<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (kind, _) = kind(self.data_type);
        let order = if cfg!(target_endian = "big") { '>' } else { '<' };
        let (shape, data) = (PyTuple::new(py, &self.shape.sizes)?, (self.address(), false));
        let typestr = format!("{order}{kind}{}", self.data_type.size());
        Ok(dict!(py; "version" => 3, "shape" => shape, "typestr" => typestr, "data" => data))
    }
}

fn shape(interleave: Interleave, (bands, rows, columns): (u32, u32, u32)) -> Shape {
    match interleave {
        Interleave::BandFirst => Shape { sizes: vec![bands, rows, columns], dims: &["band", "y", "x"] },
        Interleave::BandLast => Shape { sizes: vec![rows, columns, bands], dims: &["y", "x", "band"] },
    }
}

/// Lists blocks of windows that were filled, each with the reason.
pub(crate) fn window_fault_pairs(faults: &[WindowFault]) -> Vec<(String, String)> {
    let pair = |fault: &WindowFault| {
        let (block, problem) = block(&fault.fault);
        (format!("window {}, {}, {block}", fault.window, fault.file), problem)
    };
    faults.iter().map(pair).collect()
}

/// Lists blocks that were filled, each with the reason.
pub(crate) fn fault_pairs<'a>(faults: impl IntoIterator<Item = &'a LocatedFault>) -> Vec<(String, String)> {
    faults.into_iter().map(block).collect()
}

/// Returns a block and its fault.
fn block(located: &LocatedFault) -> (String, String) {
    let (whole, fault) = (located.to_string(), located.fault.to_string());
    let place = whole.strip_suffix(&fault).and_then(|place| place.strip_suffix(": "));
    (place.unwrap_or(&whole).to_owned(), fault)
}

#[pymethods]
impl Raster {
    /// Makes (bands, rows, columns) of zeros in host memory, to be written to.
    #[staticmethod]
    fn zeros(dtype: &str, shape: (u32, u32, u32)) -> PyResult<Self> {
        let data_type = crate::dataset::data_type(dtype)?;
        let (bands, rows, columns) = shape;
        let sides = [bands, rows, columns].map(u64::from);
        let bytes = sides.into_iter().try_fold(data_type.size() as u64, u64::checked_mul);
        let bytes = bytes.and_then(|bytes| usize::try_from(bytes).ok());
        let mut pixels = Vec::new();
        let taken = bytes.and_then(|bytes| pixels.try_reserve_exact(bytes).ok().map(|()| bytes));
        let bytes = taken.ok_or_else(|| {
            PyMemoryError::new_err(format!(
                "{bands} x {rows} x {columns} samples of {dtype}: no memory for them"
            ))
        })?;
        pixels.resize(bytes, 0);
        Ok(Self::of(pixels, data_type, self::shape(Interleave::BandFirst, shape), Vec::new()))
    }

    /// Returns (bands, rows, columns), (rows, columns, bands) where they were read pixel by pixel, or (windows, bands, rows,
    /// columns) of a batch.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.shape.sizes)
    }

    /// Returns the names of the axes: "band", "y" and "x", and "window" of a batch.
    #[getter]
    fn dims<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.shape.dims)
    }

    /// Returns the type of a sample, by its name in numpy.
    #[getter]
    fn dtype(&self) -> &'static str {
        self.data_type.name()
    }

    /// Returns the device that holds the pixels: "cpu" or "cuda:N".
    #[getter]
    fn device(&self) -> String {
        device::name(self.location())
    }

    /// Returns blocks that could not be decoded and were filled, each with its fault.
    #[getter]
    fn faults(&self) -> Vec<(String, String)> {
        self.faults.clone()
    }

    /// Returns sources of a mosaic that were skipped, each with the problem.
    #[getter]
    fn holes(&self) -> Vec<(String, String)> {
        self.holes.clone()
    }

    /// Returns whether `look_for` is among the pixels; None if nothing was looked for.
    #[getter]
    fn found(&self) -> Option<bool> {
        self.found
    }

    /// Returns the attributes that `open_geotiff` gives of the same pixels: transform, crs, nodata, …
    #[getter]
    fn attrs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let make = || -> PyResult<Py<PyDict>> {
            match self.origin.get(py) {
                None => Ok(PyDict::new(py).unbind()),
                Some(origin) => Ok(origin.bind(py).call0()?.cast_into::<PyDict>()?.unbind()),
            }
        };
        let attrs = self.attrs.get_or_try_init(py, make)?;
        Ok(attrs.bind(py).clone())
    }

    /// Sets the function that makes `attrs`, called once, at the first use of `attrs`.
    fn set_origin(&self, py: Python<'_>, origin: Py<PyAny>) {
        let _first = self.origin.set(py, origin);
    }

    /// Returns the transform of pixel corners (a, b, c, d, e, f); None where there is none.
    #[getter]
    fn transform<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let attrs = self.attrs(py)?;
        let Some(transform) = attrs.get_item("transform")? else { return Ok(None) };
        let is_point = attrs.get_item("raster_type")?.is_some_and(|kind| kind.eq("point").unwrap_or(false));
        if !is_point {
            return Ok(Some(transform));
        }
        // `attrs` has the place of the first pixel's centre, as the file does.
        let (a, b, c, d, e, f): (f64, f64, f64, f64, f64, f64) = transform.extract()?;
        let corner = (a, b, c - (a + b) / 2.0, d, e, f - (d + e) / 2.0);
        Ok(Some(corner.into_pyobject(py)?.into_any()))
    }

    /// Returns `EPSG:n` where the reference system has a code, else WKT; None where there is none.
    #[getter]
    fn crs(&self, py: Python<'_>) -> PyResult<Option<String>> {
        let attrs = self.attrs(py)?;
        if let Some(code) = attrs.get_item("crs")? {
            return Ok(Some(format!("EPSG:{code}")));
        }
        attrs.get_item("crs_wkt")?.map(|wkt| wkt.extract()).transpose()
    }

    /// Returns the value of missing pixels; None where there is none.
    #[getter]
    fn nodata<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.attrs(py)?.get_item("nodata")
    }

    /// Returns the level that each window, or each file on a grid, was read from: 0 the full image, k its k-th overview.
    #[getter]
    fn levels(&self) -> Vec<usize> {
        self.levels.clone()
    }

    /// Returns how coordinates passed between the datums, for each window or each file on a grid: the operation, its codes and accuracy.
    #[getter]
    fn operations(&self) -> Vec<String> {
        self.operations.iter().map(ToString::to_string).collect()
    }

    /// Converts pixels in host memory to another type, as GDAL does.
    fn converted(&self, py: Python<'_>, dtype: &str) -> PyResult<Self> {
        let to = crate::dataset::data_type(dtype)?;
        let Memory::Host { pixels, .. } = self.memory.as_ref() else {
            return Err(crate::error::refused("expected pixels in host memory"));
        };
        let made = call::run_at_once(py, || strile::number::converted(pixels, self.data_type, to))?;
        Ok(Self::of(made, to, self.shape.clone(), self.faults.clone()))
    }

    /// Returns the pixels as a numpy array: without a copy if they are in host memory.
    fn numpy<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let asarray = py.import("numpy")?.getattr("asarray")?;
        match slf.get().location() {
            Location::Host => asarray.call1((slf,)),
            Location::Cuda(_) => asarray.call1((slf.get().copied(py)?,)),
        }
    }

    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        match self.location() {
            Location::Host => self.interface(py),
            place => {
                Err(PyAttributeError::new_err(format!("__array_interface__: the pixels are in {place}")))
            }
        }
    }

    /// Of pixels on a device; they are complete, so no stream has to wait for them.
    #[getter]
    fn __cuda_array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        if self.location() == Location::Host {
            return Err(PyAttributeError::new_err("__cuda_array_interface__: the pixels are in host memory"));
        }
        let interface = self.interface(py)?;
        interface.set_item("strides", py.None())?;
        interface.set_item("stream", py.None())?;
        Ok(interface)
    }

    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        slf: &Bound<'py, Self>,
        dtype: Option<Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let place = slf.get().location();
        if place != Location::Host {
            let problem = format!("the pixels are in {place}; `.numpy()` copies them");
            return Err(PyTypeError::new_err(problem));
        }
        let keywords = PyDict::new(slf.py());
        keywords.set_item("dtype", dtype)?;
        if copy.is_some() {
            keywords.set_item("copy", copy)?;
        }
        slf.py().import("numpy")?.getattr("array")?.call((Self::numpy(slf)?,), Some(&keywords))
    }

    fn __dlpack_device__(&self) -> PyResult<(i32, i32)> {
        dlpack::device(self.location())
    }

    /// Returns the pixels as a DLPack capsule. They are complete, so no stream has to wait for them.
    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<Bound<'py, PyAny>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let _complete = stream;
        let versioned = max_version.is_some_and(|(major, _)| major >= 1);
        let here = self.__dlpack_device__()?;
        let wanted = dl_device.unwrap_or(here);
        let moves = wanted != here;
        if moves && wanted != dlpack::HOST {
            let problem =
                format!("the pixels are in {}, and are not copied to another device", self.location());
            return Err(PyBufferError::new_err(problem));
        }
        match (moves, copy) {
            (true, Some(false)) => Err(PyBufferError::new_err("the pixels cannot get there without a copy")),
            (false, Some(true)) if here != dlpack::HOST => {
                Err(PyBufferError::new_err("pixels on a device are copied to the host alone"))
            }
            (true, _) | (false, Some(true)) => {
                dlpack::capsule(py, self.copied(py)?.tensor(), versioned, true)
            }
            (false, _) => dlpack::capsule(py, self.tensor(), versioned, false),
        }
    }

    /// Refuses to be pickled: pixels may be on a device. Arrays of them can be pickled.
    fn __reduce__(&self) -> PyResult<()> {
        let sentence = "a Raster cannot be pickled: pickle its array (`raster.numpy()`), or read it in the other process";
        Err(pyo3::exceptions::PyTypeError::new_err(sentence))
    }

    fn __repr__(&self) -> String {
        let sizes: Vec<String> = self.shape.sizes.iter().map(u32::to_string).collect();
        format!("<strile.Raster ({}) {} on {}>", sizes.join(", "), self.dtype(), self.device())
    }
}

/// Returns the letter and the DLPack code of a type.
pub(crate) fn kind(data_type: DataType) -> (char, u8) {
    use DataType as D;
    match data_type {
        D::I8 | D::I16 | D::I32 | D::I64 => ('i', 0),
        D::U8 | D::U16 | D::U32 | D::U64 => ('u', 1),
        D::F16 | D::F32 | D::F64 => ('f', 2),
        D::C64 | D::C128 => ('c', 5),
    }
}

/// Returns the type of samples of that letter and size.
pub(crate) fn data_type(letter: char, size: usize) -> Option<DataType> {
    use DataType as D;
    let all = [
        D::U8,
        D::U16,
        D::U32,
        D::U64,
        D::I8,
        D::I16,
        D::I32,
        D::I64,
        D::F16,
        D::F32,
        D::F64,
        D::C64,
        D::C128,
    ];
    all.into_iter().find(|&data_type| kind(data_type).0 == letter && data_type.size() == size)
}
