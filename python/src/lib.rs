//! The core of the Python package: converts, calls strile, converts back. What users see is made of it in Python.

mod array;
mod call;
mod dataset;
mod device;
mod dlpack;
mod error;
mod facts;
mod plan;
mod raster;
mod request;
mod source;

use pyo3::prelude::*;

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<dataset::Dataset>()?;
    module.add_class::<plan::Plan>()?;
    module.add_class::<raster::Raster>()?;
    module.add_function(wrap_pyfunction!(device::devices, module)?)?;
    module.add_function(wrap_pyfunction!(call::forked, module)?)
}
