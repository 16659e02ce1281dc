//! Decides which pixels are written, and at what size: GDAL's rules for `-srcwin`, `-projwin`, `-outsize`, `-tr` and
//! `-ovr`.

use super::options::{ConvertArea, ConvertOptions, ConvertSize, Side, SourceLevel};
use super::taps::{Method, Span};
use crate::batch::smallest_sufficient;
use crate::error::Result;
use crate::file::input::Input;
use crate::options::Place;
use crate::window::Window;
use crate::write::{RasterSpec, refused};
use strile_tiff::geo::GeoTransform;

/// The image that areas and sizes refer to.
#[derive(Debug, Clone)]
struct Base {
    size: (u32, u32),
    transform: Option<GeoTransform>,
    /// Its overviews that can replace it; `None` for those that cannot.
    overviews: Vec<Option<(u32, u32)>>,
}

/// The part of the image that is written.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Taken {
    /// Unchanged pixels of the image or of an overview.
    Pixels { level: usize, window: Option<Window> },
    /// Pixels of another size or place.
    Resampled(Shape),
}

/// The resampling of an image to another size.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Shape {
    /// Left, top, width and height of the output, in pixels of the image.
    area: [f64; 4],
    /// Columns and rows of the output.
    pub(super) size: (u32, u32),
    /// Width and height of a pixel, if requested.
    pixel: Option<(f64, f64)>,
    /// The level that is read.
    pub(super) level: usize,
    /// `area` in pixels of that level, and the size of the level.
    level_area: [f64; 4],
    level_size: (u32, u32),
    pub(super) method: Method,
}

/// Decides what is written. Adds warnings to `warnings`.
pub(super) fn take(
    input: &Input,
    place: &Place,
    options: &ConvertOptions,
    warnings: &mut Vec<String>,
) -> Result<Taken> {
    if options.area.is_none() && options.size.is_none() && options.source_level == SourceLevel::Auto {
        return Ok(Taken::Pixels { level: place.level, window: place.window });
    }
    let refuse = |problem: String| named(input, problem);
    if options.area.is_some() && place.window.is_some() {
        return Err(refuse(
            "`area` and `read.window` cannot be combined: both say which part to write".into(),
        ));
    }
    if options.source_level != SourceLevel::Auto && place.level > 0 {
        return Err(refuse("`source_level` and `read.level` cannot be combined".into()));
    }
    let mut place = place.clone();
    if let Some(ConvertArea::Bounds(sides)) = options.area {
        place.window = Some(input.window_of_box(&place, sides)?);
    }
    base_of(input, &place)?.take(&place, options, warnings).map_err(refuse)
}

/// Returns an error in the name of the input.
pub(super) fn named(input: &Input, problem: String) -> crate::Error {
    match input {
        Input::Tiff(dataset) => dataset.refuse(problem),
        Input::Vrt(vrt) => vrt.refuse(problem),
    }
}

fn base_of(input: &Input, place: &Place) -> Result<Base> {
    let whole = Place { window: None, ..place.clone() };
    match input {
        Input::Vrt(vrt) => {
            let transform = vrt.stored_transform(&whole)?;
            Ok(Base { size: (vrt.width(), vrt.height()), transform, overviews: Vec::new() })
        }
        Input::Tiff(dataset) => {
            let (image, transform) = (dataset.target(&whole)?.image, dataset.stored_transform(&whole)?);
            let levels =
                dataset.pages().get(place.page).map(|page| page.levels.as_slice()).unwrap_or_default();
            let full = levels.first();
            let alone = place.level > 0 || place.reduce > 0;
            let usable = |level: &crate::file::Level| {
                let same_mask = full.is_some_and(|full| full.mask.is_some() == level.mask.is_some());
                let same = full.is_some_and(|full| {
                    full.image.samples == level.image.samples && full.image.sample == level.image.sample
                });
                (same && same_mask).then_some((level.image.width, level.image.height))
            };
            let overviews = levels.iter().skip(1).filter(|_| !alone).map(usable).collect();
            Ok(Base { size: (image.width, image.height), transform, overviews })
        }
    }
}

impl Base {
    fn take(
        &self,
        place: &Place,
        options: &ConvertOptions,
        warnings: &mut Vec<String>,
    ) -> std::result::Result<Taken, String> {
        let area = self.area(place, options)?;
        self.check_inside(area, options, warnings)?;
        let (size, area, pixel) = self.size(area, options)?;
        let level = match options.source_level {
            SourceLevel::Auto => {
                let there = self.overviews.iter().copied();
                smallest_sufficient(self.size, there, (area[2], area[3]), size)
            }
            SourceLevel::Level(level) => level,
        };
        let level_size = self.level_size(level)?;
        let ratio = |full: u32, level: u32| f64::from(full) / f64::from(level.max(1));
        let (across, down) = (ratio(self.size.0, level_size.0), ratio(self.size.1, level_size.1));
        let size = match (options.source_level, options.size) {
            (SourceLevel::Level(1..), None) => {
                let reduced =
                    |side: u32, ratio: f64| pixels((f64::from(side) / ratio - 0.001).ceil().max(1.0));
                (reduced(size.0, across)?, reduced(size.1, down)?)
            }
            _ => size,
        };
        let level_area = [area[0] / across, area[1] / down, area[2] / across, area[3] / down];
        if let Some(window) = window_of(level_area, size, level_size) {
            let whole = window == Window::full(level_size.0, level_size.1);
            return Ok(Taken::Pixels { level: level.max(place.level), window: (!whole).then_some(window) });
        }
        let level = level.max(place.level);
        // Pixels one to one are copied, even if some lie outside.
        let whole = |v: f64| (v - v.round()).abs() < 1e-9;
        let copied = level_area.iter().all(|&v| whole(v))
            && (level_area[2].round(), level_area[3].round()) == (f64::from(size.0), f64::from(size.1));
        let method = if copied { Method::Nearest } else { options.resampling };
        Ok(Taken::Resampled(Shape { area, size, pixel, level, level_area, level_size, method }))
    }

    /// Returns the size of a level that pixels can be computed from.
    fn level_size(&self, level: usize) -> std::result::Result<(u32, u32), String> {
        let Some(overview) = level.checked_sub(1) else { return Ok(self.size) };
        let found = self.overviews.get(overview).copied();
        let there = self.overviews.len() + 1;
        let size = found.ok_or_else(|| {
            format!("there is no level {level}, the image has {there} (0 is full resolution)")
        })?;
        size.ok_or_else(|| format!("level {level} has other samples or no mask, unlike the image"))
    }

    /// Returns the selected area, in pixels of the image.
    fn area(&self, place: &Place, options: &ConvertOptions) -> std::result::Result<[f64; 4], String> {
        let area = match options.area {
            None | Some(ConvertArea::Bounds(_)) => {
                let Window { column: x, row: y, width, height } =
                    place.window.unwrap_or(Window::full(self.size.0, self.size.1));
                [x, y, width, height].map(f64::from)
            }
            Some(ConvertArea::Pixels(area)) => area,
            Some(ConvertArea::Corners([left, top, right, bottom])) => {
                let transform = self.straight("an area by its corners")?;
                let (across, down) = (transform.a, transform.e);
                let exact = [
                    (left - transform.c) / across,
                    (top - transform.f) / down,
                    (right - left) / across,
                    (bottom - top) / down,
                ];
                match (options.resampling, exact) {
                    (Method::Nearest, [x, y, w, h]) => {
                        [(x + 0.001).floor(), (y + 0.001).floor(), (w + 0.5).floor(), (h + 0.5).floor()]
                    }
                    _ => exact,
                }
            }
        };
        let [.., width, height] = area;
        if area.iter().all(|side| side.is_finite()) && width > 0.0 && height > 0.0 {
            return Ok(area);
        }
        Err(match options.area {
            Some(ConvertArea::Corners([left, top, right, bottom])) => format!(
                "the area from ({left}, {top}) to ({right}, {bottom}) has no pixels; expected the first corner of the \
                 image's order (usually upper left), then the last"
            ),
            _ => format!("the area has {width} × {height} pixels; expected at least one"),
        })
    }

    fn check_inside(
        &self,
        area: [f64; 4],
        options: &ConvertOptions,
        warnings: &mut Vec<String>,
    ) -> std::result::Result<(), String> {
        let [x, y, width, height] = area;
        let (columns, rows) = (f64::from(self.size.0), f64::from(self.size.1));
        let told = format!("the area ({x}, {y}, {width}, {height})");
        let image = format!("the image of {columns} × {rows} pixels");
        if x + width <= 0.0 || y + height <= 0.0 || x >= columns || y >= rows {
            return Err(format!("{told} lies outside {image}"));
        }
        // Less than a pixel is rounding, as in GDAL.
        if x <= -1.0 || y <= -1.0 || x + width >= columns + 1.0 || y + height >= rows + 1.0 {
            if options.whole_area {
                return Err(format!("{told} lies partly outside {image}"));
            }
            warnings.push(format!("{told} lies partly outside {image}; pixels outside are not valid"));
        }
        Ok(())
    }

    /// Returns the output size, the area adapted to it, and the pixel size if requested.
    #[expect(clippy::type_complexity, reason = "three things that are decided together")]
    fn size(
        &self,
        area: [f64; 4],
        options: &ConvertOptions,
    ) -> std::result::Result<((u32, u32), [f64; 4], Option<(f64, f64)>), String> {
        let [x, y, width, height] = area;
        let none = || "both sides of the size are automatic; give at least one".to_owned();
        match options.size {
            None => Ok(((pixels((width - 0.001).ceil())?, pixels((height - 0.001).ceil())?), area, None)),
            Some(ConvertSize::Sides(columns, rows)) => {
                let side = |side: Side, own: f64| match side {
                    Side::Auto => Ok(None),
                    Side::Pixels(count) => pixels(count.into()).map(Some),
                    Side::Percent(share) => pixels((share / 100.0 * own).floor()).map(Some),
                };
                let size = match (side(columns, width)?, side(rows, height)?) {
                    (Some(columns), Some(rows)) => (columns, rows),
                    (Some(columns), None) => {
                        (columns, pixels((f64::from(columns) * height / width + 0.5).floor())?)
                    }
                    (None, Some(rows)) => (pixels((f64::from(rows) * width / height + 0.5).floor())?, rows),
                    (None, None) => return Err(none()),
                };
                Ok((size, area, None))
            }
            Some(ConvertSize::Resolution(across, down)) => {
                let transform = self.straight("a resolution")?;
                let positive = |v: f64| v.is_finite() && v > 0.0;
                if !positive(across) || !positive(down) {
                    return Err(format!("a resolution of {across} × {down}; expected numbers above 0"));
                }
                let (own_across, own_down) = (transform.a.abs(), transform.e.abs());
                let columns = pixels((width / across * own_across + 0.5).floor())?;
                let rows = pixels((height / down * own_down + 0.5).floor())?;
                // Filters read exactly the area of the pixels; nearest stretches over the area, as in GDAL.
                let exact = match options.resampling {
                    Method::Nearest => area,
                    _ => [x, y, f64::from(columns) * across / own_across, f64::from(rows) * down / own_down],
                };
                Ok(((columns, rows), exact, Some((across, down))))
            }
        }
    }

    fn straight(&self, what: &str) -> std::result::Result<GeoTransform, String> {
        let transform = self.transform.ok_or_else(|| format!("{what} needs an image with a transform"))?;
        let usable = transform.is_axis_aligned() && transform.a != 0.0 && transform.e != 0.0;
        usable.then_some(transform).ok_or_else(|| format!("{what} needs an image that is not rotated"))
    }
}

/// Converts a count of pixels. Fails if a raster cannot have that many.
fn pixels(count: f64) -> std::result::Result<u32, String> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be inside")]
    let checked = (count >= 1.0 && count <= f64::from(u32::MAX)).then_some(count as u32);
    checked.ok_or_else(|| format!("an output side of {count} pixels; expected 1 to {}", u32::MAX))
}

/// Returns the window, if whole pixels of the image are written one to one.
fn window_of([x, y, width, height]: [f64; 4], size: (u32, u32), image: (u32, u32)) -> Option<Window> {
    let near = |v: f64, whole: f64| (v - whole).abs() < 1e-9 * whole.abs().max(1.0);
    let fits = |start: f64, len: f64, count: u32, size: u32| {
        let inside = start.round() >= 0.0 && start.round() + f64::from(count) <= f64::from(size);
        (near(start, start.round()) && near(len, count.into()) && inside).then_some(())
    };
    fits(x, width, size.0, image.0).and(fits(y, height, size.1, image.1))?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "inside the image, checked")]
    let (x, y) = (x.round() as u32, y.round() as u32);
    Some(Window::new(x, y, size.0, size.1))
}

impl Shape {
    /// Returns the shape for an image that has neither transform nor overviews; `None` if pixels are unchanged.
    #[cfg(test)]
    pub(super) fn of_image(size: (u32, u32), options: &ConvertOptions) -> Option<Self> {
        let base = Base { size, transform: None, overviews: Vec::new() };
        match base.take(&Place::default(), options, &mut Vec::new()) {
            Ok(Taken::Resampled(shape)) => Some(shape),
            _ => None,
        }
    }

    /// Returns the axes of the level that is read: columns, then rows.
    pub(super) fn spans(&self) -> (Span, Span) {
        let [x, y, width, height] = self.level_area;
        let span = |start, len, count, size| Span { start, len, count, size };
        (span(x, width, self.size.0, self.level_size.0), span(y, height, self.size.1, self.level_size.1))
    }

    /// Changes the description of the whole image to that of the output.
    ///
    /// `transform` is that of the whole image; `given` replaces it.
    pub(super) fn describe(
        &self,
        spec: &mut RasterSpec,
        transform: Option<GeoTransform>,
        given: Option<GeoTransform>,
    ) {
        let [x, y, width, height] = self.area;
        let (columns, rows) = (f64::from(self.size.0), f64::from(self.size.1));
        (spec.width, spec.height) = self.size;
        let geo = &mut spec.metadata.georeference;
        geo.transform = given.or_else(|| {
            transform.map(|whole| {
                let mut part = whole.window(x, y).scaled(width / columns, height / rows);
                if let Some((across, down)) = self.pixel {
                    (part.a, part.e) = (across.copysign(part.a), down.copysign(part.e));
                }
                part
            })
        });
        for gcp in &mut geo.gcps {
            gcp.column = (gcp.column - x) * columns / width;
            gcp.row = (gcp.row - y) * rows / height;
        }
        if let Some(rpc) = &mut geo.rpc {
            // RPCs count from pixel centres.
            let moved = |v: f64, start: f64, scale: f64| (v - start + 0.5) * scale - 0.5;
            let (across, down) = (columns / width, rows / height);
            rpc.sample = (moved(rpc.sample.0, x, across), rpc.sample.1 * across);
            rpc.line = (moved(rpc.line.0, y, down), rpc.line.1 * down);
        }
        drop_statistics(spec);
    }

    /// Describes the operation in words.
    pub(super) fn explain(&self) -> String {
        let [x, y, width, height] = self.area;
        let level = match self.level {
            0 => "the full image".to_owned(),
            level => format!("level {level} ({} × {})", self.level_size.0, self.level_size.1),
        };
        format!(
            "resample {width} × {height} pixels at ({x}, {y}) to {} × {} by {}, from {level}, on the CPU",
            self.size.0,
            self.size.1,
            self.method.name()
        )
    }
}

/// Removes statistics, which describe the original pixels.
pub(super) fn drop_statistics(spec: &mut RasterSpec) {
    for band in &mut spec.metadata.bands {
        band.statistics = None;
        band.items.retain(|(name, _)| !name.starts_with("STATISTICS_"));
    }
}

/// Returns the transform for the corners of the output.
pub(super) fn transform_of(corners: [f64; 4], size: (u32, u32)) -> Result<GeoTransform> {
    let [left, top, right, bottom] = corners;
    let (a, e) = ((right - left) / f64::from(size.0), (bottom - top) / f64::from(size.1));
    let transform = GeoTransform { a, b: 0.0, c: left, d: 0.0, e, f: top };
    let usable = transform.is_finite() && a != 0.0 && e != 0.0;
    usable.then_some(transform).ok_or_else(|| refused("corners that enclose no area".into()))
}
