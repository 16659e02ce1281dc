//! Options of the polygon that clips pixels.

use clap::Args;
use strile::tiff::geo::Crs;

/// A clipping polygon, with cropping.
#[derive(Debug, Args)]
pub struct CutlineArgs {
    #[command(flatten)]
    pub polygon: PolygonArgs,
    /// Take only the pixels that the box around the polygon touches
    #[arg(long, requires = "cutline")]
    pub crop_to_cutline: bool,
}

/// A clipping polygon.
#[derive(Debug, Args)]
pub struct PolygonArgs {
    /// Clip by a polygon: a GeoJSON file, GeoJSON or WKT; pixels whose centre lies outside are missing
    #[arg(long, value_name = "POLYGON")]
    pub cutline: Option<String>,
    /// Reference system of the polygon; by default WGS 84 for GeoJSON, and that of the pixels for WKT
    #[arg(long, value_name = "TEXT", value_parser = Crs::from_user_input, allow_hyphen_values = true, requires = "cutline")]
    pub cutline_srs: Option<Crs>,
}

/// GDAL's forms of these options, which begin with one dash.
pub(super) const GDAL: &str = "cutline cutline_srs crop_to_cutline";
