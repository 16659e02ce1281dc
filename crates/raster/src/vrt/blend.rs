//! One source's samples laid upon a band: copied, converted, or changed by what a complex source says.

use super::number::{Number, reader, sample_of, writer};
use super::parse::Band;
use super::values::{Complex, is_near};
use strile_tiff::DataType;

/// What is laid.
pub(super) struct Layers<'a> {
    /// Samples, row by row; empty where the complex source is a constant.
    pub(super) pixels: &'a [u8],
    pub(super) data_type: DataType,
    /// 0 where what is below shows.
    pub(super) mask: Option<&'a [u8]>,
    /// The value where what is below shows.
    pub(super) nodata: Option<f64>,
    pub(super) complex: Option<&'a Complex>,
    pub(super) columns: u32,
    pub(super) rows: u32,
}

/// What samples of a band are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Onto {
    pub(super) data_type: DataType,
    /// The largest value that its bits allow.
    largest: Option<i32>,
}

impl From<&Band> for Onto {
    fn from(band: &Band) -> Self {
        Self { data_type: band.data_type, largest: band.largest }
    }
}

/// What happens to a row.
enum Way {
    Copy,
    Convert,
    /// Where samples differ from these bytes they are converted.
    Unless(Vec<u8>),
    Change,
}

/// Lays the samples with their first at (column, row) of a plane whose rows have `width` samples.
pub(super) fn lay(layers: &Layers<'_>, band: &Onto, plane: &mut [u8], (x, y): (u32, u32), width: u32) {
    let (from, to) = (layers.data_type.size(), band.data_type.size());
    let columns = layers.columns as usize;
    let way = way(layers.data_type, layers.complex, layers.nodata, band);
    let pixel = pixel(layers, band);
    for row in 0..layers.rows as usize {
        let at = ((y as usize + row) * width as usize + x as usize) * to;
        let Some(out) = plane.get_mut(at..at + columns * to) else { return };
        let samples = layers.pixels.get(row * columns * from..(row + 1) * columns * from).unwrap_or_default();
        let mask = layers.mask.and_then(|mask| mask.get(row * columns..(row + 1) * columns));
        match &way {
            Way::Copy => out.copy_from_slice(samples),
            Way::Convert => {
                let (read, write) = (reader(layers.data_type), writer(band.data_type));
                for (out, sample) in out.chunks_exact_mut(to).zip(samples.chunks_exact(from)) {
                    write(clamped(read(sample), band), out);
                }
            }
            Way::Unless(nodata) => {
                let (read, write) = (reader(layers.data_type), writer(band.data_type));
                for (out, sample) in out.chunks_exact_mut(to).zip(samples.chunks_exact(from)) {
                    if sample == nodata.as_slice() {
                        continue;
                    }
                    match layers.data_type == band.data_type {
                        true => out.copy_from_slice(sample),
                        false => write(read(sample), out),
                    }
                }
            }
            Way::Change => {
                let mut samples = samples.chunks_exact(from);
                for (column, out) in out.chunks_exact_mut(to).enumerate() {
                    let is_masked = mask.and_then(|mask| mask.get(column)).is_some_and(|&valid| valid == 0);
                    let sample = samples.next();
                    if !is_masked {
                        pixel(sample, out);
                    }
                }
            }
        }
    }
}

/// Whether samples are laid as they are, all of them.
pub(super) fn is_copy(
    data_type: DataType,
    complex: Option<&Complex>,
    nodata: Option<f64>,
    band: &Onto,
) -> bool {
    matches!(way(data_type, complex, nodata, band), Way::Copy)
}

/// Whether samples are laid as they are but for nodata, and `below` is the same nodata: laid upon nothing else, all of them
/// can be copied.
pub(super) fn is_copy_upon(
    below: &[u8],
    data_type: DataType,
    complex: Option<&Complex>,
    nodata: Option<f64>,
    band: &Onto,
) -> bool {
    if data_type != band.data_type {
        return false;
    }
    let is_nan = |value: Number| value.as_f64().is_nan();
    match way(data_type, complex, nodata, band) {
        Way::Copy => true,
        Way::Unless(sample) => below.starts_with(&sample),
        // Reals are compared but for their last digits, so that nearly equal ones would be changed. NaN is always NaN.
        Way::Change => {
            matches!(data_type, DataType::F32 | DataType::F64)
                && complex.is_some_and(Complex::is_only_nodata)
                && nodata.is_some_and(f64::is_nan)
                && below.get(..data_type.size()).is_some_and(|below| is_nan(reader(data_type)(below).0))
        }
        Way::Convert => false,
    }
}

fn way(data_type: DataType, complex: Option<&Complex>, nodata: Option<f64>, band: &Onto) -> Way {
    let simple = match data_type == band.data_type && band.largest.is_none() {
        true => Way::Copy,
        false => Way::Convert,
    };
    let Some(complex) = complex else { return simple };
    if !complex.is_only_nodata() {
        return Way::Change;
    }
    // Nodata alone is compared in these types as it is; a value that they cannot hold is nowhere.
    let (low, high) = match data_type {
        DataType::U8 => (0.0, 255.0),
        DataType::I16 => (-32_768.0, 32_767.0),
        DataType::U16 => (0.0, 65_535.0),
        _ => return Way::Change,
    };
    match nodata {
        Some(nodata) if (low..=high).contains(&nodata) => {
            let sample = sample_of(Number::Double(nodata.trunc()), data_type);
            Way::Unless(sample.iter().take(data_type.size()).copied().collect())
        }
        _ => simple,
    }
}

/// The largest value of the band's bits, where it has such.
fn clamped((real, imaginary): (Number, Number), band: &Onto) -> (Number, Number) {
    match (band.largest, real) {
        (Some(largest), Number::Integer(v)) => (Number::Integer(v.min(largest.into())), imaginary),
        _ => (real, imaginary),
    }
}

/// What a complex source does to one sample, in the precision GDAL works in.
fn pixel<'a>(layers: &Layers<'a>, band: &'a Onto) -> impl Fn(Option<&[u8]>, &mut [u8]) + use<'a> {
    use DataType as D;
    let is_wide = |t: D| matches!(t, D::I32 | D::U32 | D::I64 | D::U64);
    let is_double =
        is_wide(layers.data_type) || is_wide(band.data_type) || matches!(band.data_type, D::F64 | D::C128);
    let working = move |v: Number| match is_double {
        true => Number::Double(v.as_f64()),
        false => Number::Single(v.as_f32()),
    };
    let is_complex = matches!(band.data_type, D::C64 | D::C128);
    let nodata = layers.nodata.filter(|_| !is_complex).map(|v| near_float_limit(v, layers.data_type));
    let fits = |v: &f64| is_double || v.is_nan() || v.abs() <= f64::from(f32::MAX);
    let nodata = nodata.filter(fits).map(|v| working(Number::Double(v)));
    let complex = layers.complex;
    let constant = complex.and_then(Complex::constant);
    let (read, write) = (reader(layers.data_type), writer(band.data_type));
    let largest = band.largest.map(|v| working(Number::Integer(v.into())));
    let is_byte = band.data_type == D::U8;
    move |sample, out| {
        let (real, imaginary) = match (constant, sample) {
            // The table still applies to a constant, as if it were a value scaled to it.
            (Some(_), _) => (working(Number::Integer(0)), Number::Integer(0)),
            (None, Some(sample)) => read(sample),
            (None, None) => return,
        };
        let value = working(real);
        if let Some(nodata) = nodata {
            let is_nan = value.as_f64().is_nan();
            let both = is_nan && nodata.as_f64().is_nan();
            if both || (!is_nan && !nodata.as_f64().is_nan() && is_near(value, nodata)) {
                return;
            }
        }
        let change = |v: Number| complex.map_or(v, |complex| complex.apply(v));
        if is_complex {
            return write((change(value), change(working(imaginary))), out);
        }
        let mut value = change(value);
        if let Some(largest) = largest.filter(|largest| value.as_f64() > largest.as_f64()) {
            value = largest;
        }
        if is_byte {
            // GDAL rounds bytes in single precision whatever it works in.
            value = Number::Single(value.as_f32());
        }
        write((value, Number::Integer(0)), out);
    }
}

/// Nodata written with too few digits to be the largest single is taken for it.
fn near_float_limit(value: f64, data_type: DataType) -> f64 {
    let limit = f64::from(f32::MAX);
    match data_type {
        DataType::F32 if (value.abs() - limit).abs() < 1e-10 * limit => limit.copysign(value),
        _ => value,
    }
}
