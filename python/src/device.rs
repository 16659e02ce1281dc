//! Devices by name.

use crate::error::refused;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use strile::{Device, Location};

/// What can decode on this machine, as a list of dicts: `name`, `usable`, `description`, and of a GPU
/// `compute_capability`, `memory_free`, `memory_total` and `driver_cuda`.
#[pyfunction]
pub(crate) fn devices(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let found = crate::call::detached(py, strile::devices)?;
    let list = PyList::empty(py);
    for device in found {
        let dict = PyDict::new(py);
        dict.set_item("name", device.name)?;
        dict.set_item("usable", device.usable)?;
        dict.set_item("description", device.description)?;
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

/// The device that a name means.
pub(crate) fn parse(name: &str) -> PyResult<Device> {
    let wrong = || refused(format!("device `{name}`: `auto`, `cpu` or `cuda:N` expected"));
    match name {
        "auto" => Ok(Device::Auto),
        "cpu" => Ok(Device::Cpu),
        "cuda" => Ok(Device::Cuda(0)),
        _ => {
            let index = name.strip_prefix("cuda:").and_then(|index| index.parse().ok());
            index.map(Device::Cuda).ok_or_else(wrong)
        }
    }
}

/// The name of the device whose memory it is.
pub(crate) fn name(location: Location) -> String {
    match location {
        Location::Host => "cpu".to_owned(),
        Location::Cuda(index) => format!("cuda:{index}"),
    }
}
