//! The Python module: `read`, `devices`, and rasters that numpy and DLPack take. Converts, calls strile, converts back.

mod device;
mod dlpack;
mod error;
mod raster;
mod read;

use pyo3::prelude::*;

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("StrileError", module.py().get_type::<error::StrileError>())?;
    module.add_class::<raster::Raster>()?;
    module.add_function(wrap_pyfunction!(read::read, module)?)?;
    module.add_function(wrap_pyfunction!(device::devices, module)?)
}
