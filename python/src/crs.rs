//! Identifies reference systems by code or text.

use crate::arguments::{integer, shown, text};
use crate::call;
use crate::error::strile_error;
use crate::facts;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use strile::tiff::geo::Crs;

/// Returns the system of a code or text.
pub(crate) fn parse(definition: &Bound<'_, PyAny>) -> PyResult<Crs> {
    let py = definition.py();
    if let Some(code) = integer(definition) {
        let found = u32::try_from(code).ok().and_then(Crs::from_epsg);
        return found.ok_or_else(|| {
            strile_error(py, "InvalidCRSCodeError", format!("EPSG has no reference system {code}"))
        });
    }
    let Some(given) = text(definition) else {
        let problem = format!("reference system {}: expected an EPSG code or text", shown(definition));
        return Err(PyTypeError::new_err(problem));
    };
    let found = call::guarded(py, || Ok(Crs::from_user_input(&given)))?;
    found.map_err(|problem| {
        let code = given.trim().trim_start_matches(|c: char| c.is_ascii_alphabetic() || c == ':');
        let is_code = !code.is_empty() && code.bytes().all(|byte| byte.is_ascii_digit());
        let class = if is_code { "InvalidCRSCodeError" } else { "UnparseableCRSError" };
        strile_error(py, class, format!("reference system {}: {problem}", shown(definition)))
    })
}

/// Returns a reference system by EPSG code, `EPSG:n`, WKT or PROJ text.
#[pyfunction]
pub(crate) fn crs<'py>(definition: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
    call::guarded(definition.py(), || facts::of_crs(definition.py(), &parse(definition)?))
}
