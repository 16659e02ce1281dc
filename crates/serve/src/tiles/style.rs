//! Drawing parameters in titiler's terms: `bidx`, `expression`, `rescale`, `colormap_name`, `nodata`, `resampling`.

use super::encode::Format;
use super::expression::Expressions;
use super::ramps::{Ramp, ramp};
use crate::answer::Refusal;
use crate::opened::Opened;
use crate::reading::Samples;
use crate::request::{Asked, parsed};
use strile::DataType;
use strile::batch::Sampling;
use strile::number::{is_complex, magnitude, writer};
use strile::read::MaskSource;

/// Maximum bands per answer.
const MOST_BANDS: usize = 64;
/// Permitted tile sides.
const SIDES: std::ops::RangeInclusive<u32> = 64..=1024;

/// The parameters of all addresses that read pixels.
pub(super) const PARAMETERS: [&str; 8] =
    ["url", "bidx", "expression", "rescale", "colormap_name", "nodata", "resampling", "tilesize"];

/// Parameters, checked for a file.
pub(super) struct Style {
    /// Bands to read, from 1.
    pub(super) bands: Vec<u16>,
    pub(super) expression: Option<Expressions>,
    /// Ranges that are stretched to 0 to 255; one for all bands, one for each, or none.
    pub(super) ranges: Vec<(f64, f64)>,
    pub(super) ramp: Option<Box<Ramp>>,
    pub(super) nodata: Option<f64>,
    pub(super) sampling: Sampling,
}

impl Style {
    pub(super) fn of(asked: &Asked, opened: &Opened, format: Format) -> Result<Self, Refusal> {
        let mut bands = asked.bands("bidx", opened.bands)?;
        let expression = match asked.get("expression")? {
            Some(_) if !bands.is_empty() => {
                return Err(Refusal::bad(
                    "`bidx` and `expression` cannot be combined: the expression names its bands",
                ));
            }
            Some(text) => Some(Expressions::parse(text, opened.bands)?),
            None => None,
        };
        if let Some(expression) = &expression {
            bands.clone_from(&expression.bands);
            if bands.is_empty() {
                return Err(Refusal::bad("expected an `expression` with a band, such as b1"));
            }
        }
        if bands.is_empty() {
            bands = usual(opened, format)?;
        }
        if bands.len() > MOST_BANDS {
            return Err(Refusal::bad(format!(
                "expected at most {MOST_BANDS} bands; choose them with `bidx`"
            )));
        }
        let sampling = match asked.get("resampling")? {
            None | Some("nearest") => Sampling::Nearest,
            Some("bilinear") => Sampling::Bilinear,
            Some("average") => Sampling::Average,
            Some(_) => return Err(Refusal::bad("expected `resampling` nearest, bilinear or average")),
        };
        if opened.is_categorical() && sampling != Sampling::Nearest {
            return Err(Refusal::bad("values of this file cannot be averaged; use `resampling=nearest`"));
        }
        let nodata: Option<f64> = asked.number("nodata")?;
        if nodata.is_some() && sampling != Sampling::Nearest {
            return Err(Refusal::bad(
                "`nodata` needs `resampling=nearest`: a mean would count pixels without data",
            ));
        }
        let style = Self {
            ranges: ranges(asked)?,
            ramp: asked.get("colormap_name")?.map(ramp).transpose()?,
            bands,
            expression,
            nodata,
            sampling,
        };
        style.check(format)?;
        Ok(style)
    }

    /// Returns the number of bands of the result.
    pub(super) fn results(&self) -> usize {
        self.expression.as_ref().map_or(self.bands.len(), Expressions::results)
    }

    fn check(&self, format: Format) -> Result<(), Refusal> {
        let results = self.results();
        if format.is_data() {
            return match self.ranges.is_empty() && self.ramp.is_none() {
                true => Ok(()),
                false => Err(Refusal::bad(
                    "npy and tif hold values: `rescale` and `colormap_name` are for pictures",
                )),
            };
        }
        if !matches!(results, 1 | 3) {
            let problem =
                format!("a picture has 1 or 3 bands, got {results}; choose them with `bidx` or `expression`");
            return Err(Refusal::bad(problem));
        }
        if self.ramp.is_some() && results != 1 {
            return Err(Refusal::bad(
                "`colormap_name` needs one band; choose it with `bidx` or `expression`",
            ));
        }
        if self.ranges.len() > 1 && self.ranges.len() != results {
            let got = self.ranges.len();
            return Err(Refusal::bad(format!(
                "expected one `rescale`, or one for each of {results} bands, got {got}"
            )));
        }
        if self.expression.is_some() && self.ranges.is_empty() {
            return Err(Refusal::bad("a picture of an `expression` needs `rescale`, such as rescale=-1,1"));
        }
        Ok(())
    }

    /// Applies `nodata` and the expressions to samples.
    pub(super) fn applied(&self, samples: Samples) -> Samples {
        let mut samples = samples.real();
        if let Some(nodata) = self.nodata {
            let plane = samples.plane();
            let mut shown = vec![0_u8; plane];
            let read = magnitude(samples.data_type);
            for band in 0..samples.bands {
                let all = samples.band(band).chunks_exact(samples.data_type.size());
                for (shown, sample) in shown.iter_mut().zip(all) {
                    let value = read(sample);
                    if value != nodata && !(value.is_nan() && nodata.is_nan()) {
                        *shown = 255;
                    }
                }
            }
            let valid = samples.valid.get_or_insert_with(|| vec![255; plane]);
            valid.iter_mut().zip(shown).for_each(|(valid, shown)| *valid &= shown);
        }
        let Some(expression) = &self.expression else { return samples };
        let bands: Vec<Vec<f64>> = (0..samples.bands).map(|band| samples.numbers(band).collect()).collect();
        let mut pixels = Vec::with_capacity(samples.plane() * expression.results() * 4);
        let (write, mut stack) = (writer(DataType::F32), Vec::new());
        for result in 0..expression.results() {
            for at in 0..samples.plane() {
                let band =
                    |band: usize| bands.get(band).and_then(|band| band.get(at)).copied().unwrap_or(f64::NAN);
                write(expression.value(result, band, &mut stack), &mut pixels);
            }
        }
        Samples { data_type: DataType::F32, bands: expression.results(), pixels, ..samples }
    }
}

/// Returns the default bands of a file: all for arrays, else colours, else the first.
fn usual(opened: &Opened, format: Format) -> Result<Vec<u16>, Refusal> {
    let all = opened.all_bands();
    if format.is_data() {
        return Ok(all);
    }
    let alpha = match opened.mask_source()? {
        MaskSource::Alpha(band) => Some(band),
        _ => None,
    };
    let colours: Vec<u16> = all.into_iter().filter(|band| Some(*band) != alpha).take(3).collect();
    let count = if colours.len() == 3 && !is_complex(opened.data_type) { 3 } else { 1 };
    Ok(colours.into_iter().take(count).collect())
}

/// Parses `rescale=0,100`, repeated for several bands, or `rescale=0,100,0,200`.
fn ranges(asked: &Asked) -> Result<Vec<(f64, f64)>, Refusal> {
    let mut ends = Vec::new();
    for text in asked.all("rescale") {
        for word in text.split(',') {
            let end: f64 = parsed("rescale", word)?;
            if !end.is_finite() || ends.len() >= 2 * MOST_BANDS {
                return Err(Refusal::bad("expected finite numbers in `rescale`, two per band"));
            }
            ends.push(end);
        }
    }
    let pairs = ends.chunks(2).map(|pair| match pair {
        [low, high] if low < high => Ok((*low, *high)),
        _ => Err(Refusal::bad("expected `rescale` as pairs LOW,HIGH, with LOW below HIGH")),
    });
    pairs.collect()
}

/// Returns the side of a tile.
pub(super) fn side(asked: &Asked) -> Result<u32, Refusal> {
    let side = asked.number("tilesize")?.unwrap_or(256);
    match SIDES.contains(&side) {
        true => Ok(side),
        false => Err(Refusal::bad(format!("expected a `tilesize` of {} to {}", SIDES.start(), SIDES.end()))),
    }
}
