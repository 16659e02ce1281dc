//! Compares pixels of a level piece by piece.
//!
//! Pieces are whole rows of the taller blocks of the two files, so blocks of that file are decoded once and those of
//! the other at most twice.

use super::{Comparison, Difference, Differences, SampleDifference, against, name_of, samples};
use crate::error::Result;
use crate::options::{Layer, Place, ReadOptions};
use crate::pieces::PieceLimits;
use crate::read::{layout_of, rows_of_part};
use crate::window::Window;
use strile_engine::Fill;
use strile_tiff::{DataType, Image, Planar};

/// Bytes per piece of one file, unless a single row of blocks is larger.
const PIECE: u64 = 64 << 20;

/// How a level is cut.
struct Cut {
    rows: u32,
    bands: u16,
}

impl Cut {
    fn of(a: &Image, b: &Image, data_type: DataType) -> Self {
        let height = |image: &Image| {
            // Rows of an uncompressed block can be read separately.
            let part = layout_of(image, Fill::default()).as_ref().and_then(rows_of_part);
            part.unwrap_or(image.grid.block_height)
        };
        let step = height(a).max(height(b)).min(a.height).max(1);
        let row = (data_type.size() as u64).saturating_mul(u64::from(a.width));
        let block_row = row.saturating_mul(u64::from(step));
        let all = block_row.saturating_mul(u64::from(a.samples));
        // Planes can be read one by one at no extra cost, interleaved bands only by decoding blocks once per band.
        let planes = a.planar == Planar::Separate && b.planar == Planar::Separate;
        let bands = if all > PIECE && planes { 1 } else { a.samples };
        let piece = block_row.saturating_mul(u64::from(bands)).max(1);
        let steps = u32::try_from((PIECE / piece).max(1)).unwrap_or(u32::MAX);
        Self { rows: step.saturating_mul(steps), bands }
    }

    fn windows(&self, image: &Image) -> impl Iterator<Item = Window> + use<> {
        let (width, height, step) = (image.width, image.height, self.rows);
        std::iter::successors(Some(0u32), move |at| at.checked_add(step).filter(|next| *next < height))
            .map(move |y| Window::new(0, y, width, step.min(height - y)))
    }

    fn groups(&self, image: &Image) -> Vec<Vec<u16>> {
        let bands: Vec<u16> = (1..=image.samples).collect();
        bands.chunks(usize::from(self.bands.max(1))).map(<[u16]>::to_vec).collect()
    }
}

impl Comparison<'_> {
    /// Compares pixels or masks of one shape.
    pub(super) fn pixels(
        &self,
        place: &Place,
        layer: Layer,
        (a, b): (&Image, &Image),
        found: &mut Differences,
    ) -> Result<()> {
        let options =
            ReadOptions::new().place(place.clone().layer(layer)).execution(self.options.execution());
        // Fails for files designed to take forever.
        for dataset in [self.a, self.b] {
            dataset.pieces(&options, &PieceLimits::default(), self.context)?;
        }
        let Some(data_type) = a.sample.data_type() else { return Ok(()) };
        let cut = Cut::of(a, b, data_type);
        let mut tally = Tally { tolerance: self.options.tolerance, compared: 0, found: None };
        for bands in cut.groups(a) {
            for window in cut.windows(a) {
                let piece = options.clone().window(window).bands(bands.clone());
                let (a, b) = (self.a.read(&piece, self.context)?, self.b.read(&piece, self.context)?);
                if a.data_type != b.data_type {
                    let message = against(a.data_type.name(), b.data_type.name());
                    found.add("type", name_of(place), message);
                    return Ok(());
                }
                tally.piece(&window, &bands, (a.bytes()?, b.bytes()?), a.data_type);
            }
        }
        let Some(samples) = tally.finish() else { return Ok(()) };
        let SampleDifference { count, compared, band, row, column, a, b, largest } = &samples;
        let message = format!(
            "{count} of {compared} samples differ, the first at band {band}, row {row}, column {column}: {a} in the \
             first file, {b} in the second; largest difference {largest}"
        );
        let category = match layer {
            Layer::Pixels => "pixels",
            Layer::Mask => "mask",
        };
        found.0.push(Difference { category, place: name_of(place), message, samples: Some(samples) });
        Ok(())
    }
}

/// Differences so far.
struct Tally {
    tolerance: f64,
    compared: u64,
    found: Option<SampleDifference>,
}

impl Tally {
    fn piece(&mut self, window: &Window, bands: &[u16], (a, b): (&[u8], &[u8]), data_type: DataType) {
        let plane = (window.width as usize).saturating_mul(window.height as usize).max(1);
        let stride = plane.saturating_mul(data_type.size());
        for (band, (a, b)) in bands.iter().zip(a.chunks(stride).zip(b.chunks(stride))) {
            self.compared += plane as u64;
            let (mut count, mut largest, mut first) = (0u64, 0f64, None);
            samples::compare(data_type, (a, b), self.tolerance, |index, distance| {
                count += 1;
                largest = largest.max(distance);
                first.get_or_insert(index);
            });
            let Some(first) = first else { continue };
            let width = window.width as usize;
            let within = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
            let (row, column) = (window.row.saturating_add(within(first / width)), within(first % width));
            let here = (u32::from(*band), row, column);
            let known = self.found.as_ref().map(|known| (known.band, known.row, known.column));
            let (total, before) = self.found.as_ref().map_or((0, 0.0), |known| (known.count, known.largest));
            if known.is_none_or(|known| here < known) {
                let (a, b) = (samples::show(data_type, a, first), samples::show(data_type, b, first));
                let (band, row, column) = here;
                self.found =
                    Some(SampleDifference { count: 0, compared: 0, band, row, column, a, b, largest: 0.0 });
            }
            if let Some(found) = &mut self.found {
                found.count = total + count;
                found.largest = before.max(largest);
            }
        }
    }

    fn finish(self) -> Option<SampleDifference> {
        let compared = self.compared;
        self.found.map(|found| SampleDifference { compared, ..found })
    }
}
