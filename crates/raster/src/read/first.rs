//! The properties of a read's first window, for its plan.

use super::plan::MosaicFigures;
use super::reading::place_of;
use super::request::Asked;
use super::resolve::{Group, Laid, Resolved, filled};
use super::unpack::Missing;
use crate::error::{Error, Result};
use crate::window::Window;
use strile_engine::{Convert, EngineError, Fill, Location};
use strile_tiff::DataType;

/// The properties of a request, for its plan.
pub(super) struct First {
    pub(super) page: usize,
    pub(super) level: usize,
    pub(super) level_size: (u32, u32),
    pub(super) window: Window,
    pub(super) bands: Vec<u16>,
    pub(super) convert: Option<Convert>,
    /// Type of the samples before conversion.
    pub(super) stored: DataType,
    pub(super) masked_by: Option<String>,
    pub(super) mosaics: Option<MosaicFigures>,
    /// Descriptions of the first blended sources of mosaics, with the place.
    pub(super) blended: Vec<String>,
    pub(super) files: usize,
    /// The value of pixels of a mosaic without a source.
    pub(super) fill: Option<Fill>,
}

impl First {
    pub(super) fn new(asked: &Asked<'_>, resolved: &Resolved<'_>) -> Result<Self> {
        let abandoned = || Error::Engine(EngineError::Abandoned);
        let request = asked.requests.first().ok_or_else(abandoned)?;
        let blended =
            |laid: &Laid<'_>| usize::from(laid.blended.is_some()) + usize::from(laid.blended_mask.is_some());
        let blended: usize = resolved.canvases.iter().map(|(_, laid)| blended(laid)).sum();
        let files = resolved.sources.len() - blended;
        let mosaics = MosaicFigures::of(resolved.canvases.iter().map(|(_, laid)| laid.canvas));
        let blended = blended_by(resolved);
        if let (Some(canvas), Some((_, laid))) = (request.canvas(), resolved.canvases.first()) {
            let convert = laid.convert(0);
            let fill = canvas.fills.first().copied().unwrap_or_default();
            return Ok(Self {
                page: 0,
                level: 0,
                level_size: canvas.image,
                window: canvas.inside.unwrap_or(Window::full(0, 0)),
                bands: canvas.bands.clone(),
                convert,
                stored: canvas.data_type,
                masked_by: canvas.mask.as_ref().and_then(|mask| masked_by(mask.missing)),
                mosaics,
                blended,
                files,
                fill: Some(filled((canvas.data_type, fill), convert, resolved.result.data_type)),
            });
        }
        let Group { facts, convert, .. } = resolved.groups.first().ok_or_else(abandoned)?;
        let inside = resolved.frames.first().and_then(|(_, inside)| *inside);
        Ok(Self {
            page: request.place.page,
            level: request.place.level,
            level_size: (facts.image.width, facts.image.height),
            window: inside.unwrap_or(facts.window),
            bands: facts.bands.clone(),
            convert: *convert,
            stored: facts.layout.data_type,
            masked_by: facts.unpacking.and_then(|unpacking| masked_by(unpacking.missing)),
            mosaics,
            blended,
            files,
            fill: None,
        })
    }
}

/// Describes the first blended sources of each place.
fn blended_by(resolved: &Resolved<'_>) -> Vec<String> {
    let canvases = || resolved.canvases.iter().flat_map(|(_, laid)| laid.canvas.all());
    let mut places: Vec<Location> = Vec::new();
    for canvas in canvases().filter(|canvas| canvas.blended > 0) {
        if !places.contains(&canvas.blended_at) {
            places.push(canvas.blended_at);
        }
    }
    let named = |place: Location| {
        let here = || canvases().filter(move |canvas| canvas.blended > 0 && canvas.blended_at == place);
        let all: usize = here().map(|canvas| canvas.blended).sum();
        let mut names: Vec<&str> = Vec::new();
        let mut named = 0;
        for name in here().flat_map(|canvas| &canvas.named) {
            named += 1;
            if names.len() < 3 && !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        let more = if all > named || names.len() == 3 && named > 3 { " and others" } else { "" };
        format!("blended {}: {}{more}", place_of(place), names.join(", "))
    };
    places.into_iter().map(named).collect()
}

/// Describes the mask of pixels, if they are not masked by a value.
fn masked_by(missing: Missing) -> Option<String> {
    match missing {
        Missing::Image => Some("the mask image".to_owned()),
        Missing::Alpha(band) => Some(format!("alpha in band {band}")),
        Missing::Value(_) | Missing::None => None,
    }
}
