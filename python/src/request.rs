//! The options of reads as Python classes: `Place`, `Meaning`, `Layout` and `Execution`, and `ReadOptions` of all of them.
//!
//! They are the library's types of these names, checked when they are made. `Dataset.read`, its plan, reads onto a grid and
//! batches take the same classes.

use crate::array::{Axes, View};
use crate::error::refused;
use crate::keys::{float, integer, shown};
use crate::onto::Onto;
use crate::{call, device};
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use std::sync::Arc;
use strile::engine::Output;
use strile::read::{self, FloatType, Interleave, OnFault};
use strile::tiff::gdal::NoData;
use strile::{Context, Layer, Location, Window};

/// Which pixels are read.
#[pyclass(frozen, module = "strile._core")]
#[derive(Default)]
pub(crate) struct Place(pub(crate) read::Place);

#[pymethods]
impl Place {
    #[new]
    #[pyo3(signature = (*, page=None, level=None, reduce=None, window=None, bands=None, layer="pixels", onto=None))]
    fn new(
        page: Option<&Bound<'_, PyAny>>,
        level: Option<&Bound<'_, PyAny>>,
        reduce: Option<&Bound<'_, PyAny>>,
        window: Option<&Bound<'_, PyAny>>,
        bands: Option<&Bound<'_, PyAny>>,
        layer: &str,
        onto: Option<&Onto>,
    ) -> PyResult<Self> {
        let mut place = read::Place::new();
        place.page = taken(page, "page", "the number of a page, from 0")?.unwrap_or(0);
        place.level = taken(level, "level", "0 for full resolution, k for the k-th overview")?.unwrap_or(0);
        place.reduce = taken(reduce, "reduce", "a number of halvings, from 0")?.unwrap_or(0);
        let window: Option<(u32, u32, u32, u32)> =
            taken(window, "window", "(column, row, width, height) in whole numbers from 0 to 4,294,967,295")?;
        place.window = window.map(|(column, row, width, height)| Window::new(column, row, width, height));
        place.bands = taken(bands, "bands", "numbers of bands, from 1")?;
        place.layer = word("layer", layer, &[("pixels", Layer::Pixels), ("mask", Layer::Mask)])?;
        place.onto = onto.map(|onto| Arc::clone(&onto.onto));
        Ok(Self(place))
    }
}

/// What becomes of stored values.
#[pyclass(frozen, module = "strile._core")]
#[derive(Default)]
pub(crate) struct Meaning(pub(crate) read::Meaning);

#[pymethods]
impl Meaning {
    #[new]
    #[pyo3(signature = (*, masked=false, unpack=false, float_type=None, invert_white=false, look_for=None))]
    fn new(
        masked: bool,
        unpack: bool,
        float_type: Option<&str>,
        invert_white: bool,
        look_for: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let floats = [
            ("float16", FloatType::Float16),
            ("float32", FloatType::Float32),
            ("float64", FloatType::Float64),
        ];
        let mut meaning =
            read::Meaning::new().masked(masked).unpack(unpack).invert_min_is_white(invert_white);
        meaning.float_type = float_type.map(|name| word("float_type", name, &floats)).transpose()?;
        meaning.look_for = match look_for.and_then(|given| given.extract::<String>().ok()) {
            Some(name) => Some(word("look_for", &name, &[("nodata", read::LookFor::Nodata)])?),
            None => number(look_for, "look_for")?.map(read::LookFor::Value),
        };
        Ok(Self(meaning))
    }
}

/// How pixels are ordered in the result.
#[pyclass(frozen, module = "strile._core")]
pub(crate) struct Layout(read::Layout);

#[pymethods]
impl Layout {
    #[new]
    #[pyo3(signature = (*, interleave="band", apply_orientation=false))]
    fn new(interleave: &str, apply_orientation: bool) -> PyResult<Self> {
        let words = [("band", Interleave::BandFirst), ("pixel", Interleave::BandLast)];
        let interleave = word("interleave", interleave, &words)?;
        Ok(Self(read::Layout::new().interleave(interleave).apply_orientation(apply_orientation)))
    }
}

/// How a read is carried out.
#[pyclass(frozen, module = "strile._core")]
#[derive(Clone)]
pub(crate) struct Execution {
    options: read::Execution,
    /// The processor that decodes: `cuda` is the GPU that holds the result.
    decode_on: String,
    memory: Option<u64>,
    threads: Option<usize>,
}

impl Default for Execution {
    fn default() -> Self {
        Self { options: read::Execution::new(), decode_on: "auto".to_owned(), memory: None, threads: None }
    }
}

impl Execution {
    /// The options for a result that is wanted in this memory.
    pub(crate) fn resolved(&self, to: Location) -> PyResult<read::Execution> {
        let mut options = self.options.decode_on(device::decoder(&self.decode_on, to)?);
        options.max_block_bytes = max_block_bytes()?;
        Ok(options)
    }

    /// What the call may take.
    pub(crate) fn context(&self) -> PyResult<Context> {
        call::context(self.memory, self.threads)
    }
}

#[pymethods]
impl Execution {
    #[new]
    #[pyo3(signature = (*, decode_on="auto", on_fault="fail", max_pixels=None, max_cloud_bytes=None, cache="auto",
                        device_memory=None, memory=None, threads=None))]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn new(
        decode_on: &str,
        on_fault: &str,
        max_pixels: Option<&Bound<'_, PyAny>>,
        max_cloud_bytes: Option<&Bound<'_, PyAny>>,
        cache: &str,
        device_memory: Option<&Bound<'_, PyAny>>,
        memory: Option<&Bound<'_, PyAny>>,
        threads: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        device::processor("decode_on", decode_on)?;
        let faults = [("fail", OnFault::Fail), ("fill", OnFault::Fill)];
        let cache = cache.parse().map_err(|error| refused(format!("cache: {error}")))?;
        let mut options = read::Execution::new().on_fault(word("on_fault", on_fault, &faults)?).cache(cache);
        options.max_pixels = taken(max_pixels, "max_pixels", "a number of samples, or None")?;
        options.max_cloud_bytes = taken(max_cloud_bytes, "max_cloud_bytes", "a number of bytes, or None")?;
        options.device_memory = taken(device_memory, "device_memory", "a number of bytes, or None")?;
        let memory = taken(memory, "memory", "a number of bytes, or None")?;
        let threads = taken(threads, "threads", "a number of threads, or None")?;
        Ok(Self { options, decode_on: decode_on.to_owned(), memory, threads })
    }
}

/// All options of a read, and the device that its result lives on.
#[pyclass(frozen, module = "strile._core")]
#[derive(Default)]
pub(crate) struct ReadOptions {
    options: strile::ReadOptions,
    execution: Execution,
    device: Option<Location>,
}

#[pymethods]
impl ReadOptions {
    #[new]
    #[pyo3(signature = (place=None, meaning=None, layout=None, execution=None, *, device=None))]
    fn new(
        place: Option<&Place>,
        meaning: Option<&Meaning>,
        layout: Option<&Layout>,
        execution: Option<&Execution>,
        device: Option<&str>,
    ) -> PyResult<Self> {
        let mut options = strile::ReadOptions::new();
        options.place = place.map(|place| place.0.clone()).unwrap_or_default();
        options.meaning = meaning.map(|meaning| meaning.0).unwrap_or_default();
        options.layout = layout.map(|layout| layout.0).unwrap_or_default();
        let device = device.map(device::place).transpose()?;
        Ok(Self { options, execution: execution.cloned().unwrap_or_default(), device })
    }
}

impl ReadOptions {
    /// Where the result is wanted, and the options of the read with the processor that decodes.
    pub(crate) fn resolved(&self, output: Option<&Output>) -> PyResult<(Location, strile::ReadOptions)> {
        let to = device::destination(self.device, output.map(Output::location))?;
        Ok((to, self.options.clone().execution(self.execution.resolved(to)?)))
    }

    /// What the call may take.
    pub(crate) fn context(&self) -> PyResult<Context> {
        self.execution.context()
    }

    /// The output that an array of the caller is.
    pub(crate) fn output(
        &self,
        out: Option<&Bound<'_, PyAny>>,
        stream: Option<u64>,
    ) -> PyResult<Option<Output>> {
        let axes = match self.options.layout.interleave {
            Interleave::BandFirst => Axes::Byx,
            Interleave::BandLast => Axes::Yxb,
        };
        out.map(|out| View::writable(out, stream)?.output(axes)).transpose()
    }
}

/// The environment's limit on decoded blocks, where there is one.
pub(crate) fn max_block_bytes() -> PyResult<Option<u64>> {
    const NAME: &str = "STRILE_COG_MAX_TILE_BYTES";
    let Some(text) = std::env::var_os(NAME).filter(|text| !text.is_empty()) else { return Ok(None) };
    let text = text.to_string_lossy();
    let number = text.trim().parse::<u64>().ok().filter(|number| *number > 0);
    let wrong = || refused(format!("{NAME} is `{text}`: expected a whole number above 0"));
    number.map(Some).ok_or_else(wrong)
}

/// A number of Python or numpy; whole numbers stay whole.
pub(crate) fn number(given: Option<&Bound<'_, PyAny>>, name: &str) -> PyResult<Option<NoData>> {
    let Some(value) = given else { return Ok(None) };
    let number = integer(value).map(NoData::Integer).or_else(|| float(value).map(NoData::Float));
    let wrong = || PyTypeError::new_err(format!("{name} is {}: expected a number, or None", shown(value)));
    number.map(Some).ok_or_else(wrong)
}

/// The value of an option. One that cannot be taken is named with its option.
fn taken<'a, 'py, T: FromPyObject<'a, 'py>>(
    given: Option<&'a Bound<'py, PyAny>>,
    name: &str,
    expected: &str,
) -> PyResult<Option<T>> {
    let Some(value) = given else { return Ok(None) };
    value.extract::<T>().map(Some).map_err(|error| {
        let (error, py): (PyErr, _) = (error.into(), value.py());
        let sentence = || format!("{name} is {}: expected {expected}", shown(value));
        if error.is_instance_of::<PyTypeError>(py) {
            PyTypeError::new_err(sentence())
        } else if error.is_instance_of::<PyOverflowError>(py) {
            refused(sentence())
        } else {
            error
        }
    })
}

/// One of a few words.
pub(crate) fn word<T: Copy>(what: &str, found: &str, words: &[(&str, T)]) -> PyResult<T> {
    words.iter().find(|(word, _)| *word == found).map(|(_, value)| *value).ok_or_else(|| {
        let expected: Vec<String> = words.iter().map(|(word, _)| format!("`{word}`")).collect();
        refused(format!("{what} `{found}`: expected {}", expected.join(" or ")))
    })
}
