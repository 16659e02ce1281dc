//! Memory of the pictures of a job, from the estimates of their decoder: number and size of flights.

use super::sizes::{Parts, Sizes};
use super::{Wanted, Which};
use crate::decode::plan::FLIGHTS;
use std::sync::Arc;
use strile_engine::DecodeJob;

/// Pictures of one decoder.
#[derive(Debug, Clone)]
pub(crate) struct Pictures {
    pub(crate) which: Which,
    /// Indices of their tasks in the job, in order.
    pub(crate) tasks: Vec<usize>,
    /// Estimate per picture, and of a batch without pictures.
    pub(crate) sizes: Vec<Sizes>,
    pub(crate) fixed: Sizes,
    pub(crate) flights: usize,
    /// Device memory per flight.
    pub(crate) flight: u64,
    /// Pinned memory per flight for uploads.
    pub(crate) upload: u64,
    /// Pinned memory per flight for pixels to the host.
    pub(crate) landing: u64,
    /// Bytes of streams that are read ahead, and of streams and parsed pictures that a batch may keep.
    pub(crate) ahead: u64,
    /// Memory of parsing threads, in addition to the length of their streams.
    pub(crate) parsing: u64,
    /// Whether the first batches are smaller, so that the first kernels start soon after the first read.
    pub(crate) ramp: bool,
}

/// Resources for pictures.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Supplies {
    /// Desired device memory per flight.
    pub(crate) working: u64,
    /// Maximum upload of a batch of several pictures.
    pub(crate) up: u64,
    /// Whether the first batches may be smaller.
    pub(crate) ramp: bool,
    /// Free device memory.
    pub(crate) free: u64,
    /// Maximum host memory.
    pub(crate) host: u64,
    /// Host memory for all parsing threads, as in `Pictures`.
    pub(crate) parsing: u64,
}

/// Minimum bytes of streams that are read ahead.
const LEAST_AHEAD: u64 = 8 << 20;
/// Tolerance of the estimates of a few small pictures.
const ROUGHLY: u64 = 128 << 10;
/// Default upload of a batch: pinning takes ten times as long as copying.
pub(crate) const MOST_UP: u64 = 96 << 20;
/// Batches that take less memory than this do not repay their launches.
const SMALLEST: u64 = 32 << 20;

impl Pictures {
    /// Returns the plan with the most and largest flights that memory allows, or the smallest that hold any single
    /// picture.
    ///
    /// `sizes` are the estimates of the tasks, `fixed` that of a batch without pictures, and `streams` the bytes of all
    /// their streams; `place_len` as in `Sizes::parts`.
    pub(crate) fn new(
        (which, tasks): (Which, Vec<usize>),
        (fixed, sizes, streams): (Sizes, Vec<Sizes>, u64),
        place_len: impl Fn(u64) -> u64,
        supplies: Supplies,
    ) -> Self {
        let parts = |sizes: Sizes| fixed.plus(sizes).parts(&place_len);
        let all = sizes.iter().fold(Sizes::default(), |sum, &one| sum.plus(one));
        let alone = || sizes.iter().map(|&one| parts(one));
        let largest = alone().map(|parts| parts.end).max().unwrap_or(0);
        let most_up = alone().map(|parts| parts.decoded).max().unwrap_or(0);
        let most_down = sizes.iter().map(|one| one.pixels).max().unwrap_or(0);
        let most_held = sizes.iter().map(|one| one.held).max().unwrap_or(0);
        let whole = parts(all);
        let count = usize::try_from(whole.end / SMALLEST).unwrap_or(usize::MAX);
        let mut plan = Self {
            which,
            tasks,
            sizes: Vec::new(),
            fixed,
            flights: count.clamp(1, FLIGHTS),
            flight: 0,
            upload: 0,
            landing: 0,
            ahead: 0,
            parsing: supplies.parsing,
            ramp: false,
        };
        // No flight is larger than the upload of a batch can fill.
        let filled = scaled(whole.end, supplies.up, whole.decoded);
        let mut working = supplies.working.min(filled.max(largest));
        loop {
            // The unused end of a batch is smaller than the largest picture; so all pictures fit the flights at once if
            // possible.
            let share = whole.end.div_ceil(plan.flights as u64).saturating_add(largest);
            let most = whole.end.saturating_add(whole.end / 8);
            plan.flight = share.min(most).saturating_add(ROUGHLY).min(working).max(largest);
            let part = |of: u64| scaled(of, plan.flight, whole.end);
            let up = part(whole.decoded).saturating_mul(5).div_ceil(4).saturating_add(ROUGHLY);
            plan.upload = up.min(supplies.up).max(most_up).min(plan.flight);
            plan.landing = part(all.pixels).saturating_mul(5).div_ceil(4).max(most_down);
            plan.ahead = part(streams).saturating_mul(2).max(LEAST_AHEAD).max(most_held);
            plan.ramp = supplies.ramp && whole.end > plan.memory();
            if plan.memory() <= supplies.free && plan.host() <= supplies.host {
                break;
            }
            match plan.flights {
                3.. => plan.flights /= 2,
                2 if plan.flight <= largest => plan.flights = 1,
                _ if plan.flight > largest => working = working.min(plan.flight) / 2,
                _ => break,
            }
        }
        plan.sizes = sizes;
        plan
    }

    /// Returns the pictures in the form of requests.
    pub(crate) fn wanted(&self, job: &DecodeJob) -> Vec<Wanted> {
        let wanted = |&task: &usize| {
            let found = job.tasks().get(task)?;
            let layout = Arc::clone(job.layouts().get(found.layout as usize)?);
            let rows = found.placement.rows;
            Some(Wanted { task, source: found.source, span: found.span?, layout, rows })
        };
        self.tasks.iter().filter_map(wanted).collect()
    }

    /// Returns the number of batches if all pictures match their estimates; `place_len` as in `Sizes::parts`.
    pub(crate) fn batches(&self, place_len: impl Fn(u64) -> u64) -> usize {
        let (mut batches, mut making, mut count) = (0, self.fixed, 0usize);
        for &one in &self.sizes {
            let more = making.plus(one);
            if count > 0 && !self.fits(&more, &more.parts(&place_len), batches) {
                batches += 1;
                (making, count) = (self.fixed, 0);
            }
            making = making.plus(one);
            count += 1;
        }
        batches + usize::from(count > 0)
    }

    /// Returns the device memory of all flights.
    pub(crate) fn memory(&self) -> u64 {
        self.flight.saturating_mul(self.flights as u64)
    }

    /// Returns the host memory: uploads and pixels on their way to the host; streams that are read ahead, their parsed
    /// pictures, and as much again during parsing; streams and pictures of batches, which are kept until they are done.
    pub(crate) fn host(&self) -> u64 {
        let each = self.upload.saturating_add(self.landing).saturating_add(self.ahead);
        let before = self.ahead.saturating_mul(3).saturating_add(self.parsing);
        each.saturating_mul(self.flights as u64).saturating_add(before)
    }

    /// Returns whether a batch of these pictures fits a flight, or the part of one that batch `number` may take.
    pub(crate) fn fits(&self, sizes: &Sizes, parts: &Parts, number: usize) -> bool {
        let shift = if self.ramp { 2usize.saturating_sub(number) } else { 0 };
        parts.end <= self.flight >> shift
            && parts.decoded <= self.upload
            && sizes.pixels <= self.landing
            && sizes.held <= self.ahead
    }
}

/// Returns `of` scaled by `part` / `whole`.
fn scaled(of: u64, part: u64, whole: u64) -> u64 {
    let scaled = u128::from(of) * u128::from(part) / u128::from(whole.max(1));
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::picture::Need;

    const MIB: u64 = 1 << 20;

    fn planned(count: usize, supplies: Supplies) -> Pictures {
        let one = Sizes::of(Need { bytes: MIB / 4, tables: 1000, scratch: 6 * MIB }, MIB / 2, 0);
        let sizes = vec![one; count];
        let streams = count as u64 * MIB / 4;
        let of = (Sizes::default(), sizes, streams);
        Pictures::new((Which::Copied, (0..count).collect()), of, |pictures| pictures * 100, supplies)
    }

    const AMPLE: Supplies = Supplies {
        working: 1024 * MIB,
        up: MOST_UP,
        ramp: false,
        free: 64 << 30,
        host: 64 << 30,
        parsing: 0,
    };

    #[test]
    fn flights_are_as_large_as_their_pictures_and_the_memory() {
        let few = planned(3, AMPLE);
        assert_eq!(few.flights, 1);
        assert!((22 * MIB..24 * MIB).contains(&few.flight), "{few:?}");
        let some = planned(100, AMPLE);
        assert_eq!(some.flights, 4);
        assert!(some.memory() > 675 * MIB && some.memory() < 720 * MIB, "{some:?}");
        let many = planned(10_000, AMPLE);
        assert_eq!((many.flights, many.flight), (4, 1024 * MIB));
        assert!(many.upload < 52 * MIB && many.upload > 38 * MIB, "{many:?}");
        for limit in [3000, 1000, 100, 14] {
            let less = planned(10_000, Supplies { free: limit * MIB, ..AMPLE });
            assert!(less.memory() <= limit * MIB && less.memory() > limit * MIB / 4, "{limit}: {less:?}");
            let host = planned(10_000, Supplies { host: limit * MIB, ..AMPLE });
            assert!(host.host() <= limit.max(40) * MIB, "{limit}: {host:?}");
        }
        let parsing = planned(10_000, Supplies { parsing: 5 * MIB, ..AMPLE });
        assert_eq!(parsing.host(), many.host() + 5 * MIB);
        let least = planned(10_000, Supplies { free: 1, ..AMPLE });
        assert!(least.flights == 1 && least.flight < 8 * MIB && least.flight > 6 * MIB, "{least:?}");
    }

    #[test]
    fn the_first_batches_take_a_part_of_their_flight() {
        let plan = planned(10_000, Supplies { ramp: true, ..AMPLE });
        let sizes = Sizes { scratch: 300 * MIB, ..Sizes::default() };
        let parts = sizes.parts(|_| 0);
        assert_eq!([0, 1, 2, 9].map(|batch| plan.fits(&sizes, &parts, batch)), [false, true, true, true]);
        let held = |held| plan.fits(&Sizes { held, ..sizes }, &parts, 9);
        assert!(held(plan.ahead) && !held(plan.ahead + 1));
    }
}
