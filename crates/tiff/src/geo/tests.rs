//! Systems written out in keys, against what GDAL makes of the same keys.
