//! Provides the options of reads as Python classes: `Place`, `Meaning`, `Layout` and `Execution`, and `ReadOptions` of all of them.
//!
//! They are the library's types of these names, checked when they are made. `Dataset.read`, its plan, reads onto a grid and
//! batches take the same classes.

use crate::arguments::{Int, Row, Value, ints, word};
use crate::array::{Axes, View};
use crate::error::refused;
use crate::onto::Onto;
use crate::{call, device};
use pyo3::prelude::*;
use std::sync::Arc;
use strile::engine::Output;
use strile::read::{self, FloatType, Interleave, OnFault};
use strile::{Context, Layer, Location, Window};

/// Which pixels are read.
#[pyclass(frozen, module = "strile._core")]
#[derive(Default)]
pub(crate) struct Place(pub(crate) read::Place);

#[pymethods]
impl Place {
    #[new]
    #[pyo3(signature = (*, page=Int(0), level=Int(0), reduce=Int(0), window=None, bands=None, layer="pixels", onto=None))]
    fn new(
        page: Int<usize>,
        level: Int<usize>,
        reduce: Int<u8>,
        window: Option<Row<Int<u32>, 4>>,
        bands: Option<Vec<Int<u16>>>,
        layer: &str,
        onto: Option<&Onto>,
    ) -> PyResult<Self> {
        let mut place = read::Place::new();
        (place.page, place.level, place.reduce) = (page.0, level.0, reduce.0);
        place.window =
            window.map(|Row([column, row, width, height])| Window::new(column.0, row.0, width.0, height.0));
        place.bands = bands.map(ints);
        place.layer = word("layer", layer, &[("pixels", Layer::Pixels), ("mask", Layer::Mask)])?;
        place.onto = onto.map(|onto| Arc::clone(&onto.onto));
        Ok(Self(place))
    }
}

/// How stored values are converted.
#[pyclass(frozen, module = "strile._core")]
#[derive(Default)]
pub(crate) struct Meaning(pub(crate) read::Meaning);

#[pymethods]
impl Meaning {
    #[new]
    #[pyo3(signature = (*, masked=false, unpack=false, scaling=None, float_type=None, invert_white=false, look_for=None))]
    fn new(
        masked: bool,
        unpack: bool,
        scaling: Option<(f64, f64)>,
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
        (meaning.scaling, meaning.look_for) = (scaling, look_for.map(looked_for).transpose()?);
        Ok(Self(meaning))
    }
}

/// Returns the value to look for: `nodata`, or a number.
fn looked_for(given: &Bound<'_, PyAny>) -> PyResult<read::LookFor> {
    match given.extract::<String>() {
        Ok(name) => word("look_for", &name, &[("nodata", read::LookFor::Nodata)]),
        Err(_) => Ok(read::LookFor::Value(given.extract::<Value>()?.0)),
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
    /// Returns the options for a result that is wanted in this memory.
    pub(crate) fn resolved(&self, to: Location) -> PyResult<read::Execution> {
        let mut options = self.options.decode_on(device::decoder(&self.decode_on, to)?);
        options.max_block_bytes = max_block_bytes()?;
        Ok(options)
    }

    /// Returns the context with the memory and threads of the call.
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
        max_pixels: Option<Int<u64>>,
        max_cloud_bytes: Option<Int<u64>>,
        cache: &str,
        device_memory: Option<Int<u64>>,
        memory: Option<Int<u64>>,
        threads: Option<Int<usize>>,
    ) -> PyResult<Self> {
        device::processor("decode_on", decode_on)?;
        let faults = [("fail", OnFault::Fail), ("fill", OnFault::Fill)];
        let cache = cache.parse().map_err(|error| refused(format!("cache: {error}")))?;
        let mut options = read::Execution::new().on_fault(word("on_fault", on_fault, &faults)?).cache(cache);
        options.max_pixels = max_pixels.map(|samples| samples.0);
        options.max_cloud_bytes = max_cloud_bytes.map(|bytes| bytes.0);
        options.device_memory = device_memory.map(|bytes| bytes.0);
        let (memory, threads) = (memory.map(|bytes| bytes.0), threads.map(|threads| threads.0));
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
    /// Returns where the result is wanted, and the options of the read with the processor that decodes.
    pub(crate) fn resolved(&self, output: Option<&Output>) -> PyResult<(Location, strile::ReadOptions)> {
        let to = device::destination(self.device, output.map(Output::location))?;
        Ok((to, self.options.clone().execution(self.execution.resolved(to)?)))
    }

    /// Returns the context with the memory and threads of the call.
    pub(crate) fn context(&self) -> PyResult<Context> {
        self.execution.context()
    }

    /// Returns the output of an array of the caller.
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

/// Returns the limit of the environment on decoded blocks, if it has one.
pub(crate) fn max_block_bytes() -> PyResult<Option<u64>> {
    const NAME: &str = "STRILE_COG_MAX_TILE_BYTES";
    let Some(text) = std::env::var_os(NAME).filter(|text| !text.is_empty()) else { return Ok(None) };
    let text = text.to_string_lossy();
    let number = text.trim().parse::<u64>().ok().filter(|number| *number > 0);
    let wrong = || refused(format!("{NAME} is `{text}`: expected a whole number above 0"));
    number.map(Some).ok_or_else(wrong)
}
