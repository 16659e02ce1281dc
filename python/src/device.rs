//! Finds devices by name.

use crate::dict::dict;
use crate::error::refused;
use pyo3::prelude::*;
use pyo3::types::PyList;
use strile::{Location, Processor};

/// Lists the processors of this machine that can decode, as dicts: `name`, `usable`, `description`, and for a GPU
/// `compute_capability`, `memory_free`, `memory_total` and `driver_cuda`.
#[pyfunction]
pub(crate) fn devices(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let found = crate::call::detached(py, strile::device::devices)?;
    let list = PyList::empty(py);
    for device in found {
        let dict = dict!(py; device { name, usable, description });
        if let Some(gpu) = device.gpu {
            dict.set_item("compute_capability", gpu.capability)?;
            dict.set_item("memory_free", gpu.memory_free)?;
            dict.set_item("memory_total", gpu.memory_total)?;
            dict.set_item("driver_cuda", gpu.driver)?;
        }
        list.append(dict)?;
    }
    Ok(list)
}

/// Returns the memory of a named device.
pub(crate) fn place(name: &str) -> PyResult<Location> {
    match name.parse() {
        Ok(Processor::Cpu) => Ok(Location::Host),
        Ok(Processor::Cuda(index)) => Ok(Location::Cuda(index)),
        Ok(Processor::Auto) | Err(_) => Err(refused(format!(
            "device `{name}`: expected `cpu`, `cuda` or `cuda:N`, where the result lives; `decode_on` says which \
             processor decodes"
        ))),
    }
}

/// Returns the processor of `decode_on` for a result in memory `to`: `cuda` is the GPU that holds it, else the first.
pub(crate) fn decoder(name: &str, to: Location) -> PyResult<Processor> {
    match (name, to) {
        ("cuda", Location::Cuda(index)) => Ok(Processor::Cuda(index)),
        _ => processor("decode_on", name),
    }
}

/// Returns the processor that a word of an option names.
pub(crate) fn processor(option: &str, name: &str) -> PyResult<Processor> {
    name.parse()
        .map_err(|_| refused(format!("{option} `{name}`: expected `auto`, `cpu`, `cuda` or `cuda:N`")))
}

/// Returns the memory for a result: that of `out`, which must agree with the device, or of the device, else host
/// memory.
pub(crate) fn destination(device: Option<Location>, out: Option<Location>) -> PyResult<Location> {
    match (device, out) {
        (Some(asked), Some(out)) if asked != out => Err(refused(format!(
            "device is `{}`, but `out` is in the memory of `{}`: leave out one of them",
            self::name(asked),
            self::name(out)
        ))),
        (_, Some(out)) => Ok(out),
        (asked, None) => Ok(asked.unwrap_or(Location::Host)),
    }
}

/// Returns the name of the device of a memory.
pub(crate) fn name(location: Location) -> String {
    match location {
        Location::Host => "cpu".to_owned(),
        Location::Cuda(index) => format!("cuda:{index}"),
    }
}
