//! `strile warp`.

use super::values::{parse_nodata, parse_tolerance};
use super::{CutlineArgs, DecodeArgs, EngineArgs, FaultPolicy, MosaicArgs, Nodata, RemoteArgs, WriteArgs};
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use strile::DataType;
use strile::Input;
use strile::convert::data_type_named;
use strile::crs::DatumShift;
use strile::grid::{DemSampling, PlacedBy, Placing, RpcDem, WarpSampling, sampling_named};
use strile::tiff::geo::Crs;

/// Warp files onto a grid: another reference system, resolution or extent.
///
/// `strile warp IN… OUT` reads only the blocks under the grid, from the coarsest overview that suffices, and memory
/// does not grow with the raster. Files may have different reference systems; later ones are on top. Options of
/// gdalwarp have GDAL's names and meaning, and may be written with one dash (`-t_srs EPSG:3857`). Settings that are not
/// given are chosen as in gdalwarp. OUT is written atomically.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  strile warp scene.tif web.tif -t_srs EPSG:3857
  strile warp scene.tif web.tif -t_srs EPSG:3857 -tr 20 20 -tap -r bilinear -of COG
  strile warp zone32.tif zone33.tif all.tif -t_srs EPSG:3035 -tr 10 10 -r cubic -dstnodata 0
  strile warp dem.tif onto_scene.tif --like scene.tif -r bilinear
  strile warp scene.tif part.tif -te 12 50 13 51 -te_srs EPSG:4326 -ts 2000 0
  strile warp --explain scene.tif web.tif -t_srs EPSG:3857")]
pub struct WarpArgs {
    /// IN… and OUT, files or URLs; IN may be VRTs
    #[arg(required = true, num_args = 2.., value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Reference system of OUT: EPSG:N, WKT or PROJ; that of the first IN by default
    #[arg(long, value_name = "TEXT", value_parser = Crs::from_user_input, allow_hyphen_values = true)]
    pub t_srs: Option<Crs>,
    /// Reference system of all IN, instead of the one that they state
    #[arg(long, value_name = "TEXT", value_parser = Crs::from_user_input, allow_hyphen_values = true)]
    pub s_srs: Option<Crs>,
    /// Place IN by its control points, with a polynomial of this order from 1 to 3
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=3), conflicts_with_all = ["tps", "rpc"])]
    pub order: Option<u8>,
    /// Place IN by its control points, with a thin-plate spline through all of them
    #[arg(long, conflicts_with = "rpc")]
    pub tps: bool,
    /// Place IN by its rational polynomials
    #[arg(long)]
    pub rpc: bool,
    /// Heights at which rational polynomials are evaluated: RPC_HEIGHT=METRES above the ellipsoid, 0 by default;
    /// RPC_DEM=FILE, an elevation model, with RPC_DEMINTERPOLATION=near, bilinear or cubic, and
    /// RPC_DEM_MISSING_VALUE=METRES for places without a height
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_rpc)]
    pub to: Vec<RpcOption>,
    /// Take the grid of another raster: reference system, extent and pixels
    #[arg(long, value_name = "FILE", conflicts_with_all = ["t_srs", "te", "tr", "ts", "tap"])]
    pub like: Option<PathBuf>,
    /// Extent of OUT
    #[arg(long, num_args = 4, value_names = ["XMIN", "YMIN", "XMAX", "YMAX"], allow_negative_numbers = true)]
    pub te: Option<Vec<f64>>,
    /// Reference system of the extent; that of OUT by default
    #[arg(long, value_name = "TEXT", value_parser = Crs::from_user_input, allow_hyphen_values = true, requires = "te")]
    pub te_srs: Option<Crs>,
    /// Width and height of a pixel, in the unit of OUT's reference system
    #[arg(long, num_args = 2, value_names = ["XRES", "YRES"], conflicts_with = "ts")]
    pub tr: Option<Vec<f64>>,
    /// Columns and rows of OUT; 0 for square pixels
    #[arg(long, num_args = 2, value_names = ["COLUMNS", "ROWS"])]
    pub ts: Option<Vec<u32>>,
    /// Widen the extent to multiples of the resolution
    #[arg(long, requires = "tr")]
    pub tap: bool,
    /// How pixels are computed: nearest, bilinear, cubic, cubicspline, lanczos, average, mode, min, max, med, q1, q3, rms or sum
    #[arg(short, long, value_name = "METHOD", value_parser = sampling_named, default_value = "nearest")]
    pub resampling: WarpSampling,
    /// Level to read: auto, none (the full image), or an overview from 0
    #[arg(long, value_name = "LEVEL", value_parser = parse_level, default_value = "auto")]
    pub ovr: Level,
    /// Value of pixels that no IN fills, and nodata value of OUT
    #[arg(long, value_name = "V", value_parser = parse_nodata, allow_hyphen_values = true)]
    pub dstnodata: Option<Nodata>,
    /// Nodata value of all IN, instead of the one that they state
    #[arg(long, value_name = "V", value_parser = parse_nodata, allow_hyphen_values = true)]
    pub srcnodata: Option<Nodata>,
    /// How far an interpolated place may be from the exact one, in pixels; 0 for exact places
    #[arg(long, value_name = "PIXELS", value_parser = parse_tolerance, default_value = "0.125")]
    pub et: f64,
    /// What to do if no operation between the datums is known: `required` fails, `none` leaves coordinates unchanged
    #[arg(long, value_name = "SHIFT", value_parser = parse_datum_shift, default_value = "required")]
    pub datum_shift: DatumShift,
    /// Type of samples: Byte, Int8, UInt16, Int16, UInt32, Int32, UInt64, Int64, Float16, Float32, Float64, CFloat32, CFloat64
    #[arg(long, value_name = "TYPE", value_parser = data_type_named)]
    pub ot: Option<DataType>,
    #[command(flatten)]
    pub cutline: CutlineArgs,
    /// Bands to read, from 1, in this order; all by default
    #[arg(short, long, alias = "bands", value_name = "N", value_delimiter = ',')]
    pub band: Vec<u16>,
    /// Put the first IN on top, not the last
    #[arg(long)]
    pub first_on_top: bool,
    /// What to do with blocks that cannot be decoded
    #[arg(long, default_value = "fail")]
    pub on_fault: FaultPolicy,
    #[command(flatten)]
    pub write: WriteArgs,
    #[command(flatten)]
    pub decode: DecodeArgs,
    #[command(flatten)]
    pub engine: EngineArgs,
    #[command(flatten)]
    pub mosaic: MosaicArgs,
    #[command(flatten)]
    pub remote: RemoteArgs,
    /// Show what would be done; write nothing
    #[arg(long)]
    pub explain: bool,
}

/// The level to read; `None` is the coarsest sufficient one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Level(pub Option<usize>);

fn parse_level(text: &str) -> Result<Level, String> {
    if text.eq_ignore_ascii_case("auto") {
        return Ok(Level(None));
    }
    if text.eq_ignore_ascii_case("none") {
        return Ok(Level(Some(0)));
    }
    let overview = text.parse().ok().and_then(|overview: usize| overview.checked_add(1));
    overview.map(|level| Level(Some(level))).ok_or_else(|| "expected auto, none or an overview from 0".into())
}

/// An option of the transformation.
#[derive(Debug, Clone, PartialEq)]
pub enum RpcOption {
    /// A height above the ellipsoid, or above the elevation model.
    Height(f64),
    /// An elevation model.
    Dem(PathBuf),
    /// How its heights are interpolated.
    Sampling(DemSampling),
    /// The height of places where the model has none.
    Missing(f64),
}

fn parse_rpc(text: &str) -> Result<RpcOption, String> {
    const NAMES: &str = "RPC_HEIGHT, RPC_DEM, RPC_DEMINTERPOLATION or RPC_DEM_MISSING_VALUE";
    let (name, value) =
        text.split_once('=').ok_or_else(|| format!("expected NAME=VALUE, where NAME is {NAMES}"))?;
    let metres = || {
        let height = value.parse().ok().filter(|height: &f64| height.is_finite());
        height.ok_or_else(|| format!("expected {name}=METRES, got `{value}`"))
    };
    match name.to_ascii_uppercase().as_str() {
        "RPC_HEIGHT" => metres().map(RpcOption::Height),
        "RPC_DEM_MISSING_VALUE" => metres().map(RpcOption::Missing),
        "RPC_DEM" if value.is_empty() => Err("expected RPC_DEM=FILE".into()),
        "RPC_DEM" => Ok(RpcOption::Dem(value.into())),
        "RPC_DEMINTERPOLATION" => {
            DemSampling::named(value).map(RpcOption::Sampling).map_err(|problem| problem.to_string())
        }
        _ => Err(format!("expected {NAMES}, got `{name}`")),
    }
}

impl WarpArgs {
    /// Returns the part of IN's georeferencing to use.
    pub fn placing(&self, dem: Option<Arc<RpcDem>>) -> Placing {
        let by = match self.order {
            Some(order) => PlacedBy::Polynomial(order),
            None if self.tps => PlacedBy::ThinPlate,
            None if self.rpc => PlacedBy::Rational,
            None => PlacedBy::Any,
        };
        let height = self.to.iter().rev().find_map(|option| match option {
            RpcOption::Height(height) => Some(*height),
            _ => None,
        });
        Placing::by(by).rpc_height(height.unwrap_or(0.0)).rpc_dem(dem)
    }

    /// Returns the elevation model that provides heights for rational polynomials.
    pub fn dem(&self) -> Option<&PathBuf> {
        self.to.iter().rev().find_map(|option| match option {
            RpcOption::Dem(path) => Some(path),
            _ => None,
        })
    }

    /// Combines an opened elevation model with its options.
    ///
    /// # Errors
    /// If there is no model, but an option for it.
    pub fn elevation(&self, input: Option<Input>) -> Result<Option<Arc<RpcDem>>, String> {
        let mut dem = input.map(RpcDem::new);
        for option in &self.to {
            dem = match (option, dem) {
                (RpcOption::Height(_) | RpcOption::Dem(_), dem) => dem,
                (RpcOption::Sampling(sampling), Some(dem)) => Some(dem.sampling(*sampling)),
                (RpcOption::Missing(height), Some(dem)) => Some(dem.missing_value(*height)),
                (RpcOption::Sampling(_), None) => {
                    return Err("RPC_DEMINTERPOLATION needs RPC_DEM=FILE".into());
                }
                (RpcOption::Missing(_), None) => {
                    return Err("RPC_DEM_MISSING_VALUE needs RPC_DEM=FILE".into());
                }
            };
        }
        Ok(dem.map(Arc::new))
    }
}

fn parse_datum_shift(text: &str) -> Result<DatumShift, String> {
    match text {
        "required" => Ok(DatumShift::Required),
        "none" => Ok(DatumShift::None),
        _ => Err("expected required or none".into()),
    }
}

/// Options of gdalwarp that begin with one dash.
pub(super) const GDAL: &str =
    "t_srs s_srs order tps rpc to te te_srs tr ts tap ovr dstnodata srcnodata et ot of co overwrite";

/// Options of gdalwarp that strile does not support, and their replacements.
const UNAVAILABLE: [(&str, &str); 20] = [
    ("-cl", "all polygons of the cutline count"),
    ("-cwhere", "all polygons of the cutline count"),
    ("-csql", "all polygons of the cutline count"),
    ("-cblend", "pixels are inside the cutline or outside"),
    ("-wm", "`--memory SIZE` limits memory"),
    ("-multi", "all cores work; `--threads N` limits them"),
    ("-wo", "there are no warp options"),
    ("-wt", "numbers are 64-bit floats while they are computed"),
    ("-oo", "there are no open options"),
    ("-if", "the format of the input is found by its content"),
    ("-doo", "OUT is always written anew"),
    ("-geoloc", "geolocation arrays are not used; give the file a transform"),
    ("-dstalpha", "`-dstnodata V` marks missing pixels"),
    ("-srcalpha", "alpha of the input always counts"),
    ("-nosrcalpha", "alpha of the input always counts"),
    ("-setci", "colour interpretation is kept"),
    ("-nomd", "metadata of the first file is kept"),
    ("-ct", "operations between datums are chosen; `--explain` names them"),
    ("-vshift", "heights are left unchanged"),
    ("-refine_gcps", "all control points count"),
];

/// Returns an error for options of gdalwarp that `strile warp` does not support.
pub(super) fn unavailable(words: &[OsString]) -> Option<String> {
    words.iter().take_while(|word| *word != "--").find_map(|word| {
        let (option, instead) = UNAVAILABLE.iter().find(|(option, _)| word == option)?;
        Some(format!("`{option}` is not available in strile warp; {instead}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_counted_as_gdal_counts_overviews() {
        assert_eq!(parse_level("AUTO"), Ok(Level(None)));
        assert_eq!(parse_level("NONE"), Ok(Level(Some(0))));
        assert_eq!(parse_level("0"), Ok(Level(Some(1))));
        assert!(parse_level("AUTO-1").is_err());
    }

    #[test]
    fn heights_of_rational_polynomials() {
        assert_eq!(parse_rpc("rpc_height=-12.5"), Ok(RpcOption::Height(-12.5)));
        assert_eq!(parse_rpc("RPC_DEM=a=b.tif"), Ok(RpcOption::Dem("a=b.tif".into())));
        assert_eq!(parse_rpc("RPC_DEMINTERPOLATION=Near"), Ok(RpcOption::Sampling(DemSampling::Nearest)));
        assert_eq!(parse_rpc("RPC_DEM_MISSING_VALUE=0"), Ok(RpcOption::Missing(0.0)));
        for text in [
            "RPC_HEIGHT",
            "RPC_HEIGHT=",
            "RPC_HEIGHT=inf",
            "RPC_DEM=",
            "RPC_DEMINTERPOLATION=lanczos",
            "RPC_DEM_SRS=EPSG:4979",
            "=1",
        ] {
            assert!(parse_rpc(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_there_is_not_is_refused_by_name() {
        for (option, _) in UNAVAILABLE {
            let words: Vec<OsString> = ["a.tif", "b.tif", option, "x"].map(Into::into).to_vec();
            let found = unavailable(&words).unwrap();
            assert!(found.starts_with(&format!("`{option}` is not available in strile warp; ")), "{found}");
        }
        assert_eq!(unavailable(&["a.tif".into(), "--".into(), "-cl".into()]), None);
    }
}
