//! The plan of a read onto a grid.

use super::Grid;
use super::words::name_of;
use crate::window::Window;
use std::fmt;
use std::sync::Arc;
use strile_crs::{Crs, Operation};
use strile_engine::WarpSampling;

/// Number of files that are listed in words.
const SHOWN: usize = 16;

/// How files are warped onto a grid.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct WarpPlan {
    /// The grid.
    pub grid: Grid,
    /// The pixels of the grid that are read.
    pub window: Window,
    /// Number of windows of a batch, each on its own grid, of which `grid` is the first; 1 for other reads.
    pub windows: usize,
    /// Resampling method.
    pub sampling: WarpSampling,
    /// Largest distance of an interpolated place from the exact one, in pixels of the level that is read.
    pub tolerance: f64,
    /// The files, in the given order.
    pub files: Vec<WarpFile>,
    /// Number of parts that are read and warped one after the other.
    pub parts: usize,
}

/// How one file is warped onto a grid.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct WarpFile {
    /// Its name.
    pub name: String,
    /// Its reference system.
    pub crs: Crs,
    /// The operation between the datums, with its code and stated accuracy.
    pub operation: Operation,
    /// How the file is placed, in words; `None` for a transform.
    pub placed_by: Option<Arc<str>>,
    /// The level that is read.
    pub level: usize,
    /// Its columns and rows.
    pub level_size: (u32, u32),
    /// Pixels of the full image per pixel of the grid, by which the level was chosen; `None` if unknown.
    pub ratio: Option<f64>,
    /// Number of computed coordinates.
    pub points: u64,
    /// Number of these that are places of single pixels.
    pub exact: u64,
    /// Number of windows of the level that are read.
    pub windows: usize,
    /// The window that covers all of them; `None` if the file does not lie under the grid.
    pub window: Option<Window>,
    /// Whether the file certainly does not lie under the whole grid, judged by some places. `false` if unknown, and for
    /// batches.
    pub is_outside: bool,
}

/// Describes a reference system briefly.
fn system(crs: &Crs) -> String {
    let name = crs.name.chars().take(80).collect::<String>().escape_debug().to_string();
    crs.epsg.map_or_else(|| name.clone(), |code| format!("EPSG:{code} ({name})"))
}

impl fmt::Display for WarpPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (across, down) = self.grid.transform().resolution();
        if self.windows != 1 {
            writeln!(f, "grids    {}, the first one:", windows(self.windows))?;
        }
        writeln!(
            f,
            "grid     {} × {} pixels of {across} × {down}, {}, window {}",
            self.grid.width(),
            self.grid.height(),
            system(self.grid.crs()),
            self.window
        )?;
        for file in self.files.iter().take(SHOWN) {
            let (width, height) = file.level_size;
            let ratio = file
                .ratio
                .map_or_else(String::new, |ratio| format!(", {ratio:.2} pixels per pixel of the grid"));
            writeln!(f, "from     {}, {}", file.name, system(&file.crs))?;
            if let Some(name) = &file.placed_by {
                writeln!(f, "  placed {name}")?;
            }
            writeln!(f, "  level  {} of {width} × {height} pixels{ratio}", file.level)?;
            writeln!(f, "  datum  {}", file.operation)?;
            match file.window {
                Some(window) => writeln!(f, "  under  {window} in {}", windows(file.windows))?,
                None => writeln!(f, "  under  nothing: the file lies outside")?,
            }
            writeln!(f, "  nodes  {} coordinates, {} of single pixels", file.points, file.exact)?;
        }
        if let Some(more) = self.files.len().checked_sub(SHOWN + 1) {
            writeln!(f, "from     {} more", more + 1)?;
        }
        let within = match self.tolerance {
            0.0 => "exact places".to_owned(),
            tolerance => format!("places within {tolerance} pixels"),
        };
        let parts = if self.parts == 1 { "1 part".to_owned() } else { format!("{} parts", self.parts) };
        write!(f, "warp     {}, {within}, in {parts}", name_of(self.sampling))
    }
}

fn windows(count: usize) -> String {
    format!("{count} window{}", if count == 1 { "" } else { "s" })
}
