//! `Placement`: where the pixels of a level lie, by the numbers that the file states.
//!
//! The transform keeps these numbers bit for bit: it is that of pixel corners, or for a file of points that of the first
//! pixel's centre. Its axes are rows and columns. A rotated grid is refused, or read as plain pixels.

use crate::dataset::Dataset;
use crate::error::{refused, strile_error};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use strile::file::StoredField;
use strile::tiff::Tag;
use strile::tiff::geo::{AreaOrPoint, Georeference};
use strile::{Cancel, Input};

/// a, b, c, d, e, f in the order of the `affine` package.
type Transform = (f64, f64, f64, f64, f64, f64);
/// Row, column, x, y, z.
type Gcp = (f64, f64, f64, f64, f64);

/// Shear below this share of the pixel size is rounding.
const SHEAR: f64 = 1e-12;

/// The placement of a level. Without georeferencing there is no transform; `rotated` is a transform that was dropped
/// because its axes are not rows and columns; `gcps` are control points in place of a transform.
#[pyclass(frozen, module = "strile._core")]
pub(crate) struct Placement {
    #[pyo3(get)]
    pub(crate) transform: Option<Transform>,
    #[pyo3(get)]
    pub(crate) point: bool,
    #[pyo3(get)]
    pub(crate) rotated: Option<Transform>,
    pub(crate) gcps: Vec<Gcp>,
    /// The reference system, as messages call it.
    system: Option<String>,
}

#[pymethods]
impl Placement {
    #[getter]
    fn gcps<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.gcps)
    }

    /// Returns the transform of a window that begins at a pixel.
    pub(crate) fn at(&self, row: u32, column: u32) -> Option<Transform> {
        let (a, b, c, d, e, f) = self.transform?;
        let moved = |origin: f64, size: f64, pixels: u32| match pixels {
            0 => origin,
            pixels => origin + f64::from(pixels) * size,
        };
        Some((a, b, moved(c, a, column), d, e, moved(f, e, row)))
    }

    /// Returns the smallest window (row0, col0, row1, col1) inside `height` by `width` pixels that covers a box.
    fn window_of(
        &self,
        sides: (f64, f64, f64, f64),
        height: u32,
        width: u32,
    ) -> PyResult<(u32, u32, u32, u32)> {
        if self.rotated.is_some() {
            let problem = "bbox needs axes that are rows and columns and this file is rotated: pass window";
            return Err(refused(problem));
        }
        if !self.gcps.is_empty() {
            let problem = "bbox needs a transform and this file is placed by control points: pass window";
            return Err(refused(problem));
        }
        let Some((a, _, c, _, e, f)) = self.transform else {
            return Err(refused("bbox needs a georeferenced file and this one is not: pass window"));
        };
        let half = if self.point { 0.5 } else { 0.0 };
        let (x, y) = (c - a * half, f - e * half);
        let (west, south, east, north) = sides;
        let rows = span((south - y) / e, (north - y) / e, height);
        let columns = span((west - x) / a, (east - x) / a, width);
        if rows.0 >= rows.1 || columns.0 >= columns.1 {
            let (x1, y1) = (x + a * f64::from(width), y + e * f64::from(height));
            let extent = (x.min(x1), y.min(y1), x.max(x1), y.max(y1));
            let hint = self.other_system(sides, extent);
            return Err(refused(format!(
                "bbox {sides:?} lies outside the file, which covers {extent:?}{hint}"
            )));
        }
        Ok((rows.0, columns.0, rows.1, columns.1))
    }
}

/// First and end of the pixels between two places along an axis of `count` pixels.
fn span(one: f64, other: f64, count: u32) -> (u32, u32) {
    let limit = f64::from(count);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and a u32")]
    let whole = |place: f64| place.clamp(0.0, limit) as u32;
    (whole(one.min(other).floor()), whole(one.max(other).ceil()))
}

impl Placement {
    /// A hint where a box that misses the file seems to be in another reference system.
    fn other_system(&self, sides: (f64, f64, f64, f64), extent: (f64, f64, f64, f64)) -> String {
        let degrees = |(west, south, east, north): (f64, f64, f64, f64)| {
            west.abs().max(east.abs()) <= 360.0 && south.abs().max(north.abs()) <= 90.0
        };
        match &self.system {
            Some(system) if degrees(sides) != degrees(extent) => {
                let unit = if degrees(sides) { "degrees" } else { "the units of a projection" };
                format!(
                    " in {system}: the box looks like {unit}; transform it to the reference system of the file first"
                )
            }
            _ => String::new(),
        }
    }

    /// The grid of an overview whose pixels are that many pixels wide and high.
    fn reduced(&mut self, across: f64, down: f64) {
        for (row, column, ..) in &mut self.gcps {
            (*row, *column) = (*row / down, *column / across);
        }
        if let Some((a, _, c, _, e, f)) = self.transform
            && (across, down) != (1.0, 1.0)
        {
            let shift = if self.point { 0.5 } else { 0.0 };
            let (c, f) = (c + a * (across - 1.0) * shift, f + e * (down - 1.0) * shift);
            self.transform = Some((a * across, 0.0, c, 0.0, e * down, f));
        }
    }

    /// The grid after the pixels, `height` and `width` as stored, were turned as the orientation says.
    fn oriented(&mut self, py: Python<'_>, orientation: u8, height: u32, width: u32) -> PyResult<()> {
        let unsupported = |problem: &str| {
            let sentence = format!("orientation {orientation} {problem}: rewrite it with orientation 1");
            Err(strile_error(py, "UnsupportedGeoTIFFFeatureError", sentence))
        };
        if orientation == 1 {
            return Ok(());
        }
        if !self.gcps.is_empty() {
            return unsupported("turns the pixels of a file that is placed by control points");
        }
        let Some((mut a, _, mut c, _, mut e, mut f)) = self.transform else { return Ok(()) };
        if orientation > 4 {
            return unsupported(
                "swaps the axes of a georeferenced file, which no axis-aligned transform can state",
            );
        }
        let last = if self.point { 1.0 } else { 0.0 };
        if matches!(orientation, 2 | 3) {
            (a, c) = (-a, c + a * (f64::from(width) - last));
        }
        if matches!(orientation, 3 | 4) {
            (e, f) = (-e, f + e * (f64::from(height) - last));
        }
        self.transform = Some((a, 0.0, c, 0.0, e, f));
        Ok(())
    }
}

/// The tags of the transform, as numbers.
struct Model {
    scale: Option<Vec<f64>>,
    points: Option<Vec<f64>>,
    matrix: Option<[f64; 16]>,
}

impl Model {
    fn of(fields: &[StoredField]) -> Self {
        let numbers = |tag| {
            let field = fields.iter().find(|field| field.tag == tag)?;
            field.field_type.floats(field.bytes.as_deref()?, field.byte_order)
        };
        let matrix = numbers(Tag::ModelTransformationTag);
        Self {
            scale: numbers(Tag::ModelPixelScaleTag),
            points: numbers(Tag::ModelTiepointTag),
            matrix: matrix.and_then(|matrix| matrix.try_into().ok()),
        }
    }

    /// The transform; tie points that contradict it are refused.
    fn transform(&self, py: Python<'_>, name: &str) -> PyResult<Option<Transform>> {
        if let Some([a, b, _, c, d, e, _, f, ..]) = self.matrix {
            return Ok(Some((a, b, c, d, e, f)));
        }
        let (Some([dx, dy, ..]), Some(points)) = (self.scale.as_deref(), &self.points) else {
            return Ok(None);
        };
        let (a, e) = (*dx, -*dy);
        let mut points = points.as_chunks::<6>().0.iter();
        let Some(&[column, row, _, x, y, _]) = points.next() else { return Ok(None) };
        let c = if column == 0.0 { x } else { x - column * a };
        let f = if row == 0.0 { y } else { y - row * e };
        for &[column, row, _, x, y, _] in points {
            let (there, below) = (c + column * a, f + row * e);
            if (there - x).abs() > a.abs() * 1e-3 || (below - y).abs() > e.abs() * 1e-3 {
                let sentence = format!(
                    "{name}: the tiepoint at pixel ({row}, {column}) is ({x}, {y}) and ({there}, {below}) by the pixel \
                     size and the first one: no axis-aligned transform states both"
                );
                return Err(strile_error(py, "UnsupportedGeoTIFFFeatureError", sentence));
            }
        }
        Ok(Some((a, 0.0, c, 0.0, e, f)))
    }

    /// Whether the stored matrix makes x or y depend on z.
    fn leans(&self) -> bool {
        self.matrix.is_some_and(|[a, _, x, _, _, e, y, ..]| {
            let limit = SHEAR * a.abs().max(e.abs());
            x.abs() > limit || y.abs() > limit
        })
    }
}

fn is_sheared((a, b, _, d, e, _): Transform) -> bool {
    let limit = SHEAR * a.abs().max(e.abs());
    b.abs() > limit || d.abs() > limit
}

/// The grid of the full resolution, before orientation.
fn stored(
    py: Python<'_>,
    georeference: &Georeference,
    model: &Model,
    allow_rotated: bool,
    name: &str,
) -> PyResult<Placement> {
    let point = georeference.area_or_point == Some(AreaOrPoint::Point);
    let crs = georeference.crs.as_ref().or(georeference.gcp_crs.as_ref());
    let system = crs.map(|crs| match crs.epsg {
        Some(code) => format!("EPSG:{code}"),
        None if crs.name.is_empty() => "another system".to_owned(),
        None => crs.name.clone(),
    });
    let mut placement = Placement { transform: None, point, rotated: None, gcps: Vec::new(), system };
    // The transform of a VRT, or of a file beside the raster, is always that of corners.
    let known = georeference.transform.map(|t| {
        let half = if point { 0.5 } else { 0.0 };
        (t.a, t.b, t.c + (t.a + t.b) * half, t.d, t.e, t.f + (t.d + t.e) * half)
    });
    let Some(transform) = model.transform(py, name)?.or(known) else {
        placement.gcps =
            georeference.gcps.iter().map(|gcp| (gcp.row, gcp.column, gcp.x, gcp.y, gcp.z)).collect();
        return Ok(placement);
    };
    if is_sheared(transform) || model.leans() {
        if !allow_rotated {
            let sentence = format!(
                "{name}: the transform {transform:?} has rotation or shear and rows and columns are needed: pass \
                 allow_rotated=True to read it as a plain grid of pixels"
            );
            return Err(strile_error(py, "RotatedTransformError", sentence));
        }
        placement.rotated = Some(transform);
        return Ok(placement);
    }
    let (a, _, c, _, e, f) = transform;
    for (axis, size) in [("wide", a), ("high", e)] {
        if size == 0.0 || !size.is_finite() {
            let sentence = format!("{name}: pixels are {size} {axis}, expected a finite size other than 0");
            return Err(strile_error(py, "DegeneratePixelSizeError", sentence));
        }
    }
    placement.transform = Some((a, 0.0, c, 0.0, e, f));
    Ok(placement)
}

const MODEL: [Tag; 3] = [Tag::ModelTransformationTag, Tag::ModelPixelScaleTag, Tag::ModelTiepointTag];

/// Returns the placement of a level, halved `reduce` times; of the image as it is stored where `oriented` is False.
#[pyfunction]
#[pyo3(signature = (dataset, level=0, reduce=0, *, allow_rotated=false, oriented=true))]
pub(crate) fn placement(
    py: Python<'_>,
    dataset: &Dataset,
    level: usize,
    reduce: u32,
    allow_rotated: bool,
    oriented: bool,
) -> PyResult<Placement> {
    let input = dataset.input(py)?;
    let (name, georeference) = (input.name(), &input.metadata().georeference);
    let Input::Tiff(file) = input.as_ref() else {
        return stored(py, georeference, &Model::of(&[]), allow_rotated, name);
    };
    let levels = file.pages().first().map(|page| page.levels.as_slice()).unwrap_or_default();
    let (Some(full), Some(this)) = (levels.first(), levels.get(level)) else {
        return Err(refused(format!("{name} has {} levels and level is {level}", levels.len())));
    };
    let model = |level| {
        let fields =
            dataset.quickly(py, &Cancel::default(), || file.fields(0, level, |tag| MODEL.contains(&tag)));
        fields.map(|fields| Model::of(&fields))
    };
    let own_georeference = file.own_georeference(this);
    let own = if level == 0 { None } else { Some(model(level)?) };
    let base = match (&own, &own_georeference) {
        (Some(own), Some(georeference)) => stored(py, georeference, own, allow_rotated, name),
        _ => stored(py, georeference, &model(0)?, allow_rotated, name),
    };
    let mut placement = base?;
    let stated = own.as_ref().map(|own| own.transform(py, name)).transpose()?.flatten();
    match stated.filter(|stated| placement.transform.is_some() && !is_sheared(*stated)) {
        Some((a, _, c, _, e, f)) => placement.transform = Some((a, 0.0, c, 0.0, e, f)),
        None => {
            let (full, this) = (&full.image, &this.image);
            let ratio = |full: u32, this: u32| f64::from(full) / f64::from(this);
            placement.reduced(ratio(full.width, this.width), ratio(full.height, this.height));
        }
    }
    let image = &this.image;
    let halved = |side: u32| side.div_ceil(1_u32.checked_shl(reduce).unwrap_or(u32::MAX));
    let (width, height) = (halved(image.width), halved(image.height));
    placement.reduced(f64::from(image.width) / f64::from(width), f64::from(image.height) / f64::from(height));
    if oriented {
        placement.oriented(py, image.orientation, height, width)?;
    }
    Ok(placement)
}
