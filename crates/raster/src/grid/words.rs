//! GDAL's names of resampling methods.

use strile_engine::WarpSampling;
use strile_tiff::InvalidValue;

/// Methods by their names in gdalwarp and rasterio, the displayed name first.
const NAMES: [(&str, WarpSampling); 17] = [
    ("nearest", WarpSampling::Nearest),
    ("near", WarpSampling::Nearest),
    ("bilinear", WarpSampling::Bilinear),
    ("cubic", WarpSampling::Cubic),
    ("cubicspline", WarpSampling::CubicSpline),
    ("cubic_spline", WarpSampling::CubicSpline),
    ("lanczos", WarpSampling::Lanczos),
    ("average", WarpSampling::Average),
    ("mode", WarpSampling::Mode),
    ("min", WarpSampling::Min),
    ("max", WarpSampling::Max),
    ("med", WarpSampling::Median),
    ("median", WarpSampling::Median),
    ("q1", WarpSampling::Q1),
    ("q3", WarpSampling::Q3),
    ("rms", WarpSampling::Rms),
    ("sum", WarpSampling::Sum),
];

/// Returns the method with a name, in any case.
///
/// ```
/// use strile::grid::{WarpSampling, sampling_named};
///
/// assert_eq!(sampling_named("CubicSpline"), Ok(WarpSampling::CubicSpline));
/// assert!(sampling_named("gauss").is_err());
/// ```
///
/// # Errors
/// If no method has that name.
pub fn sampling_named(name: &str) -> Result<WarpSampling, InvalidValue> {
    let found = NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    found.map(|(_, sampling)| *sampling).ok_or_else(|| {
        let names: Vec<_> = WarpSampling::ALL.into_iter().map(name_of).collect();
        let name: String = name.chars().take(40).collect();
        format!("expected a method of resampling ({}), got `{}`", names.join(", "), name.escape_debug())
            .into()
    })
}

/// Returns the name of a method.
pub fn name_of(sampling: WarpSampling) -> &'static str {
    NAMES.iter().find(|(_, known)| *known == sampling).map_or("", |(name, _)| name)
}
