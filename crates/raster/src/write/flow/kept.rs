//! Passes reduced pixels to the next level, and keeps overviews on a device until all are there.

use super::super::cells::Deposit;
use super::super::plan::LevelPlan;
use super::{Flow, Reducing, Taker};
use crate::error::Result;
use std::cmp::Reverse;
use strile_engine::{Given, Location, Reduced};

impl<T: Taker> Flow<T> {
    /// Holds the cells of overviews from now on, if they are on a device and small relative to its memory limit.
    /// `encode_kept` encodes them in the order of the file.
    pub(crate) fn keep_overviews(&mut self) {
        let pixel =
            self.spec.data_type.size() as u64 * u64::from(self.spec.bands) + u64::from(self.spec.mask);
        let bytes = |level: &LevelPlan| {
            u64::from(level.width).saturating_mul(u64::from(level.height)).saturating_mul(pixel)
        };
        let all = self.plan.levels.iter().skip(1).map(bytes).fold(0, u64::saturating_add);
        self.keeps = self.engine.engine.location() != Location::Host && all <= self.batch;
    }

    /// Returns whether all cells of overviews are held: there may have been too little memory for them.
    pub(crate) fn keeps_overviews(&self) -> bool {
        self.keeps
    }

    /// Starts to encode the held cells, the smallest level first.
    pub(crate) fn encode_kept(&mut self) -> Result<()> {
        self.keeps = false;
        self.held_bytes = 0;
        let mut cells = std::mem::take(&mut self.held);
        cells.sort_by_key(|cell| (Reverse(cell.level), cell.row, cell.column));
        for cell in cells {
            self.held_bytes += self.weight(&cell);
            self.held.push(cell);
            if self.held_bytes >= self.batch {
                self.encode_held()?;
            }
        }
        self.encode_held()
    }

    /// Takes in reduced pixels.
    pub(super) fn collect_reduced(&mut self) -> Result<()> {
        let Some(Reducing { ticket, targets, cells }) = self.reducing.take() else { return Ok(()) };
        let reduced = self.timed("reduce", |_| ticket.wait())?;
        drop(cells);
        let deposits: Vec<(usize, Deposit<'_>)> = reduced
            .iter()
            .zip(targets)
            .map(|(Reduced { pixels, mask }, (level, window))| {
                let (pixels, mask) = (Given::There(pixels), mask.as_ref().map(Given::There));
                (level, Deposit { window, pixels, mask, lasting: true })
            })
            .collect();
        // Cells of one level are assembled at once: a device does that in one launch.
        for of_level in deposits.chunk_by(|(a, _), (b, _)| a == b) {
            let Some((level, last)) = of_level.last() else { continue };
            let Some(cells) = self.level(*level).map(|work| {
                let touched = |(at, (_, given)): (usize, &(usize, Deposit<'_>))| {
                    work.cells.touched(&given.window).map(move |cell| (at, cell)).collect::<Vec<_>>()
                };
                of_level.iter().enumerate().flat_map(touched).collect::<Vec<_>>()
            }) else {
                of_level.iter().try_for_each(|(level, given)| self.deposit(*level, given, false))?;
                continue;
            };
            let mut wholes = Vec::new();
            for (at, cell) in cells {
                let Some((_, given)) = of_level.get(at) else { continue };
                wholes.extend(self.add(*level, cell, given)?);
            }
            self.timed("assemble", |flow| flow.close(*level, wholes, last, false))?;
        }
        Ok(())
    }
}
