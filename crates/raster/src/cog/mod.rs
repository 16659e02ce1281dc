//! Whether a file is a Cloud-Optimized GeoTIFF: the rules of GDAL's `validate_cloud_optimized_geotiff` and of
//! `rio cogeo validate`, each finding saying which of the two makes it.
//!
//! A file is valid where neither finds an error. The two do not agree everywhere (what counts as tiled, where
//! the first directory may be), so a report can be asked for either verdict. Pixels are not decoded. What is
//! read stays in proportion to the file, however its tables overlap.

mod blocks;
mod ghost;
mod levels;
mod rules;

pub use ghost::GhostArea;
pub(crate) use ghost::read_ghost_area;

use crate::error::Result;
use crate::file::dataset::Dataset;
use strile_engine::Context;

/// Whose rule a finding breaks.
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
    /// Who says so, by two answers; `None` where nobody does.
    fn of(gdal: bool, rio_cogeo: bool) -> Option<Self> {
        match (gdal, rio_cogeo) {
            (true, true) => Some(Self::Both),
            (true, false) => Some(Self::Gdal),
            (false, true) => Some(Self::RioCogeo),
            (false, false) => None,
        }
    }

    /// Names of the validators.
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

/// One thing that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// A stable name of the kind, for programs.
    pub code: &'static str,
    /// Where: a level with its directory's offset, a block with its own.
    pub place: String,
    /// What was found and what was expected.
    pub message: String,
    /// What to do about it.
    pub advice: &'static str,
    /// How many places of the image have it; `place` is the first.
    pub count: u64,
    /// Whose rule it breaks.
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

/// Where one level lies.
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
    /// Where its directory is.
    pub directory_offset: u64,
    /// Where its first stored block is; `None` where all are sparse.
    pub first_block: Option<u64>,
}

/// What a validation gives.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CogReport {
    /// What makes the file invalid.
    pub errors: Vec<Finding>,
    /// What is better otherwise.
    pub warnings: Vec<Finding>,
    /// GDAL's ghost area, where there is one.
    pub ghost: Option<GhostArea>,
    /// The full image, then its overviews.
    pub levels: Vec<LevelLayout>,
}

impl CogReport {
    /// No errors; where `strict`, no warnings either.
    pub fn is_valid(&self, strict: bool) -> bool {
        self.errors.is_empty() && (!strict || self.warnings.is_empty())
    }

    /// Whether this validator finds no errors; where `strict`, no warnings either.
    pub fn is_valid_for(&self, judge: FoundBy, strict: bool) -> bool {
        let none = |findings: &[Finding]| !findings.iter().any(|finding| finding.found_by.includes(judge));
        none(&self.errors) && (!strict || none(&self.warnings))
    }
}

/// What is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CogChecks {
    /// Check also the order of all blocks and the bytes around each, where the ghost area promises something
    /// about them: two small reads a block.
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
