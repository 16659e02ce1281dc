//! Makes a piece of a raster of an array: its place, the order of its axes, and the owner of its memory.
//!
//! Samples are read in place, with any strides. A copy is made if the library has no strides for
//! them, and only in host memory: axes that run backwards, or that repeat samples.

#![expect(unsafe_code, reason = "memory of arrays is taken by address")]

use crate::array::View;
use crate::device;
use crate::error::refused;
use pyo3::prelude::*;
use std::sync::Arc;
use strile::device::DeviceBytes;
use strile::engine::{OutputSpec, Strides};
use strile::write::{Piece, PieceBytes};
use strile::{DataType, Location, Window};

/// Pixels of Python that are written.
pub(crate) struct Given {
    window: Window,
    pixels: Samples,
    mask: Option<Samples>,
}

/// An array and its shape as a raster.
struct Samples {
    view: View,
    spec: OutputSpec,
    /// Bytes from the first sample to the end of the last.
    len: usize,
}

impl Given {
    /// `row` and `column` are the place of the first pixel; `writer` is where the writer's engine is.
    pub(crate) fn new(
        array: &Bound<'_, PyAny>,
        (row, column): (u32, u32),
        axes: &str,
        mask: Option<&Bound<'_, PyAny>>,
        stream: Option<u64>,
        writer: Location,
    ) -> PyResult<Self> {
        let pixels = samples(array, axes, stream, writer)?;
        let (width, height) = (pixels.spec.columns, pixels.spec.rows);
        let mask = match mask {
            Some(mask) => Some(dense(mask, (height, width), stream, writer)?),
            None => None,
        };
        Ok(Self { window: Window::new(column, row, width, height), pixels, mask })
    }

    /// Returns the piece, which borrows from this.
    pub(crate) fn piece(&self) -> Piece<'_> {
        Piece {
            window: self.window,
            spec: self.pixels.spec.clone(),
            pixels: self.pixels.bytes(),
            mask: self.mask.as_ref().map(Samples::bytes),
        }
    }
}

impl Samples {
    fn bytes(&self) -> PieceBytes<'_> {
        let Self { view, len, .. } = self;
        match view.location {
            Location::Host => {
                let start = std::ptr::with_exposed_provenance::<u8>(view.address);
                // SAFETY: the array says that these bytes, of which there is one at least, are there, and `view` keeps
                // it; not to change them during the call is the caller's to see to, as of any array given away.
                PieceBytes::Host(unsafe { std::slice::from_raw_parts(start, *len) })
            }
            Location::Cuda(device) => {
                let keep = Arc::clone(&view.keep);
                // SAFETY: as above, on that device, and as long as the writer needs it; what was queued on it has been
                // waited for.
                let memory = unsafe { DeviceBytes::new(device, view.address as u64, *len as u64, keep) };
                PieceBytes::Device(memory)
            }
        }
    }
}

/// Returns an array with these axes, copied if necessary.
fn samples(
    object: &Bound<'_, PyAny>,
    axes: &str,
    stream: Option<u64>,
    writer: Location,
) -> PyResult<Samples> {
    let view = View::new(object, stream)?;
    let place = view.location;
    if place != Location::Host && place != writer {
        let (here, there) = (device::name(place), device::name(writer));
        return Err(refused(match writer {
            Location::Host => format!(
                "the array is on {here}, and the writer on the CPU: open it with device `{here}`, or give a copy in \
                 host memory"
            ),
            Location::Cuda(_) => {
                format!("the array is on {here}, and the writer on {there}: give a copy there")
            }
        }));
    }
    if let Some((spec, len)) = shape(&view, axes)? {
        return Ok(Samples { view, spec, len });
    }
    if place != Location::Host {
        return Err(refused(
            "an array on a device may neither run backwards nor repeat samples: give a copy",
        ));
    }
    let view = View::new(&contiguous(object)?, None)?;
    match shape(&view, axes)? {
        Some((spec, len)) => Ok(Samples { view, spec, len }),
        None => Err(refused("a copy of the array is not contiguous")),
    }
}

/// Returns a mask of this many rows and columns: a byte for each pixel, row after row.
fn dense(
    object: &Bound<'_, PyAny>,
    (rows, columns): (u32, u32),
    stream: Option<u64>,
    writer: Location,
) -> PyResult<Samples> {
    let mask = samples(object, "yx", stream, writer)?;
    let found = &mask.spec;
    if (found.data_type, found.rows, found.columns) != (DataType::U8, rows, columns) {
        return Err(refused(format!(
            "the mask is {} × {} of {}, expected {rows} × {columns} of uint8 or bool",
            found.rows, found.columns, found.data_type
        )));
    }
    let is_dense = mask.len as u64 == u64::from(rows) * u64::from(columns)
        && (columns == 1 || rows == 1 || found.strides.column < found.strides.row);
    match (is_dense, mask.view.location) {
        (true, _) => Ok(mask),
        (false, Location::Host) => samples(&contiguous(object)?, "yx", None, writer),
        (false, Location::Cuda(_)) => Err(refused("a mask on a device has to be contiguous: give a copy")),
    }
}

/// Returns the shape of an array with these axes, and its bytes; `None` if the library has no strides for it.
fn shape(view: &View, axes: &str) -> PyResult<Option<(OutputSpec, usize)>> {
    if !matches!(axes, "yx" | "byx" | "yxb") {
        return Err(refused(format!("axes `{axes}`: expected `yx`, `byx` or `yxb`")));
    }
    let (found, expected) = (view.shape.len(), axes.len());
    if found != expected {
        return Err(refused(format!("the array has {found} axes, expected {expected} (`{axes}`)")));
    }
    let mut spec = OutputSpec {
        data_type: view.data_type,
        bands: 1,
        rows: 1,
        columns: 1,
        strides: Strides { band: 0, row: 0, column: 0 },
    };
    for ((axis, &count), &stride) in axes.chars().zip(&view.shape).zip(&view.strides) {
        let size = u32::try_from(count).ok().filter(|size| *size > 0).ok_or_else(|| {
            refused(format!("the array has {count} samples along `{axis}`, expected 1 to {}", u32::MAX))
        })?;
        // Where there is one sample the distance to the next means nothing.
        let Ok(stride) = usize::try_from(if size == 1 { 0 } else { stride }) else { return Ok(None) };
        match axis {
            'b' => (spec.bands, spec.strides.band) = (size, stride),
            'y' => (spec.rows, spec.strides.row) = (size, stride),
            _ => (spec.columns, spec.strides.column) = (size, stride),
        }
    }
    Ok(spec.len().ok().map(|len| (spec, len)))
}

fn contiguous<'py>(array: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    array.py().import("numpy")?.getattr("ascontiguousarray")?.call1((array,))
}
