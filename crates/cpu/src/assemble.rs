//! Assembles pixels from rectangles of others in host memory, on idle threads.

use crate::crew::Crew;
use std::sync::Arc;
use strile_engine::memory::{try_copy, try_with_capacity, try_zeroed};
use strile_engine::{
    Arena, Assembly, Context, EngineError, Given, Location, OutputSpec, Patch, SharedPixels,
};

/// Purpose of the memory, for errors.
const PURPOSE: &str = "pixels put together";

/// Bytes per additional thread.
const SHARE: u64 = 2 << 20;

/// Assembles all of `wanted`.
pub(crate) fn assemble(wanted: &[Assembly<'_>], context: &Context) -> Result<Vec<SharedPixels>, EngineError> {
    let bytes: u64 = wanted.iter().map(|wanted| wanted.spec.len().map_or(0, |len| len as u64)).sum();
    let shares = usize::try_from(bytes / SHARE).unwrap_or(usize::MAX).min(context.threads.get());
    let crew = Crew::new(shares.min(wanted.len()).saturating_sub(1));
    let mut made: Vec<Option<Result<SharedPixels, EngineError>>> = wanted.iter().map(|_| None).collect();
    crew.share(wanted.iter().zip(&mut made), || (), |(), (wanted, made)| *made = Some(one(wanted)));
    made.into_iter().map(|made| made.unwrap_or(Err(EngineError::Abandoned))).collect()
}

fn one(wanted: &Assembly<'_>) -> Result<SharedPixels, EngineError> {
    let spec = &wanted.spec;
    let len = spec.len().map_err(|error| mismatch(error.to_string()))?;
    let bytes = match &wanted.patches[..] {
        [patch] if !wanted.mask && is_whole(patch, spec) => rows_of(patch, spec, len)?,
        patches => {
            let mut bytes = try_zeroed(len, PURPOSE)?;
            for patch in patches {
                put(patch, wanted.mask, &mut bytes, spec)?;
            }
            bytes
        }
    };
    SharedPixels::new(spec.clone(), Arc::new(bytes)).map_err(|error| mismatch(error.to_string()))
}

/// Returns whether one patch covers contiguous output pixels completely, with rows in the same layout.
fn is_whole(patch: &Patch<'_>, spec: &OutputSpec) -> bool {
    let from = patch.from.spec();
    let same_kind = (from.data_type, from.bands) == (spec.data_type, spec.bands);
    let all = patch.to == (0, 0) && patch.size == (spec.columns, spec.rows);
    let made = match is_interleaved(spec) {
        true => OutputSpec::band_last,
        false => OutputSpec::band_first,
    };
    let contiguous = made(spec.data_type, spec.bands, spec.rows, spec.columns).is_ok_and(|made| {
        let (made, own) = (made.strides, spec.strides);
        (made.row, made.column) == (own.row, own.column) && (spec.bands == 1 || made.band == own.band)
    });
    let rows_alike = match is_interleaved(spec) {
        true => is_interleaved(from),
        false => from.strides.column == from.data_type.size(),
    };
    same_kind && all && contiguous && rows_alike
}

/// Returns whether the samples of a pixel, and the pixels of a row, are adjacent.
fn is_interleaved(spec: &OutputSpec) -> bool {
    let size = spec.data_type.size();
    (spec.bands == 1 || spec.strides.band == size)
        && spec.strides.column == size.saturating_mul(spec.bands as usize)
}

/// Copies the rows of a whole patch into new memory, writing each byte once.
fn rows_of(patch: &Patch<'_>, spec: &OutputSpec, len: usize) -> Result<Vec<u8>, EngineError> {
    let from = patch.from.spec();
    let mut bytes = try_with_capacity(len, PURPOSE)?;
    let (bands, samples) = if is_interleaved(spec) { (1, spec.bands as usize) } else { (spec.bands, 1) };
    let row_len = spec.columns as usize * samples * spec.data_type.size();
    let rows = (0..bands as usize).flat_map(|band| (0..spec.rows).map(move |row| (band, row)));
    let copied = source(&patch.from).filter(|_| inside(from, patch.at, patch.size)).and_then(|source| {
        for (band, row) in rows {
            let start = start(from, band, patch.at, row);
            bytes.extend_from_slice(source.get(start..start.checked_add(row_len)?)?);
        }
        Some(())
    });
    copied.map(|()| bytes).ok_or_else(|| outside(patch))
}

/// Copies a patch into pixels of shape `spec`, or makes a mask of it.
pub fn put(patch: &Patch<'_>, as_mask: bool, dst: &mut [u8], spec: &OutputSpec) -> Result<(), EngineError> {
    let from = patch.from.spec();
    let fits = as_mask || (from.data_type, from.bands) == (spec.data_type, spec.bands);
    let copied = source(&patch.from).filter(|_| fits).and_then(|source| match as_mask {
        true => mask(source, from, dst, spec, patch),
        false => copy(source, from, dst, spec, patch),
    });
    copied.ok_or_else(|| outside(patch))
}

fn outside(patch: &Patch<'_>) -> EngineError {
    let Patch { at, to, size, from } = patch;
    mismatch(format!("{size:?} pixels at {at:?} of {:?}, to {to:?}", from.spec()))
}

/// Returns the bytes of host pixels; `None` for other pixels and if the memory is too short.
fn source<'a>(given: &Given<'a>) -> Option<&'a [u8]> {
    let (bytes, spec) = match given {
        Given::Host { bytes, spec } => (*bytes, *spec),
        Given::There(pixels) if pixels.location() == Location::Host => (pixels.bytes(), pixels.spec()),
        Given::There(_) => return None,
    };
    bytes.get(..spec.len().ok()?)
}

/// Returns a copy of the bytes that pixels span.
pub(crate) fn fetch(pixels: &SharedPixels) -> Result<Arena, EngineError> {
    let bytes = source(&Given::There(pixels));
    let bytes = bytes.ok_or_else(|| mismatch(format!("pixels in {}", pixels.location())))?;
    Ok(Arena::from_vec(try_copy(bytes, "a copy of pixels")?))
}

fn mismatch(found: String) -> EngineError {
    let expected = "rectangles of pixels on the host, of one type and as many bands".to_owned();
    EngineError::Mismatch { what: "pixels", found, expected }
}

/// Returns whether a rectangle lies inside a shape.
fn inside(spec: &OutputSpec, (x, y): (u32, u32), (columns, rows): (u32, u32)) -> bool {
    let fits = |from: u32, n: u32, all: u32| from.checked_add(n).is_some_and(|end| end <= all);
    fits(x, columns, spec.columns) && fits(y, rows, spec.rows)
}

/// Converts a rectangle of samples of one band to zeros and ones; `None` if it exceeds the source or the destination.
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

/// Returns the offset of the first byte of a row of a rectangle.
fn start(spec: &OutputSpec, band: usize, (x, y): (u32, u32), row: u32) -> usize {
    let strides = &spec.strides;
    band * strides.band + (y as usize + row as usize) * strides.row + x as usize * strides.column
}

/// Copies all bands of a rectangle between shapes of the same type; `None` if it exceeds either shape.
fn copy(src: &[u8], from: &OutputSpec, dst: &mut [u8], to: &OutputSpec, patch: &Patch<'_>) -> Option<()> {
    if !inside(from, patch.at, patch.size) || !inside(to, patch.to, patch.size) {
        return None;
    }
    let size = from.data_type.size();
    let columns = patch.size.0 as usize;
    let bands = from.bands as usize;
    let (whole_pixels, passes) = match is_interleaved(from) && is_interleaved(to) {
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
    // One column may have any stride, including 0.
    for (src, dst) in src.chunks(from.max(N)).zip(dst.chunks_mut(to.max(N))) {
        *dst.first_chunk_mut::<N>()? = *src.first_chunk::<N>()?;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::num::NonZeroUsize;
    use strile_tiff::DataType;

    /// Returns numbered samples of an array with these strides.
    fn numbered(spec: &OutputSpec) -> Vec<u8> {
        (0..spec.len().unwrap()).map(|at| u8::try_from(at * 31 % 251).unwrap()).collect()
    }

    fn sample(bytes: &[u8], spec: &OutputSpec, band: u32, (x, y): (u32, u32)) -> Vec<u8> {
        let at = start(spec, band as usize, (x, y), 0);
        bytes[at..at + spec.data_type.size()].to_vec()
    }

    /// Each sample is copied to its place for every axis order on both sides and any number of threads.
    #[test]
    fn patches_keep_their_samples_in_every_order() {
        let shape = |by_bands: bool, data_type, bands, rows, columns| match by_bands {
            true => OutputSpec::band_first(data_type, bands, rows, columns).unwrap(),
            false => OutputSpec::band_last(data_type, bands, rows, columns).unwrap(),
        };
        for (data_type, bands) in [(DataType::U8, 3), (DataType::U16, 1), (DataType::F32, 5)] {
            for (from_bands, to_bands) in [(true, true), (true, false), (false, true), (false, false)] {
                let from = shape(from_bands, data_type, bands, 700, 900);
                let bytes = numbered(&from);
                let given = Given::Host { spec: &from, bytes: &bytes };
                let size = (400, 600);
                let places = [(0, 0), (500, 100), (37, 11)];
                let wanted = places.map(|at| {
                    let spec = shape(to_bands, data_type, bands, size.1, size.0);
                    Assembly { spec, mask: false, patches: vec![Patch { from: given, at, to: (0, 0), size }] }
                });
                let threads = NonZeroUsize::new(4).unwrap();
                let made = assemble(&wanted, &Context { threads, ..Context::default() }).unwrap();
                for (pixels, at) in made.iter().zip(places) {
                    for (x, y) in [(0, 0), (399, 599), (17, 300), (399, 0)] {
                        for band in 0..bands {
                            let found = sample(pixels.bytes(), pixels.spec(), band, (x, y));
                            assert_eq!(found, sample(&bytes, &from, band, (at.0 + x, at.1 + y)));
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn patches_outside_of_their_pixels_are_refused() {
        let from = OutputSpec::band_first(DataType::U8, 1, 4, 4).unwrap();
        let bytes = [0; 16];
        let spec = OutputSpec::band_first(DataType::U8, 1, 3, 3).unwrap();
        let patch =
            |bytes, at| Patch { from: Given::Host { spec: &from, bytes }, at, to: (0, 0), size: (3, 3) };
        let made = |patch| {
            let wanted = Assembly { spec: spec.clone(), mask: false, patches: vec![patch] };
            assemble(&[wanted], &Context::default())
        };
        assert!(made(patch(&bytes, (1, 1))).is_ok());
        assert!(made(patch(&bytes, (2, 1))).is_err());
        assert!(made(patch(&bytes[..15], (0, 0))).is_err(), "the memory is too short");
    }
}
