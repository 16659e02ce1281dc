//! The kinds of warnings about a file's georeferencing or metadata.
//!
//! Georeferencing never makes an image unreadable: a bad tag becomes a warning, and its value is absent. The code is
//! stable, for programs; the message is for people.

/// The kind of a warning; `as_str` is stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum GeoWarningCode {
    /// The GeoKey directory's header is short or has an unknown version.
    BadKeyDirectory,
    /// A GeoKey points outside its parameters or has the wrong type, and was dropped.
    BadKey,
    /// A GeoKey occurs more than once; the first one was kept.
    DuplicateKey,
    /// A code that is not in the registry.
    UnknownCode,
    /// Two statements about the same property differ; the message says which one was kept.
    Contradiction,
    /// A transform tag has a wrong length, a zero, or a number that is not finite.
    BadTransform,
    /// PixelScale has a negative y; read as north-up, as GDAL does.
    NegativeScaleY,
    /// Tie points that could not be used.
    BadTiePoints,
    /// A coordinate reference system that cannot be written as WKT.
    UnsupportedCrs,
    /// WKT text that does not parse.
    BadWkt,
    /// RPC coefficients that are not 92 finite numbers, or a text that lacks some of them.
    BadRpc,
    /// A nodata text that is not a number, has text after the number, or does not fit the samples.
    BadNoData,
    /// XML metadata that is malformed, too large, or has an invalid item.
    BadMetadata,
    /// A world file without six finite numbers.
    BadWorldFile,
}

impl GeoWarningCode {
    /// Returns the code as a stable identifier.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::BadKeyDirectory => "geo-key-directory",
            Self::BadKey => "geo-key",
            Self::DuplicateKey => "geo-key-duplicate",
            Self::UnknownCode => "geo-unknown-code",
            Self::Contradiction => "geo-contradiction",
            Self::BadTransform => "geo-transform",
            Self::NegativeScaleY => "geo-negative-scale",
            Self::BadTiePoints => "geo-tie-points",
            Self::UnsupportedCrs => "geo-crs",
            Self::BadWkt => "geo-wkt",
            Self::BadRpc => "geo-rpc",
            Self::BadNoData => "nodata",
            Self::BadMetadata => "metadata",
            Self::BadWorldFile => "world-file",
        }
    }
}

impl From<GeoWarningCode> for &'static str {
    fn from(code: GeoWarningCode) -> Self {
        code.as_str()
    }
}
