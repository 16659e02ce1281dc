//! Devices by name.

use crate::dict::dict;
use crate::error::refused;
use pyo3::prelude::*;
use pyo3::types::PyList;
use strile::{Location, Processor};

/// What can decode on this machine, as a list of dicts: `name`, `usable`, `description`, and of a GPU
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

/// The memory that the name of a device means.
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

/// The processor that `decode_on` means for a result that lives `to`: `cuda` is the GPU that holds it, else the first.
pub(crate) fn decoder(name: &str, to: Location) -> PyResult<Processor> {
    match (name, to) {
        ("cuda", Location::Cuda(index)) => Ok(Processor::Cuda(index)),
        _ => processor("decode_on", name),
    }
}

/// The processor that a word of an option means.
pub(crate) fn processor(option: &str, name: &str) -> PyResult<Processor> {
    name.parse()
        .map_err(|_| refused(format!("{option} `{name}`: expected `auto`, `cpu`, `cuda` or `cuda:N`")))
}

/// The memory that a result is wanted in: that of `out`, which a device may not contradict, or of the device, else host
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

/// The name of the device whose memory it is.
pub(crate) fn name(location: Location) -> String {
    match location {
        Location::Host => "cpu".to_owned(),
        Location::Cuda(index) => format!("cuda:{index}"),
    }
}
