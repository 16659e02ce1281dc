//! Names of files in other formats than TIFF.

use std::path::Path;

/// Extensions of formats other than TIFF.
const OTHERS: [&str; 30] = [
    "vrt", "png", "jpg", "jpeg", "jp2", "j2k", "jpx", "jxl", "webp", "gif", "bmp", "avif", "heic", "img",
    "nc", "nc4", "h5", "hdf", "hdf5", "zarr", "grib", "grb", "grb2", "asc", "npy", "npz", "csv", "json",
    "xml", "zip",
];

/// Returns the extension of a path that names a file of another format than TIFF; `None` for any other path.
///
/// ```
/// use strile::io::other_format;
/// assert_eq!(other_format("dem.PNG".as_ref()), Some("png"));
/// assert_eq!(other_format("dem.tif".as_ref()), None);
/// assert_eq!(other_format("dem".as_ref()), None);
/// ```
pub fn other_format(path: &Path) -> Option<&'static str> {
    let extension = path.extension()?.to_str()?;
    OTHERS.into_iter().find(|other| extension.eq_ignore_ascii_case(other))
}
