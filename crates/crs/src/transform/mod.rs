//! Transforms coordinates from one reference system to another.
//!
//! There are three stages: from the source's coordinates to longitude and latitude, from its datum to the target's, and
//! to the target's coordinates. `definition` reads the numbers of a system from its text, `projection` and
//! `cylindrical` are the first and last stage, `datum` chooses the operation of the second, `area` is the area of the
//! coordinates.
//!
//! The order of coordinates is x, y (east, north; longitude, latitude), whatever the registry says about a system, as
//! in GDAL's warper and in rasters.

mod area;
mod cylindrical;
mod datum;
mod definition;
mod operation;
mod projection;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use proj_core::{Coord, Transform};
use thiserror::Error;

use crate::{Crs, CrsKind};
use definition::Definition;

pub use area::Area;
pub use operation::{Operation, OperationStep};

/// The reason why coordinates of a system, or between two systems, cannot be computed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("cannot compute coordinates of {system}: {reason}")]
pub struct TransformError {
    system: String,
    reason: String,
}

impl TransformError {
    fn new(crs: &Crs, reason: String) -> Self {
        let shown: String = crs.name.chars().take(80).collect();
        let system = match crs.epsg {
            Some(code) => format!("EPSG:{code} ({})", shown.escape_debug()),
            None => format!("`{}`", shown.escape_debug()),
        };
        Self { system, reason }
    }

    fn between(from: &Crs, to: &Crs, reason: String) -> Self {
        let (from, to) = (Self::new(from, String::new()), Self::new(to, String::new()));
        Self { system: format!("{} in {}", from.system, to.system), reason }
    }
}

/// What to do if no operation between the two datums is known for the area.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum DatumShift {
    /// The transformation fails.
    #[default]
    Required,
    /// Longitudes and latitudes are unchanged. Between old national datums this is wrong by up to a kilometre.
    None,
}

/// Options of a [`Transformer`].
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct TransformOptions {
    /// Area of the coordinates. Operations between datums are only valid in parts of the Earth; `None` requires one
    /// that is valid everywhere.
    pub area: Option<Area>,
    /// What to do without an operation for the area.
    pub datum_shift: DatumShift,
}

impl TransformOptions {
    /// Sets the area of the coordinates; see [`Area::of`].
    #[must_use]
    pub fn area(mut self, area: Area) -> Self {
        self.area = Some(area);
        self
    }

    /// Sets what to do without an operation for the area.
    #[must_use]
    pub fn datum_shift(mut self, datum_shift: DatumShift) -> Self {
        self.datum_shift = datum_shift;
        self
    }
}

/// Transforms coordinates from one reference system to another.
///
/// ```
/// use strile_crs::{Crs, Transformer, TransformOptions};
///
/// let from = Crs::from_user_input("EPSG:4326")?;
/// let to = Crs::from_user_input("EPSG:32633")?;
/// let transformer = Transformer::new(&from, &to, &TransformOptions::default())?;
/// let (x, y) = transformer.transform(15.0, 50.0).ok_or("outside")?;
/// assert!((x - 500_000.0).abs() < 1e-3 && (y - 5_538_630.703).abs() < 1e-3);
/// // A latitude beyond the pole has no coordinates.
/// assert_eq!(transformer.transform(15.0, 91.0), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Transformer {
    from: Side,
    to: Side,
    there: Vec<Transform>,
    back: Vec<Transform>,
    operation: Operation,
    /// Whether both systems are the same, in a plane without a period: coordinates are unchanged.
    is_identity: bool,
}

impl Transformer {
    /// Prepares the transformation from one system to another. Between two equal plane systems coordinates are
    /// unchanged, even if the projection method is unknown.
    ///
    /// # Errors
    /// If the projection method of a system or one of its parameters is unknown, or if no operation between the datums
    /// is known for the area and [`TransformOptions::datum_shift`] requires one.
    pub fn new(from: &Crs, to: &Crs, options: &TransformOptions) -> Result<Self, TransformError> {
        let stays = !matches!(from.kind, CrsKind::Geographic | CrsKind::Geographic3D | CrsKind::Vertical)
            && from.is_same(to);
        let (source, target) = match (Side::new(from), stays) {
            (Err(_), true) => {
                let side = Side(Arc::new(Definition::plane(from)));
                (side.clone(), side)
            }
            (source, _) => (source?, Side::new(to)?),
        };
        let refuse = options.datum_shift == DatumShift::Required;
        let failed = |reason| TransformError::between(from, to, reason);
        if let Some(area) = options.area
            && !(area.south <= area.north
                && [area.south, area.north].iter().all(|v| (-90.0..=90.0).contains(v))
                && [area.west, area.east].iter().all(|v| (-180.0..=180.0).contains(v)))
        {
            return Err(failed(format!(
                "expected an area within -180..180° east and -90..90° north, got {area}"
            )));
        }
        let find = || datum::shift(&source.0.datum, &target.0.datum, options.area, refuse);
        let (shift, mut operation) =
            caught(find).unwrap_or_else(|| Err(PANICKED.to_owned())).map_err(failed)?;
        operation.heights_unchanged = source.0.heights || target.0.heights;
        let mut out = Self {
            from: source,
            to: target,
            there: shift.there,
            back: shift.back,
            operation,
            is_identity: false,
        };
        out.is_identity = stays && out.target_period().is_none();
        Ok(out)
    }

    /// Returns whether both systems have the same datum: then no operation is chosen, wherever the coordinates are.
    pub fn is_same_datum(&self) -> bool {
        datum::is_same(&self.from.0.datum, &self.to.0.datum)
    }

    /// Returns the operation between the datums, with its code and stated accuracy.
    pub const fn operation(&self) -> &Operation {
        &self.operation
    }

    /// Returns the transformation in the other direction, with the same operation.
    #[must_use]
    pub fn inverse(&self) -> Self {
        let mut operation = self.operation.clone();
        operation.steps.reverse();
        for step in &mut operation.steps {
            step.reversed = !step.reversed;
        }
        Self {
            from: self.to.clone(),
            to: self.from.clone(),
            there: self.back.clone(),
            back: self.there.clone(),
            operation,
            is_identity: self.is_identity,
        }
    }

    /// Returns the coordinates of a point in the target system. `None` if the point is not finite, lies outside the
    /// domain of a projection, or is not restored by the inverse.
    pub fn transform(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        if self.is_identity {
            return (x.is_finite() && y.is_finite()).then_some((x, y));
        }
        let (longitude, latitude) = self.from.unproject(x, y)?;
        let mut place = Coord::new(longitude, latitude);
        for step in &self.there {
            place = caught(|| step.convert(place).ok()).flatten()?;
        }
        self.to.project(place.x, place.y)
    }

    /// Transforms all points in place. Points without coordinates in the target become NaN.
    pub fn transform_all(&self, points: &mut [(f64, f64)]) {
        for point in points {
            *point = self.transform(point.0, point.1).unwrap_or((f64::NAN, f64::NAN));
        }
    }

    /// Returns whether the coordinates of the source are longitudes and latitudes.
    pub fn from_is_geographic(&self) -> bool {
        self.from.is_geographic()
    }

    /// Returns whether the coordinates of the target are longitudes and latitudes.
    pub fn to_is_geographic(&self) -> bool {
        self.to.is_geographic()
    }

    /// Returns the change of x per turn around the Earth in the target, if its coordinates are periodic: 360 for
    /// degrees, the length of the equator for Mercator.
    pub fn target_period(&self) -> Option<f64> {
        let definition = &self.to.0;
        match definition.projection.is_geographic() {
            true => Some(360.0 / definition.unit),
            false => definition.projection.repeats().map(|period| period / definition.unit),
        }
    }
}

const PANICKED: &str = "the projection library failed";

/// Runs code of the projection libraries. Returns `None` if it panics, which no input is known to cause.
fn caught<T>(run: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(run)).ok()
}

/// One system: converts its coordinates to longitude and latitude in degrees from Greenwich, on its own datum, and
/// back.
#[derive(Debug, Clone)]
struct Side(Arc<Definition>);

/// Definitions by kind and text of their system, the most recently used first. Parsing one takes about a millisecond,
/// as long as a thousand coordinates.
static KNOWN: Mutex<Vec<(CrsKind, String, Arc<Definition>)>> = Mutex::new(Vec::new());
/// Maximum number of cached definitions, and maximum length of their texts.
const MOST_KNOWN: usize = 32;
const LONGEST_KNOWN: usize = 8 << 10;

impl Side {
    fn new(crs: &Crs) -> Result<Self, TransformError> {
        let text = crs.wkt.as_deref().filter(|text| text.len() <= LONGEST_KNOWN);
        if let Some(text) = text {
            let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
            let found = known.iter().position(|(kind, of, _)| *kind == crs.kind && of == text);
            if let Some((_, _, definition)) = found.and_then(|at| {
                known.get_mut(..=at)?.rotate_right(1);
                known.first()
            }) {
                return Ok(Self(Arc::clone(definition)));
            }
        }
        let read = caught(|| Definition::of(crs)).unwrap_or_else(|| Err(PANICKED.to_owned()));
        let definition = read.map(Arc::new).map_err(|reason| TransformError::new(crs, reason))?;
        if let Some(text) = text {
            let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
            known.truncate(MOST_KNOWN - 1);
            known.insert(0, (crs.kind, text.to_owned(), Arc::clone(&definition)));
        }
        Ok(Self(definition))
    }

    fn is_geographic(&self) -> bool {
        self.0.projection.is_geographic()
    }

    fn unproject(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        let Definition { projection, meridian, unit, axes, .. } = &*self.0;
        let (longitude, latitude) = if projection.is_geographic() {
            (x * unit, y * unit)
        } else {
            let (east, north) = axes.to_east_north(x * unit, y * unit);
            if !(east.is_finite() && north.is_finite()) {
                return None;
            }
            let (longitude, latitude) = caught(|| projection.inverse(east, north)).flatten()?;
            (longitude.to_degrees(), latitude.to_degrees())
        };
        on_earth(longitude + meridian, latitude)
    }

    fn project(&self, longitude: f64, latitude: f64) -> Option<(f64, f64)> {
        let Definition { projection, meridian, unit, axes, .. } = &*self.0;
        let (longitude, latitude) = on_earth(longitude - meridian, latitude)?;
        let (x, y) = if projection.is_geographic() {
            (longitude / unit, latitude / unit)
        } else {
            let (longitude, latitude) = (longitude.to_radians(), latitude.to_radians());
            let (east, north) = caught(|| projection.forward(longitude, latitude)).flatten()?;
            axes.stored(east / unit, north / unit)
        };
        (x.is_finite() && y.is_finite()).then_some((x, y))
    }
}

/// Returns a longitude in ±180, and a latitude at most rounding errors beyond the poles.
fn on_earth(longitude: f64, latitude: f64) -> Option<(f64, f64)> {
    // More than one and a half turns is not a longitude but another unit.
    if longitude.is_nan() || latitude.is_nan() || longitude.abs() > 540.0 || latitude.abs() > 90.0 + 1e-9 {
        return None;
    }
    let longitude = match longitude {
        v if v > 180.0 => v - 360.0,
        v if v < -180.0 => v + 360.0,
        v => v,
    };
    Some((longitude, latitude.clamp(-90.0, 90.0)))
}
