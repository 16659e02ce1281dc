//! Converts class names and colours to attributes of a read, and to the text of `.aux.xml`.

use crate::dataset::Dataset;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use strile::Input;
use strile::categories::Categories;

/// Returns `category_names` and `category_colors` as attributes, the attribute and colour tables of all bands as the text of
/// a sidecar (`None` without tables), and what was ignored, in words. A VRT has none of them.
#[pyfunction]
pub(crate) fn categories<'py>(
    py: Python<'py>,
    dataset: &Dataset,
) -> PyResult<(Bound<'py, PyDict>, Option<String>, Vec<String>)> {
    let attrs = PyDict::new(py);
    let input = dataset.input(py)?;
    let Input::Tiff(file) = input.as_ref() else { return Ok((attrs, None, Vec::new())) };
    let Categories { names, colours, tables, problems } = Categories::of(file.metadata());
    if !names.is_empty() {
        attrs.set_item("category_names", names)?;
    }
    if !colours.is_empty() {
        attrs.set_item("category_colors", colours)?;
    }
    Ok((attrs, tables, problems))
}

/// Returns the text of `.aux.xml`; see `strile::categories::aux_xml`.
#[pyfunction]
#[pyo3(signature = (names, colours, items, tables=None, bands=Vec::new()))]
pub(crate) fn aux_xml<'py>(
    py: Python<'py>,
    names: Vec<String>,
    colours: Vec<(u8, u8, u8, u8)>,
    items: Vec<(String, String)>,
    tables: Option<&str>,
    bands: Vec<u32>,
) -> Option<Bound<'py, PyBytes>> {
    let text = strile::categories::aux_xml(names, &colours, items, tables, &bands)?;
    Some(PyBytes::new(py, text.as_bytes()))
}
