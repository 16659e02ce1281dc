//! Parsers of values on the command line.

use super::{Bbox, Nodata};
use std::time::Duration;
use strile::device::{DirectIo, Nvcomp};
use strile::tiff::gdal::NoData;
use strile::{Compression, Resampling, Window};

fn numbers<T: std::str::FromStr, const N: usize>(text: &str, form: &str) -> Result<[T; N], String> {
    let parsed: Option<Vec<T>> = text.split(',').map(|part| part.trim().parse().ok()).collect();
    let parsed = parsed.and_then(|numbers| <[T; N]>::try_from(numbers).ok());
    parsed.ok_or_else(|| format!("expected {N} numbers: {form}"))
}

pub(super) fn parse_window(text: &str) -> Result<Window, String> {
    let [column, row, width, height] = numbers(text, "column,row,width,height")?;
    Ok(Window::new(column, row, width, height))
}

pub(super) fn parse_bbox(text: &str) -> Result<Bbox, String> {
    let sides: [f64; 4] = numbers(text, "west,south,east,north")?;
    match sides {
        [west, south, east, north] if west < east && south < north => Ok(Bbox(sides)),
        _ => Err("west must be below east, and south below north".into()),
    }
}

pub(super) fn parse_pair(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned()));
    pair.filter(|(key, _)| !key.is_empty()).ok_or_else(|| "expected KEY=VALUE, as in COMPRESS=ZSTD".into())
}

/// Parses an HTTP header.
pub(super) fn parse_header(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once(':').map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()));
    pair.filter(|(name, _)| !name.is_empty()).ok_or_else(|| "expected NAME: VALUE".into())
}

pub(super) fn parse_seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().filter(|seconds: &f64| *seconds > 0.0);
    let duration = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    duration.ok_or_else(|| "expected seconds above 0, for example 30".into())
}

pub(super) fn parse_hours(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().map(|hours| hours * 3600.0);
    let duration = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    duration.ok_or_else(|| "expected hours, for example 24".into())
}

pub(super) fn parse_nodata(text: &str) -> Result<Nodata, String> {
    if text.eq_ignore_ascii_case("none") {
        return Ok(Nodata(None));
    }
    let mut warnings = strile::tiff::Warnings::new();
    let value = NoData::parse(text, &mut warnings).filter(|_| warnings.is_empty());
    value.map(|value| Nodata(Some(value))).ok_or_else(|| "expected a number or `none`".into())
}

/// Parses a number of files, threads or requests.
pub(super) fn parse_count<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| "expected a whole number of at least 1".into())
}

pub(super) fn parse_resampling(text: &str) -> Result<Resampling, String> {
    let found = Resampling::ALL.into_iter().find(|method| method.name().eq_ignore_ascii_case(text));
    found.ok_or_else(|| format!("expected one of {}", Resampling::ALL.map(Resampling::name).join(", ")))
}

pub(super) fn parse_compression(text: &str) -> Result<Compression, String> {
    let found = Compression::ALL.iter().find(|codec| codec.name().eq_ignore_ascii_case(text));
    found.copied().ok_or_else(|| "expected a compression, for example deflate or zstd".into())
}

pub(super) fn parse_tolerance(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| *number >= 0.0 && number.is_finite());
    number.ok_or_else(|| "expected a number from 0 on".into())
}

pub(super) fn parse_size(text: &str) -> Result<u64, String> {
    strile::bytes::parse(text).ok_or_else(|| "expected a number of bytes, for example 2GiB or 500MB".into())
}

pub(super) fn parse_direct_io(text: &str) -> Result<DirectIo, String> {
    match text {
        "off" => Ok(DirectIo::Off),
        "auto" => Ok(DirectIo::Auto),
        "on" => Ok(DirectIo::On),
        _ => Err("expected `auto`, `on` or `off`".to_owned()),
    }
}

/// Parses a use of nvCOMP. The values contain "trusted" because nvCOMP must not be used on other files.
pub(super) fn parse_nvcomp(text: &str) -> Result<Nvcomp, String> {
    match text {
        "off" => Ok(Nvcomp::Off),
        "trusted" => Ok(Nvcomp::Trusted),
        "trusted-always" => Ok(Nvcomp::TrustedAlways),
        _ => Err(
            "what nvCOMP does on corrupt input is undefined, so it decodes only files you say you trust: \
                  `trusted`, `trusted-always` or `off`"
                .to_owned(),
        ),
    }
}
