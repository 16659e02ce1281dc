//! The grid of a level, from the numbers that the file states, bit for bit.

use super::misstated;
use crate::error::{InvalidValue, Misstated, Result};
use crate::file::dataset::Dataset;
use crate::file::fields::StoredField;
use crate::file::input::Input;
use strile_crs::Crs;
use strile_tiff::Tag;
use strile_tiff::geo::{AreaOrPoint, Gcp, GeoTransform, Georeference};

/// Shear below this fraction of the pixel size is rounding.
const SHEAR: f64 = 1e-12;

/// Options of [`Input::pixel_grid`]: which grid of a file to return.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct PixelGridOptions {
    /// The level; 0 is full resolution.
    pub level: usize,
    /// Number of times that the level is halved (JPEG 2000).
    pub reduce: u8,
    /// Drops a rotated or sheared transform instead of refusing it.
    pub allow_rotated: bool,
    /// Describes pixels after they are turned by Orientation, not as stored.
    pub oriented: bool,
}

impl PixelGridOptions {
    /// Returns the options for a level as stored, halved `reduce` times.
    pub fn new(level: usize, reduce: u8) -> Self {
        Self { level, reduce, ..Self::default() }
    }

    /// Drops a rotated or sheared transform instead of refusing it.
    #[must_use]
    pub fn allow_rotated(mut self, allow_rotated: bool) -> Self {
        self.allow_rotated = allow_rotated;
        self
    }

    /// Describes pixels after they are turned by Orientation.
    #[must_use]
    pub fn oriented(mut self, oriented: bool) -> Self {
        self.oriented = oriented;
        self
    }
}

/// The position of a level's pixels, in rows and columns. Without georeferencing there is no transform.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct PixelGrid {
    /// The transform as stated: that of pixel corners, or of the first pixel's centre if pixels are points. Its axes
    /// are rows and columns.
    pub transform: Option<GeoTransform>,
    /// Whether pixels are points.
    pub is_point: bool,
    /// A transform that was dropped because its axes are not rows and columns.
    pub rotated: Option<GeoTransform>,
    /// Control points instead of a transform.
    pub gcps: Vec<Gcp>,
    /// The reference system, as named in messages.
    system: Option<String>,
}

impl PixelGrid {
    /// Returns the transform of a window that begins at a pixel.
    pub fn at(&self, row: u32, column: u32) -> Option<GeoTransform> {
        let stated = self.transform?;
        let moved = |origin: f64, size: f64, pixels: u32| match pixels {
            0 => origin,
            pixels => origin + f64::from(pixels) * size,
        };
        Some(GeoTransform {
            c: moved(stated.c, stated.a, column),
            f: moved(stated.f, stated.e, row),
            ..stated
        })
    }

    /// Returns the first and last rows and columns (row, column, end row, end column) inside `height` by `width` pixels of the
    /// smallest window that covers a box (west, south, east, north).
    pub fn window_of(
        &self,
        sides: [f64; 4],
        height: u32,
        width: u32,
    ) -> std::result::Result<[u32; 4], InvalidValue> {
        let refused = |problem: &str| Err(InvalidValue::from(problem.to_owned()));
        if self.rotated.is_some() {
            return refused(
                "bbox needs axes that are rows and columns and this file is rotated: pass window",
            );
        }
        if !self.gcps.is_empty() {
            return refused("bbox needs a transform and this file is placed by control points: pass window");
        }
        let Some(GeoTransform { a, c, e, f, .. }) = self.transform else {
            return refused("bbox needs a georeferenced file and this one is not: pass window");
        };
        let half = if self.is_point { 0.5 } else { 0.0 };
        let (x, y) = (c - a * half, f - e * half);
        let [west, south, east, north] = sides;
        let rows = span((south - y) / e, (north - y) / e, height);
        let columns = span((west - x) / a, (east - x) / a, width);
        if rows.0 >= rows.1 || columns.0 >= columns.1 {
            let (x1, y1) = (x + a * f64::from(width), y + e * f64::from(height));
            let extent = [x.min(x1), y.min(y1), x.max(x1), y.max(y1)];
            let hint = self.other_system(sides, extent);
            let tuple = |[a, b, c, d]: [f64; 4]| format!("({a:?}, {b:?}, {c:?}, {d:?})");
            return refused(&format!(
                "bbox {} lies outside the file, which covers {}{hint}",
                tuple(sides),
                tuple(extent)
            ));
        }
        Ok([rows.0, columns.0, rows.1, columns.1])
    }

    /// Returns a hint if a box that misses the file seems to be in another reference system.
    fn other_system(&self, sides: [f64; 4], extent: [f64; 4]) -> String {
        match self.system.as_ref().zip(unit_of(sides, extent)) {
            Some((system, unit)) => format!(
                " in {system}: the box looks like {unit}; transform it to the reference system of the file first"
            ),
            None => String::new(),
        }
    }

    /// Converts it to the grid of an overview whose pixels cover `across` by `down` pixels.
    fn reduce(&mut self, across: f64, down: f64) {
        for gcp in &mut self.gcps {
            (gcp.row, gcp.column) = (gcp.row / down, gcp.column / across);
        }
        if let Some(GeoTransform { a, c, e, f, .. }) = self.transform
            && (across, down) != (1.0, 1.0)
        {
            let shift = if self.is_point { 0.5 } else { 0.0 };
            let (c, f) = (c + a * (across - 1.0) * shift, f + e * (down - 1.0) * shift);
            self.transform = Some(GeoTransform { a: a * across, b: 0.0, c, d: 0.0, e: e * down, f });
        }
    }

    /// Converts it to the grid of pixels, `height` by `width` as stored, after they are turned by the orientation.
    fn turn(&mut self, name: &str, orientation: u8, height: u32, width: u32) -> Result<()> {
        let unsupported = |problem: &str| {
            let problem = format!("orientation {orientation} {problem}: rewrite it with orientation 1");
            Err(misstated(name, Misstated::Layout, problem))
        };
        if orientation == 1 {
            return Ok(());
        }
        if !self.gcps.is_empty() {
            return unsupported("turns the pixels of a file that is placed by control points");
        }
        let Some(GeoTransform { mut a, mut c, mut e, mut f, .. }) = self.transform else { return Ok(()) };
        if orientation > 4 {
            return unsupported(
                "swaps the axes of a georeferenced file, which no axis-aligned transform can state",
            );
        }
        let last = if self.is_point { 1.0 } else { 0.0 };
        if matches!(orientation, 2 | 3) {
            (a, c) = (-a, c + a * (f64::from(width) - last));
        }
        if matches!(orientation, 3 | 4) {
            (e, f) = (-e, f + e * (f64::from(height) - last));
        }
        self.transform = Some(GeoTransform { a, b: 0.0, c, d: 0.0, e, f });
        Ok(())
    }
}

/// Returns the code of a reference system, else its name, for messages.
pub(crate) fn named(crs: &Crs) -> String {
    match crs.epsg {
        Some(code) => format!("EPSG:{code}"),
        None if crs.name.is_empty() => "another system".to_owned(),
        None => crs.name.clone(),
    }
}

/// Returns the unit that a box (west, south, east, north) seems to have, if it differs from that of the extent of a file.
pub(crate) fn unit_of(sides: [f64; 4], extent: [f64; 4]) -> Option<&'static str> {
    let degrees = |[west, south, east, north]: [f64; 4]| {
        west.abs().max(east.abs()) <= 360.0 && south.abs().max(north.abs()) <= 90.0
    };
    let unit = if degrees(sides) { "degrees" } else { "the units of a projection" };
    (degrees(sides) != degrees(extent)).then_some(unit)
}

/// Returns first and end of the pixels between two positions along an axis of `count` pixels.
fn span(one: f64, other: f64, count: u32) -> (u32, u32) {
    let limit = f64::from(count);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and a u32")]
    let whole = |place: f64| place.clamp(0.0, limit) as u32;
    (whole(one.min(other).floor()), whole(one.max(other).ceil()))
}

/// The values of the transform's tags.
#[derive(Default)]
struct Model {
    scale: Option<Vec<f64>>,
    points: Option<Vec<f64>>,
    matrix: Option<[f64; 16]>,
}

impl Model {
    const TAGS: [Tag; 3] = [Tag::ModelTransformationTag, Tag::ModelPixelScaleTag, Tag::ModelTiepointTag];

    fn of(file: &Dataset, level: usize) -> Result<Self> {
        let fields = file.fields(0, level, |tag| Self::TAGS.contains(&tag))?;
        let numbers = |tag| fields.iter().find(|field: &&StoredField| field.tag == tag)?.floats();
        let matrix = numbers(Tag::ModelTransformationTag);
        Ok(Self {
            scale: numbers(Tag::ModelPixelScaleTag),
            points: numbers(Tag::ModelTiepointTag),
            matrix: matrix.and_then(|matrix| matrix.try_into().ok()),
        })
    }

    /// Returns the transform. Fails if tie points contradict it.
    fn transform(&self, name: &str) -> Result<Option<GeoTransform>> {
        if let Some([a, b, _, c, d, e, _, f, ..]) = self.matrix {
            return Ok(Some(GeoTransform { a, b, c, d, e, f }));
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
                let problem = format!(
                    "the tiepoint at pixel ({row}, {column}) is ({x}, {y}) and ({there}, {below}) by the pixel \
                     size and the first one: no axis-aligned transform states both"
                );
                return Err(misstated(name, Misstated::Layout, problem));
            }
        }
        Ok(Some(GeoTransform { a, b: 0.0, c, d: 0.0, e, f }))
    }

    /// Returns whether x or y of the stored matrix depend on z.
    fn leans(&self) -> bool {
        self.matrix.is_some_and(|[a, _, x, _, _, e, y, ..]| {
            let limit = SHEAR * a.abs().max(e.abs());
            x.abs() > limit || y.abs() > limit
        })
    }
}

fn is_sheared(transform: &GeoTransform) -> bool {
    let limit = SHEAR * transform.a.abs().max(transform.e.abs());
    transform.b.abs() > limit || transform.d.abs() > limit
}

/// Returns the grid of the full resolution, before orientation.
fn stored(name: &str, georeference: &Georeference, model: &Model, allow_rotated: bool) -> Result<PixelGrid> {
    let is_point = georeference.area_or_point == Some(AreaOrPoint::Point);
    let crs = georeference.crs.as_ref().or(georeference.gcp_crs.as_ref());
    let system = crs.map(named);
    let mut grid = PixelGrid { is_point, system, ..PixelGrid::default() };
    // The transform of a VRT or of a sidecar is always that of corners.
    let half = if is_point { 0.5 } else { 0.0 };
    let known = georeference.transform.map(|t| GeoTransform {
        c: t.c + (t.a + t.b) * half,
        f: t.f + (t.d + t.e) * half,
        ..t
    });
    let Some(transform) = model.transform(name)?.or(known) else {
        grid.gcps.clone_from(&georeference.gcps);
        return Ok(grid);
    };
    if is_sheared(&transform) || model.leans() {
        if !allow_rotated {
            let GeoTransform { a, b, c, d, e, f } = transform;
            let problem = format!(
                "the transform {:?} has rotation or shear and rows and columns are needed: pass \
                 `allow_rotated` to read it as a plain grid of pixels",
                (a, b, c, d, e, f)
            );
            return Err(misstated(name, Misstated::Rotation, problem));
        }
        grid.rotated = Some(transform);
        return Ok(grid);
    }
    for (axis, size) in [("wide", transform.a), ("high", transform.e)] {
        if size == 0.0 || !size.is_finite() {
            let problem = format!("pixels are {size} {axis}, expected a finite size other than 0");
            return Err(misstated(name, Misstated::PixelSize, problem));
        }
    }
    grid.transform = Some(GeoTransform { b: 0.0, d: 0.0, ..transform });
    Ok(grid)
}

impl Input {
    /// Returns the position of a level's pixels, from the numbers that the file states. A rotated grid is an error, or
    /// is read as plain pixels if `allow_rotated`.
    pub fn pixel_grid(&self, options: &PixelGridOptions) -> Result<PixelGrid> {
        let (name, georeference) = (self.name(), &self.metadata().georeference);
        let Self::Tiff(file) = self else {
            return stored(name, georeference, &Model::default(), options.allow_rotated);
        };
        let level = options.level;
        let levels = file.pages().first().map(|page| page.levels.as_slice()).unwrap_or_default();
        let (Some(full), Some(this)) = (levels.first(), levels.get(level)) else {
            return Err(file.refuse(format!("there are {} levels and level is {level}", levels.len())));
        };
        let own = if level == 0 { None } else { Some(Model::of(file, level)?) };
        let mut grid = match (&own, &file.own_georeference(this)) {
            (Some(own), Some(georeference)) => stored(name, georeference, own, options.allow_rotated)?,
            _ => stored(name, georeference, &Model::of(file, 0)?, options.allow_rotated)?,
        };
        let stated = own.as_ref().map(|own| own.transform(name)).transpose()?.flatten();
        match stated.filter(|stated| grid.transform.is_some() && !is_sheared(stated)) {
            Some(stated) => grid.transform = Some(GeoTransform { b: 0.0, d: 0.0, ..stated }),
            None => {
                let (full, this) = (&full.image, &this.image);
                let ratio = |full: u32, this: u32| f64::from(full) / f64::from(this);
                grid.reduce(ratio(full.width, this.width), ratio(full.height, this.height));
            }
        }
        let image = &this.image;
        let halved = |side: u32| side.div_ceil(1_u32.checked_shl(options.reduce.into()).unwrap_or(u32::MAX));
        let (width, height) = (halved(image.width), halved(image.height));
        grid.reduce(f64::from(image.width) / f64::from(width), f64::from(image.height) / f64::from(height));
        if options.oriented {
            grid.turn(name, image.orientation, height, width)?;
        }
        Ok(grid)
    }
}
