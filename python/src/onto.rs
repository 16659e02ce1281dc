//! Provides `Onto`: the grid that files are read onto, and the resampling.

use crate::arguments::{Float, Int, Value, shown, word};
use crate::call;
use crate::dataset::Dataset;
use crate::dict::{Dicts, dict};
use crate::error::refused;
use crate::facts;
use crate::grid::{Grid, system};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};
use std::sync::Arc;
use strile::grid::{
    DemSampling, PlacedBy, Placing, Polygon, RpcDem, Top, WarpFile, WarpOptions, files_onto, name_of,
    sampling_named,
};
use strile::tiff::gdal::NoData;
use strile::{Input, OpenOptions, ReadOptions};

/// A grid and the resampling onto it. Pickling keeps its arguments.
#[pyclass(frozen, module = "strile._core")]
pub(crate) struct Onto {
    pub(crate) onto: Arc<strile::grid::Onto>,
    grid: Py<Grid>,
    keywords: Py<PyDict>,
}

#[pymethods]
impl Onto {
    #[new]
    #[pyo3(signature = (grid, **keywords))]
    fn new(grid: Bound<'_, Grid>, keywords: Option<Bound<'_, PyDict>>) -> PyResult<Self> {
        let keywords = keywords.unwrap_or_else(|| PyDict::new(grid.py()));
        let warp = PyType::new::<Warp>(grid.py()).call((), Some(&keywords))?.cast_into::<Warp>()?;
        let onto = strile::grid::Onto { grid: grid.get().0.clone(), warp: warp.get().0.clone() };
        Ok(Self { onto: Arc::new(onto), grid: grid.unbind(), keywords: keywords.unbind() })
    }

    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> ((Bound<'py, Grid>,), Bound<'py, PyDict>) {
        ((self.grid.bind(py).clone(),), self.keywords.bind(py).clone())
    }

    #[getter]
    fn grid<'py>(&self, py: Python<'py>) -> Bound<'py, Grid> {
        self.grid.bind(py).clone()
    }

    /// Returns the resampling method, by its name in plans.
    #[getter]
    fn resampling(&self) -> &'static str {
        name_of(self.onto.warp.resampling)
    }

    /// Returns the level of files that is read; None for the coarsest that suffices.
    #[getter]
    fn level(&self) -> Option<usize> {
        self.onto.warp.level
    }

    /// Returns the value of missing pixels in the result, of which `dataset` is the first file; None where nothing states one.
    fn missing_value<'py>(
        &self,
        py: Python<'py>,
        dataset: &Dataset,
        masked: bool,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let warp = &self.onto.warp;
        let nan = masked.then_some(NoData::Float(f64::NAN));
        let value = warp.fill.or(nan).or(warp.nodata);
        let value = if value.is_some() { value } else { dataset.input(py)?.stated_nodata() };
        facts::number(py, value)
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        format!("Onto({}, {})", shown(self.grid.bind(py)), self.keywords.bind(py))
    }
}

/// Options of a read onto a grid, from the keywords of `Onto`.
#[pyclass(frozen)]
struct Warp(WarpOptions);

#[pymethods]
impl Warp {
    #[new]
    #[pyo3(signature = (*, resampling="nearest", tolerance=None, level=None, datum_shift="required", source_crs=None, nodata=None,
                        fill=None, dtype=None, top="last", polygon=None, polygon_crs=None, order=None, tps=false, rpc=false,
                        rpc_height=None, rpc_dem=None))]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn new(
        resampling: &str,
        tolerance: Option<Float>,
        level: Option<Int<usize>>,
        datum_shift: &str,
        source_crs: Option<&Bound<'_, PyAny>>,
        nodata: Option<Value>,
        fill: Option<Value>,
        dtype: Option<&str>,
        top: &str,
        polygon: Option<&str>,
        polygon_crs: Option<&Bound<'_, PyAny>>,
        order: Option<i64>,
        tps: bool,
        rpc: bool,
        rpc_height: Option<Float>,
        rpc_dem: Option<Dem>,
    ) -> PyResult<Self> {
        let mut warp = WarpOptions::new();
        let method = sampling_named(resampling);
        warp.resampling = method.map_err(|problem| refused(format!("resampling: {problem}")))?;
        warp.tolerance = tolerance.map_or(warp.tolerance, |pixels| pixels.0);
        warp.level = level.map(|level| level.0);
        warp.datum_shift = crate::grid::datum_shift(datum_shift)?;
        warp.source_crs = source_crs.map(system).transpose()?;
        (warp.nodata, warp.fill) = (nodata.map(|value| value.0), fill.map(|value| value.0));
        warp.data_type = dtype.map(crate::dataset::data_type).transpose()?;
        warp.top = word("top", top, &[("first", Top::First), ("last", Top::Last)])?;
        warp.polygon = polygon.map(|text| self::polygon(text, polygon_crs)).transpose()?.map(Arc::new);
        warp.placing = placing(order, (tps, rpc), rpc_height.map(|height| height.0), rpc_dem)?;
        Ok(Self(warp))
    }
}

/// An elevation model: its path, how heights are interpolated, and the height where it has none.
pub(crate) type Dem = (String, String, Option<f64>);

/// Chooses among the georeferencing of files by the options of `strile warp`: `order`, `tps`, `rpc`, and the height of RPCs or the elevation
/// model that they take it from.
pub(crate) fn placing(
    order: Option<i64>,
    (tps, rpc): (bool, bool),
    height: Option<f64>,
    dem: Option<Dem>,
) -> PyResult<Placing> {
    let by = match (order, tps, rpc) {
        (None, false, false) => PlacedBy::Any,
        (None, true, false) => PlacedBy::ThinPlate,
        (None, false, true) => PlacedBy::Rational,
        (Some(order), false, false) => match u8::try_from(order) {
            Ok(order @ 1..=3) => PlacedBy::Polynomial(order),
            _ => return Err(refused(format!("order is {order}: expected 1, 2 or 3"))),
        },
        _ => return Err(refused("order, tps and rpc place a file in different ways: pass one of them")),
    };
    match height {
        Some(height) if !height.is_finite() => {
            Err(refused(format!("rpc_height is {height}: expected metres above the ellipsoid")))
        }
        height => {
            Ok(Placing::by(by).rpc_height(height.unwrap_or(0.0)).rpc_dem(dem.map(elevation).transpose()?))
        }
    }
}

/// Opens an elevation model.
fn elevation((path, sampling, missing): Dem) -> PyResult<Arc<RpcDem>> {
    let sampling = DemSampling::named(&sampling);
    let sampling = sampling.map_err(|problem| refused(format!("rpc_dem: interpolation: {problem}")))?;
    if missing.is_some_and(|height| !height.is_finite()) {
        return Err(refused("rpc_dem: missing_value: expected metres above the ellipsoid"));
    }
    let input = Input::open(&path, &OpenOptions::default()).map_err(crate::error::exception)?;
    Ok(Arc::new(RpcDem::new(input).sampling(sampling).missing_value(missing)))
}

/// Returns a polygon of a text. Its system is that of the text without `crs`, that of the result if `crs` is an empty text.
pub(crate) fn polygon(text: &str, crs: Option<&Bound<'_, PyAny>>) -> PyResult<Polygon> {
    let found = Polygon::from_text(text).map_err(|problem| refused(format!("polygon: {problem}")))?;
    let Some(crs) = crs else { return Ok(found) };
    let is_of_result = crs.extract::<String>().is_ok_and(|text| text.is_empty());
    Ok(found.with_crs(if is_of_result { None } else { Some(system(crs)?) }))
}

/// Returns the files of a read onto a grid.
pub(crate) fn opened(py: Python<'_>, files: &[Bound<'_, Dataset>]) -> PyResult<Vec<Arc<Input>>> {
    if files.is_empty() {
        return Err(refused("expected at least one file to read onto the grid, got none"));
    }
    files.iter().map(|file| file.get().input(py)).collect()
}

/// Returns how each file is read onto the grid: its level, and the operation between the datums. Reads no pixels.
#[pyfunction]
#[pyo3(name = "files_onto")]
pub(crate) fn files<'py>(
    py: Python<'py>,
    files: Vec<Bound<'py, Dataset>>,
    onto: &Onto,
) -> PyResult<Dicts<'py>> {
    let files = opened(py, &files)?;
    let context = call::context(None, None)?;
    let mut options = ReadOptions::new();
    options.place.onto = Some(Arc::clone(&onto.onto));
    let found = call::run(py, &context.cancel, None, || files_onto(&files, &options, &context))?;
    found.iter().map(|file| file_dict(py, file)).collect()
}

fn file_dict<'py>(py: Python<'py>, file: &WarpFile) -> PyResult<Bound<'py, PyDict>> {
    let operation = &file.operation;
    let codes: Vec<Option<u32>> = operation.steps.iter().map(|step| step.code).collect();
    let text = operation.to_string();
    Ok(dict!(
        py; file { name, level, ratio, is_outside }, "operation" => text, "accuracy" => operation.accuracy, "codes" => codes,
    ))
}
