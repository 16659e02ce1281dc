//! Heights of an elevation model (DEM) at places, for rational polynomials.
//!
//! Tiles of the model are read on demand. Until the call ends, as many are kept as a fraction of the budget allows. The
//! next call finds the model's blocks in the cache of the process, which releases memory when a call needs it.

use crate::cache::Cache;
use crate::error::Error;
use crate::file::input::{AsInput as _, Input};
use crate::number::numbers;
use crate::options::{FloatType, ReadOptions};
use crate::window::Window;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::num::NonZeroUsize;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use strile_crs::{Area, Crs, TransformOptions, Transformer};
use strile_engine::{Context, Lease};
use strile_tiff::InvalidValue;
use strile_tiff::geo::{GeoTransform, Rpc};

/// Columns and rows of a tile.
const TILE: u32 = 128;
/// Bytes of a tile.
const TILE_BYTES: u64 = TILE as u64 * TILE as u64 * 8;
/// Maximum bytes of tiles that are kept; less if memory is small.
const KEPT_BYTES: u64 = 64 << 20;
/// Purpose of the memory of tiles, for messages of the budget.
const HEIGHTS: &str = "the heights of the elevation model";

/// How the height at a place is interpolated from those of pixels: GDAL's `RPC_DEMINTERPOLATION`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum DemSampling {
    /// The height of the pixel that contains the place.
    Nearest,
    /// Linear between the centres of four pixels; missing if one of them is missing.
    #[default]
    Bilinear,
    /// A cubic B-spline over 16 pixels, as GDAL's `cubic`; missing pixels do not count.
    Cubic,
}

impl DemSampling {
    /// Returns the method with GDAL's name: `near`, `bilinear` or `cubic`.
    ///
    /// # Errors
    /// If there is no such method.
    pub fn named(name: &str) -> Result<Self, InvalidValue> {
        let all = [Self::Nearest, Self::Bilinear, Self::Cubic];
        let found = all.into_iter().find(|method| method.name().eq_ignore_ascii_case(name));
        let near = name.eq_ignore_ascii_case("nearest").then_some(Self::Nearest);
        found.or(near).ok_or_else(|| format!("expected near, bilinear or cubic, got `{name}`").into())
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Nearest => "near",
            Self::Bilinear => "bilinear",
            Self::Cubic => "cubic",
        }
    }
}

/// An elevation model that provides heights for rational polynomials: GDAL's `RPC_DEM`.
///
/// Heights are those of band 1 in metres, with its scale and offset, and count as heights above the ellipsoid. Heights
/// above a geoid are not converted.
pub struct RpcDem {
    input: Arc<Input>,
    sampling: DemSampling,
    missing: Option<f64>,
}

impl RpcDem {
    /// Uses heights from a file, with [`DemSampling::Bilinear`]. Places without a height have no pixel.
    pub fn new(input: impl Into<Arc<Input>>) -> Self {
        Self { input: input.into(), sampling: DemSampling::default(), missing: None }
    }

    /// Sets how the height at a place is interpolated.
    #[must_use]
    pub const fn sampling(mut self, sampling: DemSampling) -> Self {
        self.sampling = sampling;
        self
    }

    /// Sets the height of places without a height in the model, or outside it: GDAL's `RPC_DEM_MISSING_VALUE`.
    #[must_use]
    pub fn missing_value(mut self, height: impl Into<Option<f64>>) -> Self {
        self.missing = height.into();
        self
    }

    /// Describes the model in words.
    pub(super) fn words(&self) -> String {
        let name = self.input.name();
        let missing =
            self.missing.map(|height| format!(", {height} m where it has none")).unwrap_or_default();
        let crs = self.input.metadata().georeference.crs.as_ref();
        let geoid = match crs.and_then(|crs| crs.vertical.as_ref()) {
            Some(_) => "; its vertical datum is not applied",
            None => "",
        };
        format!("{name} ({}{missing}; heights count as above the ellipsoid{geoid})", self.sampling.name())
    }
}

impl fmt::Debug for RpcDem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RpcDem")
            .field("name", &self.input.name())
            .field("sampling", &self.sampling)
            .field("missing", &self.missing)
            .finish()
    }
}

/// A part of the model, row by row; NaN for missing heights.
struct Tile {
    width: u32,
    heights: Vec<f64>,
    _lease: Lease,
}

#[derive(Default)]
struct Tiles {
    known: HashMap<(u32, u32), Arc<Tile>>,
    /// Oldest first.
    order: VecDeque<(u32, u32)>,
}

/// The heights of a model, as read by one call.
pub(super) struct Heights {
    dem: Arc<RpcDem>,
    /// From WGS 84 to the system of the model.
    there: Transformer,
    to_pixel: GeoTransform,
    size: (u32, u32),
    context: Context,
    /// Maximum number of tiles that are kept.
    most: usize,
    tiles: RwLock<Tiles>,
    /// The reason why a tile could not be read.
    fault: OnceLock<String>,
}

impl fmt::Debug for Heights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Heights").field("dem", &self.dem).finish_non_exhaustive()
    }
}

impl Heights {
    /// Prepares the heights under the image of some polynomials.
    pub(super) fn new(dem: Arc<RpcDem>, rpc: &Rpc, context: &Context) -> Result<Self, InvalidValue> {
        let failed = |problem: String| format!("cannot take heights from {}: {problem}", dem.input.name());
        if dem.missing.is_some_and(|height| !height.is_finite()) {
            return Err(failed("expected a height in metres where it has none".into()).into());
        }
        let grid = dem.input.as_input().grid().map_err(|error| error.to_string())?;
        let wgs84 = Crs::from_epsg(super::WGS84).ok_or_else(|| failed("WGS 84 is not known".into()))?;
        let (x, y) = (rpc.longitude, rpc.latitude);
        let south_north = |sign: f64| (y.0 + sign * y.1.abs()).clamp(-90.0, 90.0);
        let west = (x.0 - x.1.abs(), south_north(-1.0));
        let area = Area::of(&wgs84, west, (x.0 + x.1.abs(), south_north(1.0)));
        let options = TransformOptions::default().area(area.map_err(|error| failed(error.to_string()))?);
        let there = Transformer::new(&wgs84, grid.crs(), &options);
        let there = there.map_err(|error| failed(error.to_string()))?;
        let to_pixel = grid.transform().inverse();
        let to_pixel = to_pixel.ok_or_else(|| failed("its transform has no inverse".into()))?;
        let most = KEPT_BYTES.min(context.budget.limit() / 16) / TILE_BYTES;
        // One thread: tiles are small, and all threads already compute places of a map.
        let context = Context { progress: None, threads: NonZeroUsize::MIN, ..context.clone() };
        Ok(Self {
            size: (grid.width(), grid.height()),
            there,
            to_pixel,
            context,
            most: usize::try_from(most).unwrap_or(usize::MAX).max(4),
            tiles: RwLock::default(),
            fault: OnceLock::new(),
            dem,
        })
    }

    /// Returns why heights could not be read, if so.
    pub(super) fn fault(&self) -> Option<String> {
        self.fault.get().map(|problem| format!("cannot read heights: {problem}"))
    }

    /// Returns the height in metres at a place; `None` if it is unknown and no substitute is set.
    pub(super) fn at(&self, longitude: f64, latitude: f64) -> Option<f64> {
        let found = self.there.transform(longitude, latitude).and_then(|(x, y)| {
            let turn = self.there.target_period().unwrap_or(0.0);
            let turns: &[f64] = if turn > 0.0 { &[0.0, 1.0, -1.0] } else { &[0.0] };
            turns.iter().find_map(|turns| {
                let (column, row) = self.to_pixel.to_world(x + turns * turn, y);
                let is_inside = (0.0..=f64::from(self.size.0)).contains(&column)
                    && (0.0..=f64::from(self.size.1)).contains(&row);
                is_inside.then_some((column, row))
            })
        });
        let height =
            found.and_then(|(column, row)| self.sampled(column, row)).filter(|height| height.is_finite());
        match self.fault.get() {
            Some(_) => None,
            None => height.or(self.dem.missing),
        }
    }

    /// Returns the height at a place in columns and rows of the model.
    fn sampled(&self, column: f64, row: f64) -> Option<f64> {
        let sampling = match self.dem.sampling {
            DemSampling::Cubic if self.size.0.min(self.size.1) < 4 => DemSampling::Bilinear,
            other => other,
        };
        match sampling {
            DemSampling::Nearest => self.pixel(whole(column), whole(row)),
            DemSampling::Bilinear => {
                let (x, y) = (column - 0.5, row - 0.5);
                let (left, top) = (whole(x), whole(y));
                let [a, b] = [self.pixel(left, top)?, self.pixel(left + 1, top)?];
                let [c, d] = [self.pixel(left, top + 1)?, self.pixel(left + 1, top + 1)?];
                let (right, down) = (x - x.floor(), y - y.floor());
                let (upper, lower) = (a * (1.0 - right) + b * right, c * (1.0 - right) + d * right);
                Some(upper * (1.0 - down) + lower * down)
            }
            DemSampling::Cubic => {
                let (x, y) = (column - 0.5, row - 0.5);
                let (left, top) = (whole(x), whole(y));
                let (right, down) = (x - x.floor(), y - y.floor());
                let (mut sum, mut weights) = (0.0, 0.0);
                for (j, at_row) in [(-1, -1.0), (0, 0.0), (1, 1.0), (2, 2.0)] {
                    for (i, at_column) in [(-1, -1.0), (0, 0.0), (1, 1.0), (2, 2.0)] {
                        let Some(height) = self.pixel(left + i, top + j) else { continue };
                        let weight = spline(at_column - right) * spline(at_row - down);
                        sum += height * weight;
                        weights += weight;
                    }
                }
                (weights != 0.0).then(|| sum / weights)
            }
        }
    }

    /// Returns the height of a pixel; outside the model, that of the nearest pixel at its edge.
    fn pixel(&self, column: i64, row: i64) -> Option<f64> {
        let within = |at: i64, len: u32| u32::try_from(at.clamp(0, i64::from(len.max(1)) - 1)).unwrap_or(0);
        let (column, row) = (within(column, self.size.0), within(row, self.size.1));
        let tile = self.tile((column / TILE, row / TILE))?;
        let at = u64::from(row % TILE) * u64::from(tile.width) + u64::from(column % TILE);
        let height = tile.heights.get(usize::try_from(at).ok()?).copied()?;
        height.is_finite().then_some(height)
    }

    fn tile(&self, at: (u32, u32)) -> Option<Arc<Tile>> {
        let known = self.tiles.read().unwrap_or_else(PoisonError::into_inner).known.get(&at).cloned();
        if known.is_some() || self.fault.get().is_some() {
            return known;
        }
        // Another thread may read the same tile; the first one is kept.
        let tile = match self.read(at) {
            Ok(tile) => Arc::new(tile),
            Err(error) => {
                self.fault.get_or_init(|| error.to_string());
                return None;
            }
        };
        let mut tiles = self.tiles.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = tiles.known.get(&at) {
            return Some(Arc::clone(known));
        }
        if tiles.order.len() >= self.most
            && let Some(oldest) = tiles.order.pop_front()
        {
            tiles.known.remove(&oldest);
        }
        tiles.order.push_back(at);
        tiles.known.insert(at, Arc::clone(&tile));
        Some(tile)
    }

    fn read(&self, at: (u32, u32)) -> Result<Tile, Error> {
        let lease = self.context.take(TILE_BYTES, HEIGHTS)?;
        let (column, row) = (at.0 * TILE, at.1 * TILE);
        let (width, height) = (TILE.min(self.size.0 - column), TILE.min(self.size.1 - row));
        let options = ReadOptions::new()
            .bands([1])
            .window(Window { column, row, width, height })
            .unpack(true)
            .float_type(FloatType::Float64)
            .cache(Cache::Decoded);
        let pixels = self.dem.input.read(&options, &self.context)?;
        let heights: Vec<f64> = numbers(pixels.bytes()?, pixels.data_type).collect();
        match heights.len() == width as usize * height as usize {
            true => Ok(Tile { width, heights, _lease: lease }),
            false => {
                let problem = "a window of the elevation model has another size".to_owned();
                Err(Error::Request { file: self.dem.input.name().to_owned(), problem })
            }
        }
    }
}

/// Returns the weight of a pixel at this distance, by a cubic B-spline.
fn spline(away: f64) -> f64 {
    let away = away.abs();
    if away >= 2.0 {
        0.0
    } else if away >= 1.0 {
        (2.0 - away).powi(3) / 6.0
    } else {
        (4.0 - 6.0 * away * away + 3.0 * away.powi(3)) / 6.0
    }
}

/// Rounds down: places lie in the model, or half a pixel beside it.
#[expect(clippy::cast_possible_truncation, reason = "within 2³² pixels")]
fn whole(value: f64) -> i64 {
    value.floor() as i64
}
