//! `WriteOptions`: how a raster is written.

use crate::call;
use crate::device;
use crate::keys::{Keys, Keywords, elements, integer, text};
use crate::remote;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use strile::io::RemoteOptions;
use strile::tiff::LercWrapper;
use strile::tiff::{Planar, Predictor};
use strile::write::{BigTiff, BlockChoice, Format, Overviews, PredictorChoice};
use strile::{Compression, Resampling};

/// What a target is given beside the file.
#[derive(Clone)]
pub(crate) struct TargetOptions {
    /// Whether the file may have sidecars.
    pub(crate) sidecars: bool,
    /// How a bucket is reached.
    pub(crate) remote: RemoteOptions,
}

/// How a raster is written, and what its target is given.
#[pyclass(frozen, module = "strile._core")]
pub(crate) struct WriteOptions {
    pub(crate) options: strile::WriteOptions,
    pub(crate) target: TargetOptions,
    keywords: Keywords,
}

#[pymethods]
impl WriteOptions {
    #[new]
    #[pyo3(signature = (**keywords))]
    fn new(py: Python<'_>, keywords: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let keywords = Keywords::of(py, keywords)?;
        let (options, target) = call::guarded(py, || options(keywords.dict(py)))?;
        Ok(Self { options, target, keywords })
    }

    /// The same options, but for some.
    #[pyo3(signature = (**changes))]
    fn replace(&self, py: Python<'_>, changes: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        Self::new(py, Some(&self.keywords.with(py, changes)?))
    }

    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> ((), Bound<'py, PyDict>) {
        ((), self.keywords.dict(py).clone())
    }
}

fn options(dict: &Bound<'_, PyDict>) -> PyResult<(strile::WriteOptions, TargetOptions)> {
    let mut keys = Keys::new("options", dict);
    let mut options = strile::WriteOptions::default();
    let format = keys.word("format", &["gtiff", "cog"], |word| match word {
        "gtiff" => Some(Format::GeoTiff),
        "cog" => Some(Format::Cog),
        _ => None,
    })?;
    options.format = format.unwrap_or_default();
    codec(&mut keys, &mut options)?;
    options.blocks = blocks(&mut keys)?;
    let planar = keys.word("planar", &["contig", "separate"], |word| match word {
        "contig" => Some(Planar::Chunky),
        "separate" => Some(Planar::Separate),
        _ => None,
    })?;
    options.planar = planar.unwrap_or(options.planar);
    options.sparse = keys.flag("sparse")?.unwrap_or(false);
    let big = keys.word("bigtiff", &["auto", "yes", "no", "if_safer"], |word| match word {
        "auto" => Some(BigTiff::IfNeeded),
        "yes" => Some(BigTiff::Yes),
        "no" => Some(BigTiff::No),
        "if_safer" => Some(BigTiff::IfSafer),
        _ => None,
    })?;
    options.big_tiff = big.unwrap_or_default();
    options.overviews = overviews(&mut keys)?;
    options.resampling = keys.word("resampling", &resamplings(), resampling_named)?;
    options.bits = keys.integer("bits", "a number of bits")?;
    options.nan_to_nodata = keys.flag("nan_to_nodata")?.unwrap_or(false);
    options.spooled = keys.flag("spooled")?.unwrap_or(false);
    options.buffer = keys.integer("buffer", "a number of bytes")?;
    options.reproducible = keys.flag("reproducible")?.unwrap_or(false);
    if let Some(name) = keys.text("encode_on")? {
        options.encode_on = device::processor("encode_on", &name)?;
    }
    let sidecars = keys.flag("sidecars")?.unwrap_or(true);
    let reached =
        keys.typed("remote", "RemoteOptions", |value| value.cast::<remote::Remote>().ok().cloned())?;
    keys.finish()?;
    Ok((options, TargetOptions { sidecars, remote: remote::target_options(reached.as_ref()) }))
}

/// Names of the ways to reduce pixels.
pub(crate) fn resamplings() -> Vec<&'static str> {
    Resampling::ALL.map(Resampling::name).into_iter().chain(["mean"]).collect()
}

/// The way to reduce pixels of a name.
pub(crate) fn resampling_named(name: &str) -> Option<Resampling> {
    let name = if name == "mean" { Resampling::Average.name() } else { name };
    Resampling::ALL.into_iter().find(|method| method.name() == name)
}

fn codec(keys: &mut Keys<'_, '_>, options: &mut strile::WriteOptions) -> PyResult<()> {
    let names: Vec<&str> =
        Compression::ALL.iter().map(|codec| codec.name()).chain(["lerc_deflate", "lerc_zstd"]).collect();
    let codec = keys.word("compression", &names, |word| match word {
        "lerc_deflate" => Some((Compression::Lerc, LercWrapper::Deflate)),
        "lerc_zstd" => Some((Compression::Lerc, LercWrapper::Zstd)),
        _ => {
            let codec = Compression::ALL.iter().copied().find(|codec| codec.name() == word);
            codec.map(|codec| (codec, LercWrapper::None))
        }
    })?;
    (options.compression, options.lerc) = codec.unwrap_or((options.compression, options.lerc));
    options.level = keys.integer("level", "a level of the codec")?;
    options.quality = keys.integer("quality", "a number from 1 to 100")?;
    options.lossless = keys.flag("lossless")?;
    options.max_error = keys.float("max_error")?.unwrap_or(0.0);
    if let Some(value) = keys.get("predictor")? {
        let expected = "'auto', 1, 2 or 3";
        options.predictor = match (text(&value).as_deref(), integer(&value)) {
            (Some("auto"), _) => PredictorChoice::Auto,
            (_, Some(1)) => PredictorChoice::Fixed(Predictor::None),
            (_, Some(2)) => PredictorChoice::Fixed(Predictor::Horizontal),
            (_, Some(3)) => PredictorChoice::Fixed(Predictor::FloatingPoint),
            (None, None) => return Err(keys.wrong_type("predictor", &value, expected)),
            _ => return Err(keys.out_of_range("predictor", &value, expected)),
        };
    }
    Ok(())
}

fn blocks(keys: &mut Keys<'_, '_>) -> PyResult<BlockChoice> {
    let tile = keys.typed("tile", "(width, height) in pixels", |value| {
        let sides: Vec<u32> =
            elements(value)?.iter().map(|side| u32::try_from(integer(side)?).ok()).collect::<Option<_>>()?;
        <[u32; 2]>::try_from(sides).ok()
    })?;
    let rows = keys.integer::<u32>("strip_rows", "a number of rows")?;
    match (tile, rows) {
        (None, None) => Ok(BlockChoice::Auto),
        (Some([width, height]), None) => Ok(BlockChoice::Tiles { width, height }),
        (None, Some(rows)) => Ok(BlockChoice::Strips { rows }),
        (Some(_), Some(_)) => {
            Err(keys.refused(keys.py(), "strip_rows", "given beside `tile`; a file has tiles or strips"))
        }
    }
}

fn overviews(keys: &mut Keys<'_, '_>) -> PyResult<Overviews> {
    let Some(value) = keys.get("overviews")? else { return Ok(Overviews::Auto) };
    let expected = "'auto', 'none', a number of overviews, or their factors as [2, 8]";
    if let Some(found) = elements(&value) {
        let factors: Option<Vec<_>> = found.iter().map(integer).collect();
        let factors = factors.ok_or_else(|| keys.wrong_type("overviews", &value, expected))?;
        let factors: Option<Vec<u32>> =
            factors.into_iter().map(|factor| u32::try_from(factor).ok()).collect();
        let expected = "powers of two from 2 on, each larger than the one before";
        return factors
            .and_then(|factors| Overviews::factors(&factors))
            .ok_or_else(|| keys.out_of_range("overviews", &value, expected));
    }
    match (text(&value).as_deref(), integer(&value)) {
        (Some("auto"), _) => Ok(Overviews::Auto),
        (Some("none"), _) => Ok(Overviews::None),
        (None, Some(count)) => u32::try_from(count)
            .map(|count| if count == 0 { Overviews::None } else { Overviews::Count(count) })
            .map_err(|_| keys.out_of_range("overviews", &value, expected)),
        (Some(_), _) => Err(keys.out_of_range("overviews", &value, expected)),
        (None, None) => Err(keys.wrong_type("overviews", &value, expected)),
    }
}
