//! Provides `WriteOptions`: how a raster is written.

use crate::arguments::{Float, Int, Row, ints, word};
use crate::device;
use crate::error::refused;
use crate::remote::{self, Remote};
use pyo3::prelude::*;
use strile::io::RemoteOptions;
use strile::tiff::{LercWrapper, Planar, Predictor};
use strile::write::{BigTiff, BlockChoice, Format, Overviews, PredictorChoice};
use strile::{Compression, Resampling};

/// Names of formats.
pub(crate) const FORMATS: [(&str, Format); 2] = [("gtiff", Format::GeoTiff), ("cog", Format::Cog)];
const PLANARS: [(&str, Planar); 2] = [("contig", Planar::Chunky), ("separate", Planar::Separate)];
const BIG_TIFFS: [(&str, BigTiff); 4] =
    [("auto", BigTiff::IfNeeded), ("yes", BigTiff::Yes), ("no", BigTiff::No), ("if_safer", BigTiff::IfSafer)];

/// Options of the target.
#[derive(Clone)]
pub(crate) struct TargetOptions {
    /// Whether the file may have sidecars.
    pub(crate) sidecars: bool,
    /// How a bucket is reached.
    pub(crate) remote: RemoteOptions,
}

/// How a raster is written, and the options of its target.
#[pyclass(frozen, module = "strile._core")]
pub(crate) struct WriteOptions {
    pub(crate) options: strile::WriteOptions,
    pub(crate) target: TargetOptions,
}

#[derive(FromPyObject)]
enum GivenPredictor {
    Word(String),
    Number(Int<i128>),
}

#[derive(FromPyObject)]
enum GivenOverviews {
    Word(String),
    Count(Int<i128>),
    Factors(Vec<Int<i128>>),
}

#[pymethods]
impl WriteOptions {
    #[new]
    #[pyo3(signature = (*, format="gtiff", compression=None, level=None, quality=None, lossless=None, max_error=None,
                        predictor=None, tile=None, strip_rows=None, planar="contig", sparse=false, bigtiff="auto",
                        overviews=None, resampling=None, bits=None, nan_to_nodata=false, spooled=false, buffer=None,
                        reproducible=false, encode_on="auto", sidecars=true, remote=None))]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn new(
        format: &str,
        compression: Option<&str>,
        level: Option<Int<i32>>,
        quality: Option<Int<u8>>,
        lossless: Option<bool>,
        max_error: Option<Float>,
        predictor: Option<GivenPredictor>,
        tile: Option<Row<Int<u32>, 2>>,
        strip_rows: Option<Int<u32>>,
        planar: &str,
        sparse: bool,
        bigtiff: &str,
        overviews: Option<GivenOverviews>,
        resampling: Option<&str>,
        bits: Option<Int<u16>>,
        nan_to_nodata: bool,
        spooled: bool,
        buffer: Option<Int<u64>>,
        reproducible: bool,
        encode_on: &str,
        sidecars: bool,
        remote: Option<&Bound<'_, Remote>>,
    ) -> PyResult<Self> {
        let blocks = match (tile, strip_rows) {
            (None, None) => BlockChoice::Auto,
            (Some(Row([Int(width), Int(height)])), None) => BlockChoice::Tiles { width, height },
            (None, Some(Int(rows))) => BlockChoice::Strips { rows },
            (Some(_), Some(_)) => {
                return Err(refused("strip_rows cannot be combined with tile: a file has tiles or strips"));
            }
        };
        let usual = strile::WriteOptions::default();
        let (compression, lerc) = compression.map_or(Ok((usual.compression, usual.lerc)), codec)?;
        let predictor = predictor.map_or(Ok(usual.predictor), predictor_of)?;
        let options = usual
            .format(word("format", format, &FORMATS)?)
            .compression(compression)
            .lerc(lerc)
            .level(level.map(|level| level.0))
            .quality(quality.map(|quality| quality.0))
            .lossless(lossless)
            .max_error(max_error.map_or(0.0, |error| error.0))
            .predictor(predictor)
            .blocks(blocks)
            .planar(word("planar", planar, &PLANARS)?)
            .sparse(sparse)
            .big_tiff(word("bigtiff", bigtiff, &BIG_TIFFS)?)
            .overviews(overviews.map_or(Ok(Overviews::Auto), overviews_of)?)
            .resampling(resampling.map(|name| resampling_named("resampling", name)).transpose()?)
            .bits(bits.map(|bits| bits.0))
            .nan_to_nodata(nan_to_nodata)
            .spooled(spooled)
            .buffer(buffer.map(|bytes| bytes.0))
            .reproducible(reproducible)
            .encode_on(device::processor("encode_on", encode_on)?);
        Ok(Self { options, target: TargetOptions { sidecars, remote: remote::target_options(remote) } })
    }
}

/// Returns the way to reduce pixels of a name.
pub(crate) fn resampling_named(option: &str, name: &str) -> PyResult<Resampling> {
    let mean = [("mean", Resampling::Average)];
    let all = Resampling::ALL.map(|method| (method.name(), method));
    word(option, name, &[all.as_slice(), &mean].concat())
}

fn codec(name: &str) -> PyResult<(Compression, LercWrapper)> {
    let packed = [
        ("lerc_deflate", (Compression::Lerc, LercWrapper::Deflate)),
        ("lerc_zstd", (Compression::Lerc, LercWrapper::Zstd)),
    ];
    let all = Compression::ALL.iter().map(|codec| (codec.name(), (*codec, LercWrapper::None)));
    word("compression", name, &all.chain(packed).collect::<Vec<_>>())
}

fn predictor_of(given: GivenPredictor) -> PyResult<PredictorChoice> {
    let wrong = |shown: String| Err(refused(format!("predictor is {shown}: expected 'auto', 1, 2 or 3")));
    match given {
        GivenPredictor::Word(word) if word == "auto" => Ok(PredictorChoice::Auto),
        GivenPredictor::Word(word) => wrong(word),
        GivenPredictor::Number(Int(1)) => Ok(PredictorChoice::Fixed(Predictor::None)),
        GivenPredictor::Number(Int(2)) => Ok(PredictorChoice::Fixed(Predictor::Horizontal)),
        GivenPredictor::Number(Int(3)) => Ok(PredictorChoice::Fixed(Predictor::FloatingPoint)),
        GivenPredictor::Number(Int(number)) => wrong(number.to_string()),
    }
}

fn overviews_of(given: GivenOverviews) -> PyResult<Overviews> {
    let wrong = || {
        refused(
            "overviews: expected 'auto', 'none', a number of overviews, or their factors: powers of two from 2 on, each larger \
             than the one before",
        )
    };
    match given {
        GivenOverviews::Word(word) if word == "auto" => Ok(Overviews::Auto),
        GivenOverviews::Word(word) if word == "none" => Ok(Overviews::None),
        GivenOverviews::Word(_) => Err(wrong()),
        GivenOverviews::Count(Int(0)) => Ok(Overviews::None),
        GivenOverviews::Count(Int(count)) => u32::try_from(count).map(Overviews::Count).map_err(|_| wrong()),
        GivenOverviews::Factors(factors) => {
            let factors: Option<Vec<u32>> =
                ints(factors).into_iter().map(|factor| u32::try_from(factor).ok()).collect();
            factors.and_then(|factors| Overviews::factors(&factors)).ok_or_else(wrong)
        }
    }
}
