//! The keywords of `read` and `plan`, checked and as the library wants them.

use crate::array::{Axes, View};
use crate::error::refused;
use crate::keys::{float, integer, shown};
use crate::{call, device};
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use strile::engine::Output;
use strile::read::{FloatType, Interleave, OnFault};
use strile::tiff::gdal::NoData;
use strile::{Context, Layer, Location, ReadOptions, Window};

/// What is asked for, how, and by whom.
pub(crate) struct Request<'py> {
    pub(crate) options: ReadOptions,
    /// Where the result lives, as it was said.
    device: Option<String>,
    /// Who decodes, as it was said.
    decode_on: String,
    pub(crate) out: Option<Bound<'py, PyAny>>,
    pub(crate) progress: Option<Bound<'py, PyAny>>,
    stream: Option<u64>,
    memory: Option<u64>,
    threads: Option<usize>,
}

impl<'py> Request<'py> {
    /// The request that keywords make.
    pub(crate) fn parse(keywords: Option<&Bound<'py, PyDict>>) -> PyResult<Self> {
        let mut request = Self {
            options: ReadOptions::new(),
            device: None,
            decode_on: "auto".to_owned(),
            out: None,
            progress: None,
            stream: None,
            memory: None,
            threads: None,
        };
        request.options.execution.max_block_bytes = max_block_bytes()?;
        for (key, value) in keywords.into_iter().flatten() {
            let key: String = key.extract()?;
            request.set(&key, value.clone()).map_err(|error| named(error, &key, &value))?;
        }
        Ok(request)
    }

    fn set(&mut self, key: &str, value: Bound<'py, PyAny>) -> PyResult<()> {
        let options = &mut self.options;
        let text = || value.extract::<String>();
        match key {
            "page" => options.place.page = value.extract()?,
            "level" => options.place.level = value.extract()?,
            "reduce" => options.place.reduce = value.extract()?,
            "window" => {
                let window = value.extract::<Option<(u32, u32, u32, u32)>>()?;
                options.place.window =
                    window.map(|(column, row, width, height)| Window::new(column, row, width, height));
            }
            "bands" => options.place.bands = value.extract()?,
            "layer" => {
                options.place.layer =
                    word(key, &text()?, &[("pixels", Layer::Pixels), ("mask", Layer::Mask)])?;
            }
            "interleave" => {
                let words = [("band", Interleave::BandFirst), ("pixel", Interleave::BandLast)];
                options.layout.interleave = word(key, &text()?, &words)?;
            }
            "apply_orientation" => options.layout.apply_orientation = value.extract()?,
            "invert_white" => options.meaning.invert_min_is_white = value.extract()?,
            "masked" => options.meaning.masked = value.extract()?,
            "unpack" => options.meaning.unpack = value.extract()?,
            "float_type" => {
                let words = [("float32", FloatType::Float32), ("float64", FloatType::Float64)];
                options.meaning.float_type = match value.is_none() {
                    true => None,
                    false => Some(word(key, &text()?, &words)?),
                };
            }
            "on_fault" => {
                options.execution.on_fault =
                    word(key, &text()?, &[("fail", OnFault::Fail), ("fill", OnFault::Fill)])?;
            }
            "look_for" => options.meaning.look_for = look_for(&value)?,
            "max_pixels" => options.execution.max_pixels = value.extract()?,
            "max_cloud_bytes" => options.execution.max_cloud_bytes = value.extract()?,
            "cache" => {
                options.execution.cache =
                    text()?.parse().map_err(|error| refused(format!("cache: {error}")))?
            }
            "device" => self.device = value.extract()?,
            "decode_on" => self.decode_on = text()?,
            "out" => self.out = some(value),
            "stream" => self.stream = value.extract()?,
            "memory" => self.memory = value.extract()?,
            "threads" => self.threads = value.extract()?,
            "progress" => self.progress = some(value),
            _ => return Err(PyTypeError::new_err(format!("unexpected keyword `{key}`"))),
        }
        Ok(())
    }

    /// Where the result is wanted, and the options of the read with the processor that decodes.
    pub(crate) fn resolved(&self, output: Option<&Output>) -> PyResult<(Location, ReadOptions)> {
        let to = device::destination(self.device.as_deref(), output.map(Output::location))?;
        let decode_on = device::decoder(&self.decode_on, to)?;
        Ok((to, self.options.clone().decode_on(decode_on)))
    }

    /// What the call may take.
    pub(crate) fn context(&self) -> PyResult<Context> {
        call::context(self.memory, self.threads)
    }

    /// The output that `out` is.
    pub(crate) fn output(&self) -> PyResult<Option<Output>> {
        let axes = match self.options.layout.interleave {
            Interleave::BandFirst => Axes::Byx,
            Interleave::BandLast => Axes::Yxb,
        };
        self.out.as_ref().map(|out| View::writable(out, self.stream)?.output(axes)).transpose()
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

/// A value to look for; whole numbers stay whole.
fn look_for(value: &Bound<'_, PyAny>) -> PyResult<Option<NoData>> {
    if value.is_none() {
        return Ok(None);
    }
    let number = integer(value).map(NoData::Integer).or_else(|| float(value).map(NoData::Float));
    number.map(Some).ok_or_else(|| PyTypeError::new_err("expected a number"))
}

fn some(value: Bound<'_, PyAny>) -> Option<Bound<'_, PyAny>> {
    Some(value).filter(|value| !value.is_none())
}

/// What a keyword takes, in words.
fn expected(key: &str) -> Option<&'static str> {
    Some(match key {
        "page" => "the number of a page, from 0",
        "level" => "0 for full resolution, k for the k-th overview",
        "reduce" => "a number of halvings, from 0",
        "window" => "(column, row, width, height) in whole numbers from 0 to 4,294,967,295",
        "bands" => "numbers of bands, from 1",
        "apply_orientation" | "invert_white" | "masked" | "unpack" => "True or False",
        "look_for" => "a number, or None",
        "max_pixels" => "a number of samples, or None",
        "max_cloud_bytes" | "memory" => "a number of bytes, or None",
        "threads" => "a number of threads, or None",
        "stream" => "the number of a CUDA stream, or None",
        "device" => "`cpu`, `cuda` or `cuda:N`",
        "decode_on" => "`auto`, `cpu`, `cuda` or `cuda:N`",
        "cache" => "`auto`, `off`, `encoded` or `decoded`",
        "layer" | "interleave" | "float_type" | "on_fault" => "text",
        _ => return None,
    })
}

/// A value that cannot be taken is named with its keyword; other errors say enough.
fn named(error: PyErr, key: &str, value: &Bound<'_, PyAny>) -> PyErr {
    let py = value.py();
    let Some(expected) = expected(key) else { return error };
    let sentence = || format!("{key} is {}: expected {expected}", shown(value));
    if error.is_instance_of::<PyTypeError>(py) {
        PyTypeError::new_err(sentence())
    } else if error.is_instance_of::<PyOverflowError>(py) {
        refused(sentence())
    } else {
        error
    }
}

/// One of a few words.
fn word<T: Copy>(what: &str, found: &str, words: &[(&str, T)]) -> PyResult<T> {
    words.iter().find(|(word, _)| *word == found).map(|(_, value)| *value).ok_or_else(|| {
        let expected: Vec<String> = words.iter().map(|(word, _)| format!("`{word}`")).collect();
        refused(format!("{what} `{found}`: expected {}", expected.join(" or ")))
    })
}
