//! Provides `strile.Grid`: a reference system, a transform and a size that pixels are read onto.
//!
//! The grid is that of the library; here are the forms in which Python callers state one. Grids of other packages
//! (arrays, `GeoBox`) are converted by `strile.grid`.

use crate::arguments::{Int, elements, float, integer, shown};
use crate::crs;
use crate::dataset::Dataset;
use crate::error::refused;
use crate::placement::{Transform, numbers_of};
use crate::{call, facts};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyAny, PyDict, PyTuple, PyType};
use strile::crs::{DatumShift, TransformOptions};
use strile::error::InvalidValue;
use strile::file::AsInput as _;
use strile::grid::{GridChoice, Placement, Placing};
use strile::tiff::geo::{Bounds, Crs, GeoTransform};

/// West, south, east, north.
type Sides = (f64, f64, f64, f64);

/// Pixels that a file is read onto: a reference system, a transform and a size.
#[pyclass(frozen, module = "strile._core")]
pub(crate) struct Grid(pub(crate) strile::grid::Grid);

fn invalid(problem: &InvalidValue) -> PyErr {
    refused(problem.to_string())
}

/// Returns a system as a code, a text, or an object of pyproj, rasterio or odc-geo.
pub(crate) fn system(given: &Bound<'_, PyAny>) -> PyResult<Crs> {
    if let Ok(to_wkt) = given.getattr("to_wkt") {
        return crs::parse(&to_wkt.call0()?);
    }
    crs::parse(given)
}

/// Returns `EPSG:n` where a system has a code, else WKT.
pub(crate) fn system_text(crs: &Crs) -> String {
    match (crs.epsg, &crs.wkt) {
        (Some(code), _) => format!("EPSG:{code}"),
        (None, Some(wkt)) => wkt.clone(),
        (None, None) => crs.name.clone(),
    }
}

/// Returns numbers of a list; `None` for anything else.
fn numbers(given: &Bound<'_, PyAny>) -> Option<Vec<f64>> {
    elements(given)?.iter().map(float).collect()
}

fn transform_of(given: &Bound<'_, PyAny>) -> PyResult<GeoTransform> {
    let expected = "expected six numbers (a, b, c, d, e, f), or an Affine";
    match numbers(given).as_deref() {
        Some(&[a, b, c, d, e, f]) => Ok(GeoTransform { a, b, c, d, e, f }),
        // An Affine is the nine numbers of its matrix.
        Some(&[a, b, c, d, e, f, 0.0, 0.0, 1.0]) => Ok(GeoTransform { a, b, c, d, e, f }),
        Some(_) => Err(refused(format!("transform is {}: {expected}", shown(given)))),
        None => Err(PyTypeError::new_err(format!("transform is {}: {expected}", shown(given)))),
    }
}

/// Returns height and width.
fn shape_of(given: &Bound<'_, PyAny>) -> PyResult<(u32, u32)> {
    let expected = "expected (height, width) in whole numbers of at least 1";
    let sides: Option<Vec<i128>> = elements(given).and_then(|sides| sides.iter().map(integer).collect());
    let Some(sides) = sides else {
        return Err(PyTypeError::new_err(format!("shape is {}: {expected}", shown(given))));
    };
    let side = |side: &i128| u32::try_from(*side).ok().filter(|side| *side > 0);
    match sides.iter().map(side).collect::<Option<Vec<u32>>>().as_deref() {
        Some(&[height, width]) => Ok((height, width)),
        _ => Err(refused(format!("shape is {}: {expected}", shown(given)))),
    }
}

/// Returns width and height of a pixel: one number for both, or two.
fn resolution_of(given: &Bound<'_, PyAny>) -> PyResult<(f64, f64)> {
    let pair = float(given).map(|one| vec![one, one]).or_else(|| numbers(given));
    match pair.as_deref() {
        // The height of an odc-geo resolution, and of a transform, is negative where rows go south.
        Some(&[across, down]) if across > 0.0 && down != 0.0 => Ok((across, down.abs())),
        Some(_) => Err(refused(format!(
            "resolution is {}: expected the size of a pixel, above 0, or two: (width, height)",
            shown(given)
        ))),
        None => Err(PyTypeError::new_err(format!(
            "resolution is {}: expected the size of a pixel, or two: (width, height)",
            shown(given)
        ))),
    }
}

fn bounds_of(given: &Bound<'_, PyAny>) -> PyResult<Bounds> {
    let expected = "expected (xmin, ymin, xmax, ymax)";
    match numbers(given).as_deref() {
        Some(&[min_x, min_y, max_x, max_y]) => Ok(Bounds { min_x, min_y, max_x, max_y }),
        Some(_) => Err(refused(format!("bounds is {}: {expected}", shown(given)))),
        None => Err(PyTypeError::new_err(format!("bounds is {}: {expected}", shown(given)))),
    }
}

/// Returns how datums without a known operation are treated, by its word.
pub(crate) fn datum_shift(word: &str) -> PyResult<DatumShift> {
    match word {
        "required" => Ok(DatumShift::Required),
        "none" => Ok(DatumShift::None),
        other => Err(refused(format!("datum_shift is `{other}`: expected `required` or `none`"))),
    }
}

/// Returns the grid of an open file.
fn placement(file: &Bound<'_, Dataset>, crs: Option<&Crs>, placing: &Placing) -> PyResult<Placement> {
    let input = file.get().input(file.py())?;
    let mut georeference = input.metadata().georeference.clone();
    if let Some(crs) = crs {
        georeference.crs = Some(crs.clone());
        georeference.gcp_crs = Some(crs.clone());
    }
    let (width, height) = input.as_input().size();
    let context = crate::call::context(None, None)?;
    let placed = Placement::of(&georeference, width, height, placing, &context);
    placed.map_err(|problem| refused(format!("{}: {problem}", input.name())))
}

fn chosen<R: Clone + Into<Placement> + Sync>(
    py: Python<'_>,
    choice: &GridChoice,
    rasters: &[R],
    shift: DatumShift,
) -> PyResult<Grid> {
    let options = TransformOptions::default().datum_shift(shift);
    let made = call::detached(py, || choice.grid(rasters, &options))?;
    made.map(Grid).map_err(|problem| invalid(&problem))
}

impl Grid {
    /// Calls a function of `strile.grid`, which knows objects of other packages.
    fn converted<'py>(py: Python<'py>, name: &str, given: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        py.import("strile.grid")?.getattr(name)?.call1((given,))
    }
}

#[pymethods]
impl Grid {
    #[new]
    fn new(crs: &Bound<'_, PyAny>, transform: &Bound<'_, PyAny>, shape: &Bound<'_, PyAny>) -> PyResult<Self> {
        call::guarded(crs.py(), || {
            let (height, width) = shape_of(shape)?;
            strile::grid::Grid::new(system(crs)?, transform_of(transform)?, width, height)
                .map(Self)
                .map_err(|problem| invalid(&problem))
        })
    }

    /// Makes the grid that fills bounds (xmin, ymin, xmax, ymax) with pixels of a resolution, or with a `shape`.
    #[staticmethod]
    #[pyo3(signature = (bounds, crs, *, resolution=None, shape=None, target_aligned=false))]
    fn from_bounds(
        bounds: &Bound<'_, PyAny>,
        crs: &Bound<'_, PyAny>,
        resolution: Option<&Bound<'_, PyAny>>,
        shape: Option<&Bound<'_, PyAny>>,
        target_aligned: bool,
    ) -> PyResult<Self> {
        call::guarded(crs.py(), || {
            let (bounds, crs) = (bounds_of(bounds)?, system(crs)?);
            let made = match (resolution, shape) {
                (Some(resolution), None) => {
                    strile::grid::Grid::from_bounds(crs, bounds, resolution_of(resolution)?, target_aligned)
                }
                (None, Some(shape)) => {
                    if target_aligned {
                        return Err(refused(
                            "target_aligned moves bounds to multiples of a resolution: pass resolution, not shape",
                        ));
                    }
                    let (height, width) = shape_of(shape)?;
                    strile::grid::Grid::from_bounds_and_size(crs, bounds, width, height)
                }
                _ => return Err(refused("expected either resolution or shape, with the bounds")),
            };
            made.map(Self).map_err(|problem| invalid(&problem))
        })
    }

    /// Makes the grid of a tile of web maps, with rows counted from the north.
    #[staticmethod]
    #[pyo3(signature = (z, x, y, size=Int(256)), text_signature = "(z, x, y, size=256)")]
    fn xyz(z: Int<u8>, x: Int<u32>, y: Int<u32>, size: Int<u32>) -> PyResult<Self> {
        strile::grid::Grid::xyz_tile(z.0, x.0, y.0, size.0).map(Self).map_err(|problem| invalid(&problem))
    }

    /// Makes the grid of the pixels of a file, a `Dataset`, a DataArray, a `GeoBox`, or a dataset of rasterio.
    #[staticmethod]
    fn like<'py>(py: Python<'py>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        Self::converted(py, "like", other)
    }

    /// Makes the grid that GDAL suggests for a raster in another reference system, or the same extent with this resolution. A file without a
    /// transform is placed by its control points or RPCs.
    #[staticmethod]
    #[pyo3(signature = (source, crs, resolution=None, *, datum_shift="required"))]
    fn suggest<'py>(
        py: Python<'py>,
        source: &Bound<'py, PyAny>,
        crs: &Bound<'py, PyAny>,
        resolution: Option<&Bound<'py, PyAny>>,
        datum_shift: &str,
    ) -> PyResult<Self> {
        let shift = self::datum_shift(datum_shift)?;
        let source = Self::converted(py, "raster_of", source)?;
        let raster = match source.cast::<Dataset>() {
            Ok(file) => placement(file, None, &Placing::default())?,
            Err(_) => source.cast::<Self>()?.get().0.clone().into(),
        };
        let choice =
            GridChoice::new().crs(system(crs)?).resolution(resolution.map(resolution_of).transpose()?);
        chosen(py, &choice, &[raster], shift)
    }

    /// Completes a grid for open files, as gdalwarp chooses its output. Files are placed as in `crate::onto::placing`.
    #[staticmethod]
    #[pyo3(signature = (
        files, *, crs=None, bounds=None, resolution=None, shape=None, target_aligned=false, datum_shift="required",
        source_crs=None, order=None, tps=false, rpc=false, rpc_height=None, rpc_dem=None,
    ))]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn chosen<'py>(
        py: Python<'py>,
        files: Vec<Bound<'py, Dataset>>,
        crs: Option<&Bound<'py, PyAny>>,
        bounds: Option<&Bound<'py, PyAny>>,
        resolution: Option<&Bound<'py, PyAny>>,
        shape: Option<&Bound<'py, PyAny>>,
        target_aligned: bool,
        datum_shift: &str,
        source_crs: Option<&Bound<'py, PyAny>>,
        order: Option<i64>,
        tps: bool,
        rpc: bool,
        rpc_height: Option<f64>,
        rpc_dem: Option<crate::onto::Dem>,
    ) -> PyResult<Self> {
        let shift = self::datum_shift(datum_shift)?;
        let placing = crate::onto::placing(order, (tps, rpc), rpc_height, rpc_dem)?;
        let source_crs = source_crs.map(system).transpose()?;
        let choice = GridChoice::new()
            .crs(crs.map(system).transpose()?)
            .bounds(bounds.map(bounds_of).transpose()?)
            .resolution(resolution.map(resolution_of).transpose()?)
            .size(shape.map(shape_of).transpose()?.map(|(height, width)| (width, height)))
            .target_aligned(target_aligned);
        let mut rasters = Vec::with_capacity(files.len());
        for file in &files {
            rasters.push(placement(file, source_crs.as_ref(), &placing)?);
        }
        chosen(py, &choice, &rasters, shift)
    }

    /// Makes the grid of an open file at full resolution.
    #[staticmethod]
    fn of_dataset(py: Python<'_>, dataset: &Dataset) -> PyResult<Self> {
        let input = dataset.input(py)?;
        input.as_input().grid().map(Self).map_err(|error| refused(error.to_string()))
    }

    /// Cuts the grid to the part that the box around a polygon touches; `crs` as in `crate::onto::polygon`.
    fn cropped(&self, polygon: &str, crs: Option<&Bound<'_, PyAny>>, datum_shift: &str) -> PyResult<Self> {
        let polygon = crate::onto::polygon(polygon, crs)?;
        let made = self.0.cropped_to(&polygon, self::datum_shift(datum_shift)?);
        made.map(Self).map_err(|problem| invalid(&problem))
    }

    /// Returns `EPSG:n` where the reference system has a code, else WKT.
    #[getter]
    fn crs(&self) -> String {
        system_text(self.0.crs())
    }

    /// Returns names, codes and WKT of the reference system, for the attributes of arrays.
    fn system<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        facts::of_crs(py, self.0.crs())
    }

    /// Returns the transform of pixel corners: a, b, c, d, e, f, as `affine.Affine` takes them.
    #[getter]
    fn transform(&self) -> Transform {
        numbers_of(self.0.transform())
    }

    /// Returns (height, width), as arrays have it.
    #[getter]
    fn shape(&self) -> (u32, u32) {
        (self.0.height(), self.0.width())
    }

    #[getter]
    fn width(&self) -> u32 {
        self.0.width()
    }

    #[getter]
    fn height(&self) -> u32 {
        self.0.height()
    }

    /// Returns (xmin, ymin, xmax, ymax) of all corners.
    #[getter]
    fn bounds(&self) -> Sides {
        let Bounds { min_x, min_y, max_x, max_y } = self.0.bounds();
        (min_x, min_y, max_x, max_y)
    }

    /// Returns width and height of a pixel, in units of the reference system.
    #[getter]
    fn resolution(&self) -> (f64, f64) {
        self.0.transform().resolution()
    }

    /// Returns the same grid as a `GeoBox` of odc-geo.
    fn to_geobox<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Self::converted(slf.py(), "to_geobox", slf)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        let Ok(other) = other.cast::<Self>() else { return false };
        let other = &other.get().0;
        self.0.transform() == other.transform()
            && (self.0.width(), self.0.height()) == (other.width(), other.height())
            && self.0.crs().is_same(other.crs())
    }

    fn __hash__(&self) -> u64 {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        let (a, b, c, d, e, f) = self.transform();
        // -0 is equal to 0 and has other bits. The system is left out: texts that differ may mean the same one.
        [a, b, c, d, e, f].map(|number| (number + 0.0).to_bits()).hash(&mut hasher);
        self.shape().hash(&mut hasher);
        hasher.finish()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyType>, Bound<'py, PyTuple>)> {
        let arguments = (self.crs(), self.transform(), self.shape()).into_pyobject(py)?;
        Ok((py.get_type::<Self>(), arguments))
    }

    fn __repr__(&self) -> String {
        let crs = match self.0.crs() {
            Crs { epsg: Some(code), .. } => format!("EPSG:{code}"),
            crs => crs.name.clone(),
        };
        format!("<strile.Grid {crs:?}, {} × {}, {:?}>", self.0.height(), self.0.width(), self.transform())
    }
}
