//! The levels of a raster that pass through a flow, and their pixels.

use super::super::plan::{LevelPlan, WritePlan};
use crate::Window;

/// The part of a level that passes through a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extent {
    /// Pixels that arrive: those encoded, and the surrounding ones that the levels above are computed from.
    pub(crate) need: Window,
    /// Pixels whose blocks are encoded: whole cells.
    pub(crate) own: Window,
}

/// The levels that pass, starting with the one whose pixels are given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Course {
    /// The level whose pixels are given.
    pub(crate) first: usize,
    /// That level and those above it that are encoded here.
    pub(crate) extents: Vec<Extent>,
    /// The reduced pixels of the next level to collect, if there is one.
    pub(crate) beyond: Option<Window>,
    /// Whether pixels of the first level are only reduced, and stay the caller's until all are.
    pub(crate) lent: bool,
}

impl Course {
    /// Returns the course of a whole raster.
    pub(crate) fn whole(plan: &WritePlan) -> Self {
        let extent = |level: &LevelPlan| {
            let whole = Window::full(level.width, level.height);
            Extent { need: whole, own: whole }
        };
        Self { first: 0, extents: plan.levels.iter().map(extent).collect(), beyond: None, lent: false }
    }

    /// Returns the course of the overviews of a raster: its full image is only reduced. `lent` means that all of it is
    /// in the caller's host memory, where the engine reads it.
    pub(crate) fn overviews(plan: &WritePlan, lent: bool) -> Self {
        let mut course = Self { lent, ..Self::whole(plan) };
        if let Some(image) = course.extents.first_mut() {
            image.own = Window::new(0, 0, 0, 0);
        }
        course
    }

    /// Returns the course of the full image alone.
    pub(crate) fn image(plan: &WritePlan) -> Self {
        let mut course = Self::whole(plan);
        course.extents.truncate(1);
        course
    }
}
