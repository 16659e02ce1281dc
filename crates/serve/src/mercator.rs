//! Files on web maps: tiles of the matrix set `WebMercatorQuad`, and other grids of Web Mercator.

use crate::answer::Refusal;
use crate::opened::{Opened, mask_source, nodata};
use crate::reading::{Samples, as_type, by_nan, by_nodata};
use strile::batch::Sampling;
use strile::crs::{Area, Crs, TransformOptions, Transformer};
use strile::grid::{Grid, WarpOptions, WarpSampling};
use strile::number::is_float;
use strile::read::MaskSource;
use strile::{Context, Input, Processor, ReadOptions};

/// Largest zoom of a tile.
pub(crate) const LARGEST_ZOOM: u32 = 24;
/// Metres per pixel of the only tile of zoom 0, with 256 pixels on each side.
pub(crate) const PIXEL_AT_0: f64 = 156_543.033_928_040_97;

/// Cells per side of the lattice of points that tests whether a tile lies in the image.
const LATTICE: u32 = 6;

/// Returns the grid of a tile.
pub(crate) fn grid((zoom, column, row): (u32, u32, u32), side: u32) -> Result<Grid, Refusal> {
    let known = u8::try_from(zoom).ok().filter(|_| zoom <= LARGEST_ZOOM);
    let wrong = || Refusal::bad(format!("expected a zoom of 0 to {LARGEST_ZOOM}, got {zoom}"));
    let grid = Grid::xyz_tile(known.ok_or_else(wrong)?, column, row, side);
    grid.map_err(|error| Refusal::bad(error.to_string()))
}

/// Returns whether a file can be put on a web map.
pub(crate) fn is_placed(opened: &Opened) -> bool {
    let place = &opened.input.metadata().georeference;
    place.crs.is_some() && place.transform.is_some()
}

/// Returns the bounds of a file in degrees: west, south, east, north.
pub(crate) fn bounds(opened: &Opened) -> Option<[f64; 4]> {
    let place = &opened.input.metadata().georeference;
    let (crs, transform) = (place.crs.as_ref()?, place.transform?);
    let all = transform.bounds(0.0, 0.0, opened.width.into(), opened.height.into());
    let area = Area::of(crs, (all.min_x, all.min_y), (all.max_x, all.max_y)).ok()?;
    Some([area.west, area.south, area.east, area.north])
}

/// Returns the metres per pixel in the middle of the file, on a web map.
pub(crate) fn pixel(opened: &Opened) -> Option<f64> {
    *opened.web_pixel.get_or_init(|| {
        let (to, transform) = (from_web(opened)?.inverse(), opened.input.metadata().georeference.transform?);
        let (x, y) = (f64::from(opened.width) / 2.0, f64::from(opened.height) / 2.0);
        let at = |x: f64, y: f64| {
            let (east, north) = transform.to_world(x, y);
            to.transform(east, north)
        };
        let (from, next) = (at(x, y)?, at(x + 1.0, y)?);
        Some((next.0 - from.0).hypot(next.1 - from.1)).filter(|pixel| pixel.is_normal())
    })
}

/// Returns the transformation from coordinates of the web map to those of the file.
pub(crate) fn from_web(opened: &Opened) -> Option<&Transformer> {
    let found = opened.from_web.get_or_init(|| {
        let place = &opened.input.metadata().georeference;
        let (crs, transform) = (place.crs.as_ref()?, place.transform?);
        let mercator = Crs::from_epsg(3857)?;
        let all = transform.bounds(0.0, 0.0, opened.width.into(), opened.height.into());
        let area = Area::of(crs, (all.min_x, all.min_y), (all.max_x, all.max_y)).ok()?;
        let to = Transformer::new(crs, &mercator, &TransformOptions::default().area(area)).ok()?;
        Some(to.inverse())
    });
    found.as_ref()
}

/// Returns whether all pixels of a tile certainly lie in the image: points of a lattice do, by more than the distance
/// between neighbours.
fn is_covered(opened: &Opened, grid: &Grid) -> bool {
    // Lines of larger tiles may bend by more than that.
    if grid.transform().a > PIXEL_AT_0 / 128.0 {
        return false;
    }
    let placed = || {
        let (from, own) = (from_web(opened)?, opened.input.metadata().georeference.transform?.inverse()?);
        let side = |size: u32, at: u32| f64::from(size) * f64::from(at) / f64::from(LATTICE);
        let place = |column: u32, row: u32| {
            let (x, y) = grid.transform().to_world(side(grid.width(), column), side(grid.height(), row));
            from.transform(x, y).map(|(x, y)| own.to_world(x, y))
        };
        let line = |row: u32| (0..=LATTICE).map(|column| place(column, row)).collect::<Option<Vec<_>>>();
        let all = (0..=LATTICE).map(line).collect::<Option<Vec<_>>>()?;
        let apart =
            |one: &(f64, f64), other: &(f64, f64)| (one.0 - other.0).abs().max((one.1 - other.1).abs());
        let mut step = 0.0_f64;
        for line in &all {
            step = line.iter().zip(line.iter().skip(1)).fold(step, |step, (a, b)| step.max(apart(a, b)));
        }
        for (above, below) in all.iter().zip(all.iter().skip(1)) {
            step = above.iter().zip(below).fold(step, |step, (a, b)| step.max(apart(a, b)));
        }
        Some((all, step))
    };
    let Some((all, step)) = placed() else { return false };
    let is_inside = |place: f64, size: u32| place > step && place < f64::from(size) - step;
    all.iter().flatten().all(|(x, y)| is_inside(*x, opened.width) && is_inside(*y, opened.height))
}

/// How missing pixels of a tile are marked.
enum Missing {
    /// There are none.
    None,
    /// By the nodata value, also outside the image.
    NoData,
    /// By NaN: samples are read as floats, which takes twice as long.
    NaN,
}

fn missing(
    opened: &Opened,
    input: &Input,
    grid: &Grid,
    (bands, sampling): (&[u16], Sampling),
) -> Result<Missing, Refusal> {
    if sampling != Sampling::Nearest || is_float(opened.data_type) {
        return Ok(Missing::NaN);
    }
    let is_stored =
        |band: &u16| nodata(input, *band).is_some_and(|value| value.to_sample(opened.data_type).is_some());
    Ok(match mask_source(input)? {
        MaskSource::AllValid if is_covered(opened, grid) => Missing::None,
        MaskSource::NoData if bands.iter().all(is_stored) => Missing::NoData,
        _ => Missing::NaN,
    })
}

/// Returns the zooms at which the file fits into a tile, and at which tiles have its own resolution.
pub(crate) fn zooms(opened: &Opened, side: u32) -> Option<(u32, u32)> {
    let pixel = pixel(opened)?;
    let longest = f64::from(opened.width.max(opened.height)) * pixel;
    let zoom = |size: f64| (PIXEL_AT_0 * 256.0 / f64::from(side) / size).log2();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to the largest zoom")]
    let whole = |zoom: f64| zoom.clamp(0.0, f64::from(LARGEST_ZOOM)) as u32;
    Some((whole(zoom(longest / f64::from(side)).floor()), whole((zoom(pixel) - 1e-6).ceil())))
}

/// Reads the pixels of a tile.
pub(crate) fn read(
    opened: &Opened,
    kept: Option<&Input>,
    grid: Grid,
    (bands, sampling): (&[u16], Sampling),
    context: &Context,
) -> Result<Samples, Refusal> {
    let resampling = match sampling {
        Sampling::Nearest => WarpSampling::Nearest,
        Sampling::Bilinear => WarpSampling::Bilinear,
        Sampling::Average => WarpSampling::Average,
    };
    let input = kept.unwrap_or(&opened.input);
    let missing = missing(opened, input, &grid, (bands, sampling))?;
    let options = ReadOptions::new()
        .bands(bands.iter().copied())
        .masked(matches!(missing, Missing::NaN))
        .decode_on(if kept.is_some() { Processor::Cpu } else { opened.decode_on })
        .onto(grid, WarpOptions::new().resampling(resampling));
    let raster = input.read(&options, context).map_err(|error| opened.blame(error))?;
    let mut samples = Samples {
        data_type: raster.data_type,
        bands: bands.len(),
        width: raster.columns,
        height: raster.rows,
        pixels: raster.into_bytes()?,
        valid: None,
    };
    let valid = match missing {
        Missing::None => return Ok(samples),
        Missing::NoData => by_nodata(input, &samples, bands),
        Missing::NaN => by_nan(&samples),
    };
    if !is_float(opened.data_type) && samples.data_type != opened.data_type {
        samples = as_type(samples, opened.data_type);
    }
    // A picture without alpha is smaller and faster to encode.
    samples.valid = valid.contains(&0).then_some(valid);
    Ok(samples)
}
