//! `Onto`: the grid that files are read onto, and how pixels get there.

use crate::call;
use crate::dataset::Dataset;
use crate::error::refused;
use crate::facts;
use crate::grid::{Grid, datum_shift, system};
use crate::keys::{Keys, shown};
use crate::request::number;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::sync::Arc;
use strile::grid::{
    DemSampling, PlacedBy, Placing, Polygon, RpcDem, Top, WarpFile, WarpOptions, files_onto, name_of,
    sampling_named,
};
use strile::tiff::gdal::NoData;
use strile::{Input, OpenOptions, ReadOptions};

/// A grid, and how pixels get there. Pickled it is the arguments that it was made of.
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
        let onto = strile::grid::Onto { grid: grid.get().0.clone(), warp: warp_options(&keywords)? };
        Ok(Self { onto: Arc::new(onto), grid: grid.unbind(), keywords: keywords.unbind() })
    }

    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> ((Bound<'py, Grid>,), Bound<'py, PyDict>) {
        ((self.grid.bind(py).clone(),), self.keywords.bind(py).clone())
    }

    #[getter]
    fn grid<'py>(&self, py: Python<'py>) -> Bound<'py, Grid> {
        self.grid.bind(py).clone()
    }

    /// The method of resampling, by the name that plans have for it.
    #[getter]
    fn resampling(&self) -> &'static str {
        name_of(self.onto.warp.resampling)
    }

    /// The level of files that is read; None for the coarsest that suffices.
    #[getter]
    fn level(&self) -> Option<usize> {
        self.onto.warp.level
    }

    /// The value of missing pixels in the result, of which `dataset` is the first file; None where nothing states one.
    fn missing_value<'py>(
        &self,
        py: Python<'py>,
        dataset: &Dataset,
        masked: bool,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let warp = &self.onto.warp;
        let nan = masked.then_some(NoData::Float(f64::NAN));
        let value = warp.fill.or(nan).or(warp.nodata);
        let value = if value.is_some() { value } else { facts::stated_nodata(dataset.input(py)?.as_ref()) };
        facts::number(py, value)
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        format!("Onto({}, {})", shown(self.grid.bind(py)), self.keywords.bind(py))
    }
}

/// How pixels get onto a grid, by the keywords of `Onto`.
fn warp_options(keywords: &Bound<'_, PyDict>) -> PyResult<WarpOptions> {
    let mut keys = Keys::new("a read onto a grid", keywords);
    let mut warp = WarpOptions::new();
    if let Some(name) = keys.text("resampling")? {
        let found = sampling_named(&name);
        warp.resampling = found.map_err(|problem| refused(format!("resampling: {problem}")))?;
    }
    warp.tolerance = keys.float("tolerance")?.unwrap_or(warp.tolerance);
    warp.level = keys.integer("level", "0 for full resolution, k for the k-th overview, or None")?;
    if let Some(word) = keys.text("datum_shift")? {
        warp.datum_shift = datum_shift(&word)?;
    }
    warp.source_crs = keys.get("source_crs")?.map(|crs| system(&crs)).transpose()?;
    warp.nodata = number(keys.get("nodata")?.as_ref(), "nodata")?;
    warp.fill = number(keys.get("fill")?.as_ref(), "fill")?;
    if let Some(name) = keys.text("dtype")? {
        warp.data_type = Some(crate::dataset::data_type(&name)?);
    }
    let top = keys.word("top", &["first", "last"], |word| match word {
        "first" => Some(Top::First),
        "last" => Some(Top::Last),
        _ => None,
    })?;
    warp.top = top.unwrap_or_default();
    let text = keys.text("polygon")?;
    let crs = keys.get("polygon_crs")?;
    warp.polygon = text.map(|text| polygon(&text, crs.as_ref())).transpose()?.map(Arc::new);
    let order = keys.integer("order", "the order of a polynomial, 1 to 3")?;
    let ways = (keys.flag("tps")?.unwrap_or(false), keys.flag("rpc")?.unwrap_or(false));
    let dem = keys.typed("rpc_dem", "a path, a method and a height", |value| value.extract().ok())?;
    warp.placing = placing(order, ways, keys.float("rpc_height")?, dem)?;
    keys.finish()?;
    Ok(warp)
}

/// An elevation model: its path, how heights are interpolated, and the height where it has none.
pub(crate) type Dem = (String, String, Option<f64>);

/// What of the georeferencing of files counts, in the words of `strile warp`: `order`, `tps`, `rpc`, and the height of RPCs or the elevation
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

/// A polygon of a text. Its system is that of the text without `crs`, that of the result if `crs` is an empty text.
pub(crate) fn polygon(text: &str, crs: Option<&Bound<'_, PyAny>>) -> PyResult<Polygon> {
    let found = Polygon::from_text(text).map_err(|problem| refused(format!("polygon: {problem}")))?;
    let Some(crs) = crs else { return Ok(found) };
    let is_of_result = crs.extract::<String>().is_ok_and(|text| text.is_empty());
    Ok(found.with_crs(if is_of_result { None } else { Some(system(crs)?) }))
}

/// The files of a read onto a grid.
pub(crate) fn opened(py: Python<'_>, files: &[Bound<'_, Dataset>]) -> PyResult<Vec<Arc<Input>>> {
    if files.is_empty() {
        return Err(refused("expected at least one file to read onto the grid, got none"));
    }
    files.iter().map(|file| file.get().input(py)).collect()
}

/// How each file is put onto the grid: its level, and the operation between the datums. Reads nothing.
#[pyfunction]
#[pyo3(name = "files_onto")]
pub(crate) fn files<'py>(
    py: Python<'py>,
    files: Vec<Bound<'py, Dataset>>,
    onto: &Onto,
) -> PyResult<Bound<'py, PyList>> {
    let files = opened(py, &files)?;
    let context = call::context(None, None)?;
    let mut options = ReadOptions::new();
    options.place.onto = Some(Arc::clone(&onto.onto));
    let found = call::run(py, &context.cancel, None, || files_onto(&files, &options, &context))?;
    let all = PyList::empty(py);
    for file in &found {
        all.append(told_of(py, file)?)?;
    }
    Ok(all)
}

fn told_of<'py>(py: Python<'py>, file: &WarpFile) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("name", &file.name)?;
    dict.set_item("level", file.level)?;
    dict.set_item("ratio", file.ratio)?;
    dict.set_item("operation", file.operation.to_string())?;
    dict.set_item("accuracy", file.operation.accuracy)?;
    let codes: Vec<Option<u32>> = file.operation.steps.iter().map(|step| step.code).collect();
    dict.set_item("codes", codes)?;
    Ok(dict)
}
