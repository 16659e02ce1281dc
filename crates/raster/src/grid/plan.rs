//! What the plan of a read onto a grid says.

use super::Grid;
use super::words::name_of;
use crate::window::Window;
use std::fmt;
use std::sync::Arc;
use strile_crs::{Crs, Operation};
use strile_engine::WarpSampling;

/// Files that are shown in words.
const SHOWN: usize = 16;

/// How files are put onto a grid.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct WarpPlan {
    /// The grid.
    pub grid: Grid,
    /// The pixels of it that are read.
    pub window: Window,
    /// How many windows of a batch are made, each on a grid of its own, of which `grid` is the first; 1 in other reads.
    pub windows: usize,
    /// How the value of a pixel is made.
    pub sampling: WarpSampling,
    /// How far an interpolated place may be from the exact one, in pixels of the level that is read.
    pub tolerance: f64,
    /// The files, in the order in which they were given.
    pub files: Vec<WarpFile>,
    /// Parts that are read and put onto the grid one after the other.
    pub parts: usize,
}

/// How one file is put onto a grid.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct WarpFile {
    /// Its name.
    pub name: String,
    /// Its reference system.
    pub crs: Crs,
    /// The operation between the datums, with its code and stated accuracy.
    pub operation: Operation,
    /// How the file is placed, in words; `None` if that is by a transform.
    pub placed_by: Option<Arc<str>>,
    /// The level that is read.
    pub level: usize,
    /// Its columns and rows.
    pub level_size: (u32, u32),
    /// Pixels of the full image along a pixel of the grid, which the level was chosen by; `None` where that is not known.
    pub ratio: Option<f64>,
    /// Coordinates that were computed.
    pub points: u64,
    /// Of these, places of single pixels.
    pub exact: u64,
    /// Windows of the level that are read.
    pub windows: usize,
    /// What all of them cover; `None` if the file does not lie under the grid.
    pub window: Option<Window>,
}

/// A reference system in a few words.
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
