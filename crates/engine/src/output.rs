//! Destination of decoded pixels: memory with a shape, a type and strides, owned or lent by the caller.
//!
//! Several jobs may write into one output at once, from many threads. This is sound because every job *claims* the box
//! it will write (`Output::claim`), overlapping claims are refused, and the blocks inside a job are disjoint
//! (`DecodeJob::new` checks it).
//!
//! A claim can be passed on as separate outputs (`Claim::delegate`). They all lie in the same memory, so they share one
//! list of claims, which belongs to the original claim: a box claimed through one of them is refused through the
//! others. A job that writes to several of them at once claims their boxes together (`claim_together`), after its tasks
//! were checked against each other across these outputs.

#![expect(unsafe_code, reason = "shared output memory, written in disjoint windows by many threads")]

use crate::memory::{NoMemory, try_zeroed};
use crate::{Convert, DeviceBytes, Location, Sought};
use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};
use strile_tiff::DataType;
use thiserror::Error;

/// Distances in bytes between neighbouring bands, rows and columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Strides {
    /// Distance between bands.
    pub band: usize,
    /// Distance between rows.
    pub row: usize,
    /// Distance between columns.
    pub column: usize,
}

/// The shape of an output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputSpec {
    /// Sample type.
    pub data_type: DataType,
    /// Number of bands.
    pub bands: u32,
    /// Number of rows.
    pub rows: u32,
    /// Number of columns.
    pub columns: u32,
    /// Distances in bytes.
    pub strides: Strides,
}

/// Reason why memory cannot serve as an output.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum OutputError {
    /// The shape needs more bytes than there are.
    #[error("the output needs {need} bytes, the memory given has {have}")]
    TooSmall {
        /// Bytes needed.
        need: u64,
        /// Bytes available.
        have: u64,
    },
    /// The shape exceeds the address space.
    #[error("an output of {bands} × {rows} × {columns} samples is larger than memory can address")]
    TooLarge {
        /// Bands.
        bands: u32,
        /// Rows.
        rows: u32,
        /// Columns.
        columns: u32,
    },
    /// Strides that let two samples share bytes.
    #[error("the strides of the output let two samples share bytes")]
    Overlapping,
    /// The system has no memory for the output.
    #[error(transparent)]
    NoMemory(#[from] NoMemory),
    /// The output's type does not support conversions.
    #[error("an output of {data_type} cannot convert: only float16, float32 and float64 ones do")]
    NotConverting {
        /// Type of the output.
        data_type: DataType,
    },
    /// The output is already shared, so its conversion or its value to look for cannot be set.
    #[error(
        "cannot set what an output does with samples: it is in use; set it before the first claim and before sharing"
    )]
    InUse,
}

impl OutputSpec {
    /// Returns a contiguous shape, band by band.
    pub fn band_first(data_type: DataType, bands: u32, rows: u32, columns: u32) -> Result<Self, OutputError> {
        let too_large = OutputError::TooLarge { bands, rows, columns };
        let column = data_type.size();
        let row = checked_product(&[column, columns as usize]).ok_or(too_large.clone())?;
        let band = checked_product(&[row, rows as usize]).ok_or(too_large)?;
        let spec = Self { data_type, bands, rows, columns, strides: Strides { band, row, column } };
        spec.len().map(|_| spec)
    }

    /// Returns a contiguous shape, pixel by pixel.
    pub fn band_last(data_type: DataType, bands: u32, rows: u32, columns: u32) -> Result<Self, OutputError> {
        let too_large = OutputError::TooLarge { bands, rows, columns };
        let band = data_type.size();
        let column = checked_product(&[band, bands as usize]).ok_or(too_large.clone())?;
        let row = checked_product(&[column, columns as usize]).ok_or(too_large)?;
        let spec = Self { data_type, bands, rows, columns, strides: Strides { band, row, column } };
        spec.len().map(|_| spec)
    }

    /// Returns the bytes from the first sample to the end of the last, after checking that samples do not share bytes.
    #[expect(clippy::len_without_is_empty, reason = "an output of no bytes is one of no pixels; nobody asks")]
    pub fn len(&self) -> Result<usize, OutputError> {
        let too_large = OutputError::TooLarge { bands: self.bands, rows: self.rows, columns: self.columns };
        let axes = [
            (self.strides.band, self.bands as usize),
            (self.strides.row, self.rows as usize),
            (self.strides.column, self.columns as usize),
        ];
        if axes.iter().any(|&(_, n)| n == 0) {
            return Ok(0);
        }
        let mut sorted = axes;
        sorted.sort_by_key(|&(stride, _)| stride);
        let mut extent = self.data_type.size();
        for (stride, n) in sorted {
            if n > 1 && stride < extent {
                return Err(OutputError::Overlapping);
            }
            extent =
                stride.checked_mul(n - 1).and_then(|s| s.checked_add(extent)).ok_or(too_large.clone())?;
        }
        isize::try_from(extent).map_err(|_| too_large)?;
        Ok(extent)
    }
}

fn checked_product(factors: &[usize]) -> Option<usize> {
    factors.iter().try_fold(1usize, |product, &factor| product.checked_mul(factor))
}

/// A box of an output: half-open ranges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutputBox {
    /// First band and the one after the last.
    pub bands: (u32, u32),
    /// First row and the one after the last.
    pub rows: (u32, u32),
    /// First column and the one after the last.
    pub columns: (u32, u32),
}

impl OutputBox {
    /// Returns whether the two share a sample.
    pub fn overlaps(&self, other: &Self) -> bool {
        let meet = |a: (u32, u32), b: (u32, u32)| a.0 < b.1 && b.0 < a.1;
        meet(self.bands, other.bands) && meet(self.rows, other.rows) && meet(self.columns, other.columns)
    }

    /// Returns whether `other` lies in this box.
    pub fn contains(&self, other: &Self) -> bool {
        let within = |a: (u32, u32), b: (u32, u32)| a.0 <= b.0 && b.1 <= a.1;
        within(self.bands, other.bands)
            && within(self.rows, other.rows)
            && within(self.columns, other.columns)
    }

    /// Returns the bounding box of both.
    pub fn union(&self, other: &Self) -> Self {
        let join = |a: (u32, u32), b: (u32, u32)| (a.0.min(b.0), a.1.max(b.1));
        Self {
            bands: join(self.bands, other.bands),
            rows: join(self.rows, other.rows),
            columns: join(self.columns, other.columns),
        }
    }
}

/// Pixels being written. Clones share the memory.
#[derive(Clone)]
pub struct Output {
    shared: Arc<Shared>,
}

/// Claimed boxes of one piece of memory. Outputs that may write the same samples share one list.
type Claims = Arc<Mutex<Vec<OutputBox>>>;

struct Shared {
    spec: OutputSpec,
    start: *mut u8,
    len: usize,
    owner: Owner,
    claims: Claims,
    /// The claim that lent this memory, held as long as this lives; only its box may be claimed.
    lender: Option<Arc<Claim>>,
    /// Conversion of samples on output.
    convert: Option<Convert>,
    /// Value to look for in samples.
    sought: Option<Sought>,
}

enum Owner {
    Vec(Vec<u8>),
    Caller {
        _keep: Box<dyn Any + Send + Sync>,
    },
    Device(DeviceBytes),
    /// The output that the lender's claim belongs to.
    Lender,
}

// SAFETY: the memory behind `start` is owned by `owner` (or by the lender's output, which the lender keeps alive) and
// written only through `Claim::row`. Boxes are disjoint between claims of one list and lie in the box of the claim that
// the list belongs to; callers write disjoint rows within one claim, and within claims taken together.
unsafe impl Send for Shared {}
// SAFETY: as above; nothing reads the memory while a claim is held.
unsafe impl Sync for Shared {}

impl Output {
    /// Returns an output in memory of its own, zeroed by the system as pages are touched.
    pub fn new(spec: OutputSpec) -> Result<Self, OutputError> {
        let len = spec.len()?;
        let mut memory = try_zeroed(len, "decoded pixels")?;
        prefer_huge_pages(&mut memory);
        Self::from_vec(spec, memory)
    }

    /// Returns an output in `memory`, which `into_vec` returns.
    pub fn from_vec(spec: OutputSpec, mut memory: Vec<u8>) -> Result<Self, OutputError> {
        let need = spec.len()?;
        if need > memory.len() {
            return Err(OutputError::TooSmall { need: need as u64, have: memory.len() as u64 });
        }
        let (start, len) = (memory.as_mut_ptr(), memory.len());
        Ok(Self {
            shared: Arc::new(Shared {
                spec,
                start,
                len,
                owner: Owner::Vec(memory),
                claims: Claims::default(),
                lender: None,
                convert: None,
                sought: None,
            }),
        })
    }

    /// Returns an output in the caller's memory (a numpy array, a tensor), kept alive by `keep`.
    ///
    /// # Safety
    /// `start` must be valid for writes of `len` bytes for as long as `keep` lives, and nothing else may access that
    /// memory until every ticket that writes to this output has been waited for.
    pub unsafe fn borrowed(
        spec: OutputSpec,
        start: *mut u8,
        len: usize,
        keep: Box<dyn Any + Send + Sync>,
    ) -> Result<Self, OutputError> {
        let need = spec.len()?;
        if need > len {
            return Err(OutputError::TooSmall { need: need as u64, have: len as u64 });
        }
        let owner = Owner::Caller { _keep: keep };
        let claims = Claims::default();
        let (lender, convert, sought) = (None, None, None);
        Ok(Self { shared: Arc::new(Shared { spec, start, len, owner, claims, lender, convert, sought }) })
    }

    /// Returns the output with a conversion for everything written to it. Blocks of any real type may then be written;
    /// with a nodata value, all blocks of a job must have one type.
    pub fn converting(mut self, convert: Convert) -> Result<Self, OutputError> {
        let data_type = self.spec().data_type;
        if !Convert::gives(data_type) {
            return Err(OutputError::NotConverting { data_type });
        }
        Arc::get_mut(&mut self.shared).ok_or(OutputError::InUse)?.convert = Some(convert);
        Ok(self)
    }

    /// Returns the output with a value to look for in samples as they are written, after conversion.
    /// [`Report::found`](crate::Report::found) says whether it was written.
    pub fn looking_for(mut self, sought: Sought) -> Result<Self, OutputError> {
        Arc::get_mut(&mut self.shared).ok_or(OutputError::InUse)?.sought = Some(sought);
        Ok(self)
    }

    /// Returns the value to look for, if any.
    pub fn sought(&self) -> Option<&Sought> {
        self.shared.sought.as_ref()
    }

    /// Returns the conversion of written samples; `None` if they are written unchanged.
    pub fn convert(&self) -> Option<&Convert> {
        self.shared.convert.as_ref()
    }

    /// Returns the shape.
    pub fn spec(&self) -> &OutputSpec {
        &self.shared.spec
    }

    /// Returns the memory once no clone, claim or running job holds it; `None` before, or if the memory is the
    /// caller's.
    pub fn into_vec(self) -> Option<Vec<u8>> {
        match Arc::into_inner(self.shared)?.owner {
            Owner::Vec(memory) => Some(memory),
            Owner::Caller { .. } | Owner::Device(_) | Owner::Lender => None,
        }
    }

    /// Returns an output in the memory of a device, usable only by that device's engine.
    pub fn on_device(spec: OutputSpec, memory: DeviceBytes) -> Result<Self, OutputError> {
        let need = spec.len()? as u64;
        if memory.len() < need {
            return Err(OutputError::TooSmall { need, have: memory.len() });
        }
        let shared = Shared {
            spec,
            start: std::ptr::null_mut(),
            len: 0,
            owner: Owner::Device(memory),
            claims: Claims::default(),
            lender: None,
            convert: None,
            sought: None,
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Returns the location of its memory.
    pub fn location(&self) -> Location {
        self.device_bytes().map_or(Location::Host, |memory| Location::Cuda(memory.device()))
    }

    /// Returns its memory if that is a device's.
    pub fn device_bytes(&self) -> Option<&DeviceBytes> {
        match &self.shared.owner {
            Owner::Device(memory) => Some(memory),
            Owner::Vec(_) | Owner::Caller { .. } | Owner::Lender => None,
        }
    }

    /// Reserves a box for writing until the claim is dropped; `None` if it leaves the output or overlaps a reserved
    /// box.
    pub fn claim(&self, wanted: OutputBox) -> Option<Claim> {
        let held = self.has(&wanted).then(|| self.hold(wanted))??;
        Some(Claim { output: self.clone(), claimed: wanted, held: Arc::new(held) })
    }

    /// Reserves boxes of outputs that share their claims, all or none, for one job. Boxes of different outputs may
    /// overlap: the caller has checked that the samples written there do not (`DecodeJob::check_together`).
    pub(crate) fn claim_together(outputs: &[(&Self, OutputBox)]) -> Option<Vec<Claim>> {
        let (first, rest) = outputs.split_first()?;
        let together = |(output, wanted): &(&Self, OutputBox)| {
            Arc::ptr_eq(&output.shared.claims, &first.0.shared.claims) && output.has(wanted)
        };
        if !outputs.iter().all(together) {
            return None;
        }
        let around = rest.iter().fold(first.1, |around, (_, wanted)| around.union(wanted));
        let held = Arc::new(first.0.hold(around)?);
        let claim = |&(output, claimed): &(&Self, OutputBox)| Claim {
            output: output.clone(),
            claimed,
            held: Arc::clone(&held),
        };
        Some(outputs.iter().map(claim).collect())
    }

    /// Returns a number that is equal for outputs that share their claims.
    pub(crate) fn domain(&self) -> usize {
        Arc::as_ptr(&self.shared.claims).addr()
    }

    /// Returns whether a box lies in the output, or in the lent part of it.
    fn has(&self, wanted: &OutputBox) -> bool {
        let spec = self.spec();
        let inside = |range: (u32, u32), n: u32| range.0 <= range.1 && range.1 <= n;
        inside(wanted.bands, spec.bands)
            && inside(wanted.rows, spec.rows)
            && inside(wanted.columns, spec.columns)
            && self.shared.lender.as_ref().is_none_or(|lender| lender.claimed.contains(wanted))
    }

    /// Reserves a box if it is free.
    fn hold(&self, wanted: OutputBox) -> Option<Held> {
        let of = &self.shared.claims;
        let mut claims = of.lock().unwrap_or_else(PoisonError::into_inner);
        if claims.iter().any(|held| held.overlaps(&wanted)) {
            return None;
        }
        claims.push(wanted);
        Some(Held { of: Arc::clone(of), claimed: wanted, lent: Claims::default() })
    }
}

/// Smaller buffers do not repay the system call.
#[cfg(target_os = "linux")]
const WORTH_HUGE_PAGES: usize = 4 << 20;

/// Requests 2 MiB pages for untouched memory: a page fault per 4 KiB costs a tenth of the time of a fast read. If the
/// system refuses, nothing changes.
#[cfg(target_os = "linux")]
fn prefer_huge_pages(memory: &mut [u8]) {
    const PAGE: usize = 4096;
    if memory.len() < WORTH_HUGE_PAGES {
        return;
    }
    let skip = memory.as_ptr().align_offset(PAGE);
    let Some(pages) = memory.get_mut(skip..).filter(|rest| rest.len() >= PAGE) else { return };
    let len = pages.len() / PAGE * PAGE;
    // SAFETY: the range lies in `memory` and begins at a page; the advice changes how pages are backed, not their
    // contents.
    let _advice = unsafe { libc::madvise(pages.as_mut_ptr().cast(), len, libc::MADV_HUGEPAGE) };
}

#[cfg(not(target_os = "linux"))]
fn prefer_huge_pages(_memory: &mut [u8]) {}

/// A box that stays reserved as long as this lives.
struct Held {
    of: Claims,
    claimed: OutputBox,
    /// Claims of delegates.
    lent: Claims,
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut claims = self.of.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = claims.iter().position(|held| *held == self.claimed) {
            claims.swap_remove(at);
        }
    }
}

/// The right to write one box of an output.
pub struct Claim {
    output: Output,
    claimed: OutputBox,
    /// The box itself, or the bounding box of everything that a job claimed of this memory.
    held: Arc<Held>,
}

impl Claim {
    /// Returns the shape of the whole output.
    pub fn spec(&self) -> &OutputSpec {
        self.output.spec()
    }

    /// Returns the whole output.
    pub fn output(&self) -> &Output {
        &self.output
    }

    /// Returns the claimed box as a separate output, for an engine that does a part of this one's work. Boxes outside
    /// it, and boxes claimed through another delegate of this claim, are refused; the claim is held while the delegate
    /// lives. It converts like the whole output and looks for the same value.
    pub fn delegate(self: &Arc<Self>) -> Output {
        self.part(self.output.convert().copied(), self.output.sought().copied())
    }

    /// Like `delegate`, but with the conversion `convert` and without a value to look for.
    pub fn delegate_converting(self: &Arc<Self>, convert: Convert) -> Result<Output, OutputError> {
        let data_type = self.spec().data_type;
        let gives = Convert::gives(data_type);
        gives.then(|| self.part(Some(convert), None)).ok_or(OutputError::NotConverting { data_type })
    }

    /// Like `delegate`, for samples that were already converted and searched: writes them unchanged.
    pub fn delegate_converted(self: &Arc<Self>) -> Output {
        self.part(None, None)
    }

    fn part(self: &Arc<Self>, convert: Option<Convert>, sought: Option<Sought>) -> Output {
        let whole = &self.output.shared;
        let shared = Shared {
            spec: whole.spec.clone(),
            start: whole.start,
            len: whole.len,
            owner: match &whole.owner {
                Owner::Device(memory) => Owner::Device(memory.clone()),
                Owner::Vec(_) | Owner::Caller { .. } | Owner::Lender => Owner::Lender,
            },
            claims: Arc::clone(&self.held.lent),
            lender: Some(Arc::clone(self)),
            convert,
            sought,
        };
        Output { shared: Arc::new(shared) }
    }

    /// Returns the bytes of samples `columns` (half-open) of a row; `None` if they leave the claimed box, or if the
    /// memory is a device's.
    ///
    /// With a column stride larger than a sample the slice also spans the samples of other bands in between.
    ///
    /// # Safety
    /// While the slice lives no other slice that shares a *sample that is written* may be written: callers give each
    /// block its own disjoint part of the box, and write only the samples of that part.
    pub unsafe fn row(&self, band: u32, row: u32, columns: (u32, u32)) -> Option<OutputRow> {
        let spec = self.spec();
        let within = |v: u32, range: (u32, u32)| range.0 <= v && v < range.1;
        let inside = within(band, self.claimed.bands)
            && within(row, self.claimed.rows)
            && columns.0 < columns.1
            && self.claimed.columns.0 <= columns.0
            && columns.1 <= self.claimed.columns.1;
        if !inside {
            return None;
        }
        if self.output.location() != Location::Host {
            return None;
        }
        let Strides { band: sb, row: sr, column: sc } = spec.strides;
        let offset = band as usize * sb + row as usize * sr + columns.0 as usize * sc;
        let len = (columns.1 - columns.0 - 1) as usize * sc + spec.data_type.size();
        if offset.checked_add(len)? > self.output.shared.len {
            return None;
        }
        // SAFETY: `offset` and `len` lie inside the memory, checked above.
        let start = unsafe { self.output.shared.start.add(offset) };
        Some(OutputRow { start, len, stride: sc })
    }
}

/// A row of one band inside a claim: `len` bytes from `start`, a sample every `stride` bytes.
pub struct OutputRow {
    /// First byte of the first sample.
    pub start: *mut u8,
    /// Bytes to the end of the last sample.
    pub len: usize,
    /// Bytes from sample to sample.
    pub stride: usize,
}

#[cfg(test)]
mod tests;
