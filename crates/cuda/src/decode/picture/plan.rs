//! What the pictures of a job take, from what their decoder expects of them: how many flights, and how large.

use super::sizes::{Parts, Sizes};
use super::{Wanted, Which};
use crate::decode::plan::FLIGHTS;
use std::sync::Arc;
use strile_engine::DecodeJob;

/// Pictures of one decoder.
#[derive(Debug, Clone)]
pub(crate) struct Pictures {
    pub(crate) which: Which,
    /// Their tasks in the job, in order.
    pub(crate) tasks: Vec<usize>,
    /// What is expected of each of them, and of a batch beside them.
    pub(crate) sizes: Vec<Sizes>,
    pub(crate) fixed: Sizes,
    pub(crate) flights: usize,
    /// Device memory of each flight.
    pub(crate) flight: u64,
    /// Pinned memory of each flight for what goes up.
    pub(crate) upload: u64,
    /// And for pixels that come down.
    pub(crate) landing: u64,
    /// Bytes of streams that are read ahead, and of streams and what was made of them that a batch may keep.
    pub(crate) ahead: u64,
    /// What threads take that parse, besides as much as their streams have.
    pub(crate) parsing: u64,
    /// Whether the first batches are smaller, so that the first kernels start soon after the first read.
    pub(crate) ramp: bool,
}

/// What there is for them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Supplies {
    /// Device memory of one flight, wished for.
    pub(crate) working: u64,
    /// What a batch of several pictures may send up.
    pub(crate) up: u64,
    /// Whether it may start with less.
    pub(crate) ramp: bool,
    /// Free device memory.
    pub(crate) free: u64,
    /// Host memory that may be taken at most.
    pub(crate) host: u64,
    /// Host memory for all threads that parse, as in `Pictures`.
    pub(crate) parsing: u64,
}

/// Bytes of streams that are read ahead at least.
const LEAST_AHEAD: u64 = 8 << 20;
/// What may be amiss with what is expected of a few small pictures.
const ROUGHLY: u64 = 128 << 10;
/// What a batch sends up unless told otherwise: pinning takes ten times as long as copying.
pub(crate) const MOST_UP: u64 = 96 << 20;
/// A batch that takes less than this does not make another one worth its launches.
const SMALLEST: u64 = 32 << 20;

impl Pictures {
    /// The most and largest flights that there is memory for, or the smallest that hold any one of the pictures.
    ///
    /// `sizes` are what is expected of the tasks, beside `fixed`, and `streams` the bytes of all their streams; `place_len`
    /// as in `Sizes::parts`.
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
        // A flight that the upload of no batch fills is not taken.
        let filled = scaled(whole.end, supplies.up, whole.decoded);
        let mut working = supplies.working.min(filled.max(largest));
        loop {
            // What is cut off at the end of a batch is less than the largest; so all fit the flights once where they can.
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

    /// The pictures as they are asked for.
    pub(crate) fn wanted(&self, job: &DecodeJob) -> Vec<Wanted> {
        let wanted = |&task: &usize| {
            let found = job.tasks().get(task)?;
            let layout = Arc::clone(job.layouts().get(found.layout as usize)?);
            let rows = found.placement.rows;
            Some(Wanted { task, source: found.source, span: found.span?, layout, rows })
        };
        self.tasks.iter().filter_map(wanted).collect()
    }

    /// How many batches there are if all pictures are as expected; `place_len` as in `Sizes::parts`.
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

    /// Device memory of all flights.
    pub(crate) fn memory(&self) -> u64 {
        self.flight.saturating_mul(self.flights as u64)
    }

    /// Host memory: what goes up and what comes down; streams that are read ahead, what was made of them, and as much
    /// again while they are parsed; streams and pictures of batches, which are kept until they are done.
    pub(crate) fn host(&self) -> u64 {
        let each = self.upload.saturating_add(self.landing).saturating_add(self.ahead);
        let before = self.ahead.saturating_mul(3).saturating_add(self.parsing);
        each.saturating_mul(self.flights as u64).saturating_add(before)
    }

    /// Whether a batch of these pictures fits a flight, or the part of one that batch `number` may take.
    pub(crate) fn fits(&self, sizes: &Sizes, parts: &Parts, number: usize) -> bool {
        let shift = if self.ramp { 2usize.saturating_sub(number) } else { 0 };
        parts.end <= self.flight >> shift
            && parts.decoded <= self.upload
            && sizes.pixels <= self.landing
            && sizes.held <= self.ahead
    }
}

/// `of` where `whole` becomes `part`.
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
