//! Pixels put together out of rectangles of others, in host memory.

use std::sync::Arc;
use strile_engine::memory::{try_copy, try_zeroed};
use strile_engine::{Arena, Assembly, EngineError, Given, Location, OutputSpec, Patch, Pixels};

/// Puts all of them together, one after the other.
pub(crate) fn assemble(wanted: &[Assembly<'_>]) -> Result<Vec<Pixels>, EngineError> {
    wanted.iter().map(one).collect()
}

fn one(wanted: &Assembly<'_>) -> Result<Pixels, EngineError> {
    let spec = &wanted.spec;
    let len = spec.len().map_err(|error| mismatch(error.to_string()))?;
    let mut bytes = try_zeroed(len, "pixels put together")?;
    for patch in &wanted.patches {
        put(patch, wanted.mask, &mut bytes, spec)?;
    }
    Pixels::new(spec.clone(), Arc::new(bytes)).map_err(|error| mismatch(error.to_string()))
}

/// Copies a patch into pixels of this shape, or makes a mask of it.
pub fn put(patch: &Patch<'_>, as_mask: bool, dst: &mut [u8], spec: &OutputSpec) -> Result<(), EngineError> {
    let from = patch.from.spec();
    let fits = as_mask || (from.data_type, from.bands) == (spec.data_type, spec.bands);
    let copied = source(&patch.from).filter(|_| fits).and_then(|source| match as_mask {
        true => mask(source, from, dst, spec, patch),
        false => copy(source, from, dst, spec, patch),
    });
    copied.ok_or_else(|| {
        let Patch { at, to, size, .. } = patch;
        mismatch(format!("{size:?} pixels at {at:?} of {from:?}, to {to:?}"))
    })
}

/// The bytes of pixels on the host; `None` of others, and of those that their memory is too short for.
fn source<'a>(given: &Given<'a>) -> Option<&'a [u8]> {
    let (bytes, spec) = match given {
        Given::Host { bytes, spec } => (*bytes, *spec),
        Given::There(pixels) if pixels.location() == Location::Host => (pixels.bytes(), pixels.spec()),
        Given::There(_) => return None,
    };
    bytes.get(..spec.len().ok()?)
}

/// The bytes that pixels span.
pub(crate) fn fetch(pixels: &Pixels) -> Result<Arena, EngineError> {
    let bytes = source(&Given::There(pixels));
    let bytes = bytes.ok_or_else(|| mismatch(format!("pixels in {}", pixels.location())))?;
    Ok(Arena::from_vec(try_copy(bytes, "a copy of pixels")?))
}

fn mismatch(found: String) -> EngineError {
    let expected = "rectangles of pixels on the host, of one type and as many bands".to_owned();
    EngineError::Mismatch { what: "pixels", found, expected }
}

/// Whether a rectangle lies in a shape.
fn inside(spec: &OutputSpec, (x, y): (u32, u32), (columns, rows): (u32, u32)) -> bool {
    let fits = |from: u32, n: u32, all: u32| from.checked_add(n).is_some_and(|end| end <= all);
    fits(x, columns, spec.columns) && fits(y, rows, spec.rows)
}

/// Makes ones and zeros of a rectangle of samples of one band; `None` where it leaves one of the two.
fn mask(src: &[u8], from: &OutputSpec, dst: &mut [u8], to: &OutputSpec, patch: &Patch<'_>) -> Option<()> {
    let whole = inside(from, patch.at, patch.size) && inside(to, patch.to, patch.size);
    if !whole || from.bands != 1 || to.bands != 1 || to.data_type.size() != 1 {
        return None;
    }
    let (size, columns) = (from.data_type.size(), patch.size.0 as usize);
    for row in 0..patch.size.1 {
        let src = src.get(start(from, 0, patch.at, row)..)?;
        let dst = dst.get_mut(start(to, 0, patch.to, row)..)?;
        let samples = src.chunks(from.strides.column.max(1)).zip(dst.chunks_mut(to.strides.column.max(1)));
        for (sample, out) in samples.take(columns) {
            *out.first_mut()? = u8::from(sample.iter().take(size).any(|&byte| byte != 0));
        }
    }
    Some(())
}

/// Where a row of a rectangle begins.
fn start(spec: &OutputSpec, band: usize, (x, y): (u32, u32), row: u32) -> usize {
    let strides = &spec.strides;
    band * strides.band + (y as usize + row as usize) * strides.row + x as usize * strides.column
}

/// Copies all bands of a rectangle between two shapes of the same type; `None` where it leaves one of them.
fn copy(src: &[u8], from: &OutputSpec, dst: &mut [u8], to: &OutputSpec, patch: &Patch<'_>) -> Option<()> {
    if !inside(from, patch.at, patch.size) || !inside(to, patch.to, patch.size) {
        return None;
    }
    let size = from.data_type.size();
    let columns = patch.size.0 as usize;
    let bands = from.bands as usize;
    let interleaved = |spec: &OutputSpec| spec.strides.band == size && spec.strides.column == size * bands;
    let (whole_pixels, passes) = match interleaved(from) && interleaved(to) {
        true => (size * bands, 1),
        false => (size, bands),
    };
    for band in 0..passes {
        for row in 0..patch.size.1 {
            let src = src.get(start(from, band, patch.at, row)..)?;
            let dst = dst.get_mut(start(to, band, patch.to, row)..)?;
            let (ss, ds) = (from.strides.column, to.strides.column);
            if ss == whole_pixels && ds == whole_pixels {
                let len = columns * whole_pixels;
                dst.get_mut(..len)?.copy_from_slice(src.get(..len)?);
                continue;
            }
            match size {
                1 => spread::<1>(src, ss, dst, ds, columns),
                2 => spread::<2>(src, ss, dst, ds, columns),
                4 => spread::<4>(src, ss, dst, ds, columns),
                8 => spread::<8>(src, ss, dst, ds, columns),
                _ => spread::<16>(src, ss, dst, ds, columns),
            }?;
        }
    }
    Some(())
}

fn spread<const N: usize>(src: &[u8], from: usize, dst: &mut [u8], to: usize, count: usize) -> Option<()> {
    let last = count.checked_sub(1)?;
    let (src, dst) = (src.get(..last * from + N)?, dst.get_mut(..last * to + N)?);
    // One column may have any stride, 0 too.
    for (src, dst) in src.chunks(from.max(N)).zip(dst.chunks_mut(to.max(N))) {
        *dst.first_chunk_mut::<N>()? = *src.first_chunk::<N>()?;
    }
    Some(())
}
