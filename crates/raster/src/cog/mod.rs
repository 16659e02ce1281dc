//! Validates Cloud-Optimized GeoTIFFs by the rules of GDAL's `validate_cloud_optimized_geotiff` and of `rio cogeo
//! validate`. Each finding names the validator that reports it.
//!
//! A file is valid if neither finds an error. The two do not always agree (what counts as tiled, where the first
//! directory may be), so a report gives the verdict of either. Pixels are not decoded. The amount of data read stays
//! proportional to the file, even if its tables overlap.

mod blocks;
mod ghost;
mod levels;
mod rules;

pub use ghost::GhostArea;
pub(crate) use ghost::read_ghost_area;

use crate::error::Result;
use crate::file::dataset::Dataset;
use strile_engine::Context;

/// The validator whose rule a finding breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoundBy {
    /// GDAL's validator alone.
    Gdal,
    /// rio-cogeo alone.
    RioCogeo,
    /// Both.
    Both,
}

impl FoundBy {
    /// Returns the validators that report a finding; `None` if neither does.
    fn of(gdal: bool, rio_cogeo: bool) -> Option<Self> {
        match (gdal, rio_cogeo) {
            (true, true) => Some(Self::Both),
            (true, false) => Some(Self::Gdal),
            (false, true) => Some(Self::RioCogeo),
            (false, false) => None,
        }
    }

    /// Returns the names of the validators.
    pub const fn names(self) -> &'static [&'static str] {
        match self {
            Self::Gdal => &["gdal"],
            Self::RioCogeo => &["rio-cogeo"],
            Self::Both => &["gdal", "rio-cogeo"],
        }
    }

    fn includes(self, other: Self) -> bool {
        self == other || self == Self::Both || other == Self::Both
    }
}

/// A violation of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// A stable identifier of the kind, for programs.
    pub code: &'static str,
    /// The place: a level with its directory's offset, or a block with its own.
    pub place: String,
    /// The value found and the value expected.
    pub message: String,
    /// Advice on how to fix it.
    pub advice: &'static str,
    /// Number of places of the image with this finding; `place` is the first.
    pub count: u64,
    /// The validator whose rule it breaks.
    pub found_by: FoundBy,
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.place, self.message)?;
        match self.count {
            0 | 1 => Ok(()),
            n => write!(f, " (and {} more)", n - 1),
        }
    }
}

/// The layout of one level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LevelLayout {
    /// Pixels across.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Pixels across a block.
    pub block_width: u32,
    /// Rows of a block.
    pub block_height: u32,
    /// Offset of its directory.
    pub directory_offset: u64,
    /// Offset of its first stored block; `None` if all are sparse.
    pub first_block: Option<u64>,
}

/// The result of a validation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CogReport {
    /// Findings that make the file invalid.
    pub errors: Vec<Finding>,
    /// Findings that should be improved.
    pub warnings: Vec<Finding>,
    /// GDAL's ghost area, if there is one.
    pub ghost: Option<GhostArea>,
    /// Layouts of the full image, then of its overviews.
    pub levels: Vec<LevelLayout>,
}

impl CogReport {
    /// Returns whether there are no errors; with `strict`, no warnings either.
    pub fn is_valid(&self, strict: bool) -> bool {
        self.errors.is_empty() && (!strict || self.warnings.is_empty())
    }

    /// Returns whether this validator finds no errors; with `strict`, no warnings either.
    pub fn is_valid_for(&self, judge: FoundBy, strict: bool) -> bool {
        let none = |findings: &[Finding]| !findings.iter().any(|finding| finding.found_by.includes(judge));
        none(&self.errors) && (!strict || none(&self.warnings))
    }
}

/// Options of a validation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CogChecks {
    /// Also check the order of all blocks and the bytes around each, if the ghost area promises something about them.
    /// Takes two small reads per block.
    pub every_block: bool,
}

impl Default for CogChecks {
    fn default() -> Self {
        Self { every_block: true }
    }
}

impl Dataset {
    /// Checks the layout of the file against the rules of Cloud-Optimized GeoTIFF.
    pub fn validate_cog(&self, checks: &CogChecks, context: &Context) -> Result<CogReport> {
        rules::validate(self, checks, context)
    }
}
