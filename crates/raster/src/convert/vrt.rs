//! The description of the output for a mosaic.

use super::change::type_of;
use super::colours::{drop_told, photometric};
use super::options::ConvertOptions;
use super::spec::{change, check_nodata};
use crate::error::Result;
use crate::options::Place;
use crate::vrt::Vrt;
use crate::window::Window;
use crate::write::RasterSpec;
use strile_tiff::gdal::NoData;
use strile_tiff::{DataType, ExtraSample, Photometric};

/// Returns the raster to write for a mosaic, and the window of it to read.
pub(crate) fn spec_of_vrt(
    vrt: &Vrt,
    place: &Place,
    options: &ConvertOptions,
    warnings: &mut Vec<String>,
) -> Result<(RasterSpec, Window)> {
    let (window, bands) = vrt.target(place)?;
    let count = u16::try_from(bands.len());
    let count = count.map_err(|_| vrt.refuse(format!("{} bands are too many", bands.len())))?;
    let mut spec = RasterSpec::new(window.width, window.height, count, vrt.data_type());
    check_nodata(options, type_of(options, spec.data_type)).map_err(|problem| vrt.refuse(problem))?;
    let mut metadata = vrt.metadata().clone();
    let chosen =
        |&band: &u16| metadata.bands.get(usize::from(band.saturating_sub(1))).cloned().unwrap_or_default();
    metadata.bands = bands.iter().map(chosen).collect();
    let colours: Vec<Option<String>> = metadata.bands.iter().map(|band| band.colour.clone()).collect();
    spec.colour_map = colour_map(vrt, &bands, spec.data_type);
    if spec.colour_map.is_some() && is_opaque(vrt, &bands) {
        // The tag is sufficient; otherwise the table is kept in a sidecar.
        metadata
            .bands
            .iter_mut()
            .for_each(|band| band.sidecar.retain(|element| element.name != "ColorTable"));
    }
    spec.photometric = options.photometric.or(match spec.colour_map {
        Some(_) => Some(Photometric::Palette),
        None => photometric(&colours),
    });
    let (photometric, mut extra) = spec.colours();
    let alpha = vrt.alpha().and_then(|alpha| bands.iter().position(|&band| band == alpha));
    let beyond = alpha.and_then(|at| at.checked_sub(usize::from(photometric.colour_samples())));
    if let Some(slot) = beyond.and_then(|at| extra.get_mut(at)) {
        *slot = ExtraSample::UnassociatedAlpha;
    }
    if let (Some(alpha), Some(last)) = (options.alpha, extra.last_mut()) {
        *last = alpha;
    }
    drop_told(&mut metadata.bands, photometric, &extra);
    spec.extra_samples = Some(extra);
    spec.mask = vrt.has_mask();
    let nodata = bands.first().and_then(|&band| vrt.nodata(band));
    let text = |nodata: Option<NoData>| nodata.map_or_else(|| "none".into(), NoData::to_text);
    if let Some(other) = bands.iter().find(|&&band| text(vrt.nodata(band)) != text(nodata)) {
        warnings.push(format!(
            "a TIFF has one nodata value: {} of the first band is kept, {} of band {other} is lost",
            text(nodata),
            text(vrt.nodata(*other))
        ));
    }
    metadata.nodata = nodata;
    if bands.first() != Some(&1) {
        metadata.categories.clear();
    }
    if (window.width, window.height) != (vrt.width(), vrt.height()) {
        // Statistics describe other pixels.
        for band in &mut metadata.bands {
            band.statistics = None;
            band.items.retain(|(name, _)| !name.starts_with("STATISTICS_"));
        }
        if let Some(rpc) = &mut metadata.georeference.rpc {
            rpc.sample.0 -= f64::from(window.column);
            rpc.line.0 -= f64::from(window.row);
        }
    }
    metadata.georeference.transform = vrt.stored_transform(place)?;
    change(&mut metadata, options);
    spec.metadata = metadata;
    Ok((spec, window))
}

/// Returns the bits of a sample that all bands state, if no value that fills gaps has more.
pub(super) fn bits_of_vrt(vrt: &Vrt, place: &Place) -> Result<Option<u16>> {
    let (_, bands) = vrt.target(place)?;
    let bits = bands.first().and_then(|&band| vrt.bits(band));
    let Some(bits) = bits.and_then(|bits| u16::try_from(bits).ok()) else { return Ok(None) };
    let fits = |&band: &u16| {
        let nodata = vrt.nodata(band).map_or(0.0, NoData::as_f64);
        vrt.bits(band) == Some(bits.into()) && (0.0..f64::from(bits).exp2()).contains(&nodata)
    };
    let is_unsigned = matches!(vrt.data_type(), DataType::U8 | DataType::U16 | DataType::U32);
    Ok((is_unsigned && bands.iter().all(fits)).then_some(bits))
}

/// Returns the colour table of the only band, without transparency, which TIFF does not have.
fn colour_map(vrt: &Vrt, bands: &[u16], data_type: DataType) -> Option<Vec<[u16; 3]>> {
    let &[band] = bands else { return None };
    let table = vrt.colour_table(band);
    if table.is_empty() || !matches!(data_type, DataType::U8 | DataType::U16) {
        return None;
    }
    // Tables of a VRT have 8 bits, those of a TIFF 16.
    Some(table.iter().map(|&[red, green, blue, _]| [red, green, blue].map(|v| v.min(255) * 257)).collect())
}

fn is_opaque(vrt: &Vrt, bands: &[u16]) -> bool {
    bands.iter().all(|&band| vrt.colour_table(band).iter().all(|&[.., alpha]| alpha >= 255))
}
