//! Windows of a mosaic that are warped onto a grid: their pixels, and the mask of valid ones.

use super::Vrt;
use super::call::Shared;
use super::canvas::Made;
use crate::error::Result;
use crate::options::{Place, ReadOptions};
use crate::read::Frame;
use crate::window::Window;

impl Vrt {
    /// Prepares a window that is warped onto a grid. With `None` nothing is read: only the types of the mosaic are
    /// returned. `pixels` is `false` for a plan, `first` says whether the window is prepared for the first time.
    pub(crate) fn made_onto(
        &self,
        under: Option<Window>,
        options: &ReadOptions,
        (pixels, first): (bool, bool),
        shared: &Shared<'_>,
    ) -> Result<Made> {
        let (_, bands) = self.target(&Place { onto: None, window: None, ..options.place.clone() })?;
        let frame = Frame::exactly(under.unwrap_or(Window::full(1, 1)));
        let mut wanted = self.wanted(&bands, (frame, under), (&options.place, &options.meaning), pixels)?;
        if under.is_none() {
            wanted.conversions.mask = None;
        }
        shared.begin_window();
        let call = shared.call();
        if first {
            self.allow(&wanted, &call);
        }
        self.made(&wanted, &call)?.ready()
    }
}
