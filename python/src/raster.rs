//! `strile.Raster`: pixels that numpy and DLPack take without a copy.

use crate::device;
use crate::dlpack::{self, Tensor};
use crate::error::exception;
use pyo3::exceptions::{PyAttributeError, PyBufferError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;
use strile::{Context, DataType, DeviceRaster, Location};

/// Pixels, and what keeps them.
pub(crate) enum Memory {
    /// In host memory; whoever has an array may write to them, by `address`.
    Host { address: usize, pixels: Vec<u8> },
    /// In the memory of a device.
    Device(DeviceRaster),
}

/// Decoded pixels (bands, rows, columns), in host memory or in that of a GPU.
#[pyclass(frozen, module = "strile")]
pub(crate) struct Raster {
    memory: Arc<Memory>,
    data_type: DataType,
    shape: (u32, u32, u32),
}

impl Raster {
    /// What a read gave, wherever it is.
    pub(crate) fn new(raster: DeviceRaster, context: &Context) -> strile::Result<Self> {
        if raster.location() == Location::Host {
            return raster.into_host(context).map(Self::host);
        }
        let spec = raster.output.spec();
        let (data_type, shape) = (spec.data_type, (spec.bands, spec.rows, spec.columns));
        Ok(Self { memory: Arc::new(Memory::Device(raster)), data_type, shape })
    }

    /// Pixels in host memory.
    pub(crate) fn host(raster: strile::Raster) -> Self {
        let shape = (raster.bands, raster.rows, raster.columns);
        Self::of(raster.pixels, raster.data_type, shape)
    }

    fn of(mut pixels: Vec<u8>, data_type: DataType, shape: (u32, u32, u32)) -> Self {
        let address = pixels.as_mut_ptr().expose_provenance();
        Self { memory: Arc::new(Memory::Host { address, pixels }), data_type, shape }
    }

    fn location(&self) -> Location {
        match self.memory.as_ref() {
            Memory::Host { .. } => Location::Host,
            Memory::Device(raster) => raster.location(),
        }
    }

    /// The same pixels in host memory of their own.
    fn copied(&self, py: Python<'_>) -> PyResult<Self> {
        match self.memory.as_ref() {
            Memory::Device(raster) => {
                py.detach(|| raster.to_host(&Context::default())).map(Self::host).map_err(exception)
            }
            Memory::Host { pixels, .. } => Ok(Self::of(pixels.clone(), self.data_type, self.shape)),
        }
    }

    fn tensor(&self) -> Tensor {
        let address = match self.memory.as_ref() {
            Memory::Host { address, .. } => *address as u64,
            Memory::Device(raster) => raster.output.device_bytes().map_or(0, strile::DeviceBytes::address),
        };
        let (bands, rows, columns) = self.shape;
        Tensor {
            address,
            location: self.location(),
            data_type: self.data_type,
            shape: [bands, rows, columns].map(i64::from),
            keep: Arc::clone(&self.memory),
        }
    }
}

#[pymethods]
impl Raster {
    /// (bands, rows, columns).
    #[getter]
    fn shape(&self) -> (u32, u32, u32) {
        self.shape
    }

    /// Type of a sample, as numpy names it.
    #[getter]
    fn dtype(&self) -> &'static str {
        self.data_type.name()
    }

    /// Whose memory the pixels are in: "cpu" or "cuda:N".
    #[getter]
    fn device(&self) -> String {
        device::name(self.location())
    }

    /// The pixels as a numpy array: the same memory where they are in host memory, else a copy.
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
        let Memory::Host { address, .. } = self.memory.as_ref() else {
            return Err(PyAttributeError::new_err("__array_interface__: the pixels are not in host memory"));
        };
        let (kind, _) = kind(self.data_type);
        let order = if cfg!(target_endian = "big") { '>' } else { '<' };
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("shape", self.shape)?;
        interface.set_item("typestr", format!("{order}{kind}{}", self.data_type.size()))?;
        interface.set_item("data", (*address, false))?;
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

    /// The pixels as a DLPack capsule. They are complete, so no stream has to wait for them.
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

    fn __repr__(&self) -> String {
        let (bands, rows, columns) = self.shape;
        format!("<strile.Raster ({bands}, {rows}, {columns}) {} on {}>", self.dtype(), self.device())
    }
}

/// The letter and the DLPack code of a type.
pub(crate) fn kind(data_type: DataType) -> (char, u8) {
    use DataType as D;
    match data_type {
        D::I8 | D::I16 | D::I32 | D::I64 => ('i', 0),
        D::U8 | D::U16 | D::U32 | D::U64 => ('u', 1),
        D::F16 | D::F32 | D::F64 => ('f', 2),
        D::C64 | D::C128 => ('c', 5),
    }
}
