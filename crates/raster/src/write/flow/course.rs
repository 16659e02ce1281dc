//! Which levels of a raster pass through a flow, and which of their pixels.

use super::super::plan::{LevelPlan, WritePlan};
use crate::Window;

/// What of a level passes through a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extent {
    /// Pixels that come: those encoded, and around them what the levels above are computed from.
    pub(crate) need: Window,
    /// Pixels whose blocks are encoded: whole cells.
    pub(crate) own: Window,
}

/// Which levels pass, from the one whose pixels are given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Course {
    /// The level that is given.
    pub(crate) first: usize,
    /// That level and those above it that are encoded here.
    pub(crate) extents: Vec<Extent>,
    /// What is reduced of the next level and collected, where there is one.
    pub(crate) beyond: Option<Window>,
    /// Whether pixels of the first level are reduced and not encoded, and are the caller's until all are.
    pub(crate) lent: bool,
}

impl Course {
    /// A whole raster.
    pub(crate) fn whole(plan: &WritePlan) -> Self {
        let extent = |level: &LevelPlan| {
            let whole = Window::full(level.width, level.height);
            Extent { need: whole, own: whole }
        };
        Self { first: 0, extents: plan.levels.iter().map(extent).collect(), beyond: None, lent: false }
    }

    /// The overviews of a raster: its full image is reduced and not encoded. `lent`: all of it is in host memory of the
    /// caller, and the engine reads it there.
    pub(crate) fn overviews(plan: &WritePlan, lent: bool) -> Self {
        let mut course = Self { lent, ..Self::whole(plan) };
        if let Some(image) = course.extents.first_mut() {
            image.own = Window::new(0, 0, 0, 0);
        }
        course
    }

    /// The full image alone.
    pub(crate) fn image(plan: &WritePlan) -> Self {
        let mut course = Self::whole(plan);
        course.extents.truncate(1);
        course
    }
}
