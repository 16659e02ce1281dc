//! The last steps of a read: masks as 0 and 255, white as maximum, turning by Orientation, masks from alpha or nodata.
//! They are planned with the read, and the engine of the memory that pixels are decoded into runs all of them at once
//! (`Engine::finish`).

use super::reading::place_of;
use crate::options::{Layer, Layout, Meaning, ReadOptions};
use std::fmt;
use strile_engine::{Change, FinishJob, Location, Sought, Turn};
use strile_tiff::{Image, Photometric, SampleFormat};

/// One step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// A mask with fewer than 8 bits becomes 0 and 255: all values except 0 are valid.
    BitMask,
    /// Samples of this many bits are inverted: 0 is white.
    Invert(u16),
    /// Floats are inverted: their signs are flipped.
    Negate,
    /// The image is turned by its Orientation.
    Turn(u8),
    /// Pixels of this band, which is alpha, become a mask.
    MaskOfAlpha(u16),
    /// Pixels become a mask: valid if a band differs from nodata.
    MaskOfNodata,
}

/// Returns the steps for a request for pixels of an image. At most one of them changes samples, and one turns the
/// image. Samples that are `converted` are inverted by that.
pub(super) fn steps(image: &Image, options: &ReadOptions, converted: bool) -> Vec<Step> {
    let inverted = is_inverted(image, &options.meaning) && !converted;
    let change = match (options.place.layer, image.sample.format) {
        (Layer::Mask, _) if image.sample.bits < 8 => Some(Step::BitMask),
        (Layer::Pixels, SampleFormat::Float) if inverted => Some(Step::Negate),
        (Layer::Pixels, _) if inverted => Some(Step::Invert(image.sample.bits)),
        (Layer::Mask | Layer::Pixels, _) => None,
    };
    let turn = is_turned(image, options.layout).then_some(Step::Turn(image.orientation));
    change.into_iter().chain(turn).collect()
}

/// Returns all steps as a job of an engine. `missing` is the stored nodata value.
pub(super) fn job_of(steps: &[Step], missing: Sought) -> FinishJob {
    let mut job = FinishJob::default();
    for step in steps {
        match *step {
            Step::BitMask => job.change = Change::NotZero,
            Step::Invert(bits) => job.change = Change::Invert(bits),
            Step::Negate => job.change = Change::Negate,
            Step::Turn(orientation) => job.turn = Turn::of_orientation(orientation),
            Step::MaskOfAlpha(_) => job.change = Change::Alpha,
            Step::MaskOfNodata => job.change = Change::Differs(missing),
        }
    }
    job
}

impl Step {
    /// Describes the step, and where it runs.
    pub(super) fn explained(self, place: Location) -> String {
        format!("{self} {}", place_of(place))
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BitMask => write!(f, "the mask as 0 and 255"),
            Self::Invert(_) | Self::Negate => write!(f, "white as maximum"),
            Self::Turn(orientation) => write!(f, "turned by Orientation {orientation}"),
            Self::MaskOfAlpha(band) => write!(f, "the mask from the alpha of band {band}"),
            Self::MaskOfNodata => write!(f, "the mask where a band differs from nodata"),
        }
    }
}

pub(crate) fn is_inverted(image: &Image, meaning: &Meaning) -> bool {
    meaning.invert_min_is_white
        && image.colour.photometric == Photometric::MinIsWhite
        && matches!(image.sample.format, SampleFormat::Uint | SampleFormat::Float)
}

pub(crate) fn is_turned(image: &Image, layout: Layout) -> bool {
    layout.apply_orientation && image.orientation != 1
}
