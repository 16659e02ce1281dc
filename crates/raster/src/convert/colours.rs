//! GDAL's colour interpretation of bands, and the tags that express it.

use crate::write::RasterSpec;
use strile_tiff::gdal::BandMetadata;
use strile_tiff::{ExtraSample, Photometric};

/// GDAL's names of colour interpretations.
pub(super) const NAMES: [&str; 27] = [
    "Undefined",
    "Gray",
    "Palette",
    "Red",
    "Green",
    "Blue",
    "Alpha",
    "Hue",
    "Saturation",
    "Lightness",
    "Cyan",
    "Magenta",
    "Yellow",
    "Black",
    "Pan",
    "Coastal",
    "RedEdge",
    "NIR",
    "SWIR",
    "MWIR",
    "LWIR",
    "TIR",
    "OtherIR",
    "YCbCr_Y",
    "YCbCr_Cb",
    "YCbCr_Cr",
    "IR",
];

/// Returns the names of the colours of a photometric interpretation.
pub(super) fn names_of(photometric: Photometric) -> &'static [&'static str] {
    match photometric {
        Photometric::Rgb => &["Red", "Green", "Blue"],
        Photometric::Separated => &["Cyan", "Magenta", "Yellow", "Black"],
        Photometric::Palette => &["Palette"],
        Photometric::MinIsBlack | Photometric::MinIsWhite => &["Gray"],
        _ => &[],
    }
}

/// Returns the photometric interpretation of bands with these names; `None` if none of them has a name.
pub(super) fn photometric<T: AsRef<str>>(colours: &[Option<T>]) -> Option<Photometric> {
    if colours.iter().all(Option::is_none) {
        return None;
    }
    let begins = |photometric: &Photometric| {
        let names = names_of(*photometric);
        let same = |(name, colour): (&&str, &Option<T>)| {
            colour.as_ref().is_some_and(|colour| colour.as_ref().eq_ignore_ascii_case(name))
        };
        colours.len() >= names.len() && names.iter().zip(colours).all(same)
    };
    let pictures = [Photometric::Rgb, Photometric::Separated];
    Some(pictures.into_iter().find(begins).unwrap_or(Photometric::MinIsBlack))
}

/// Removes names that the tags already express.
pub(super) fn drop_told(bands: &mut [BandMetadata], photometric: Photometric, extra: &[ExtraSample]) {
    for (at, band) in bands.iter_mut().enumerate() {
        let told = told_by_tags(at, photometric, extra);
        if band.colour.as_deref().zip(told).is_some_and(|(own, told)| own.eq_ignore_ascii_case(told)) {
            band.colour = None;
        }
    }
}

/// Returns the name that the tags give a band, from 0.
fn told_by_tags(at: usize, photometric: Photometric, extra: &[ExtraSample]) -> Option<&'static str> {
    names_of(photometric).get(at).copied().or_else(|| {
        let extra = at.checked_sub(usize::from(photometric.colour_samples())).and_then(|at| extra.get(at))?;
        Some(if *extra == ExtraSample::Unspecified { "Undefined" } else { "Alpha" })
    })
}

/// Gives bands, from 1, other names. The rest keep theirs.
pub(super) fn restate(spec: &mut RasterSpec, colours: &[(u16, String)]) -> Result<(), String> {
    let (own, extra) = spec.colours();
    spec.metadata.bands.resize(usize::from(spec.bands), BandMetadata::default());
    let mut names: Vec<Option<String>> = Vec::new();
    for (at, band) in spec.metadata.bands.iter().enumerate() {
        names.push(band.colour.clone().or_else(|| told_by_tags(at, own, &extra).map(str::to_owned)));
    }
    for (band, colour) in colours {
        let name = NAMES.iter().find(|name| name.eq_ignore_ascii_case(colour));
        let name = name.ok_or_else(|| {
            format!(
                "`{colour}` is not a colour interpretation; expected one of {}",
                NAMES.join(", ").to_lowercase()
            )
        })?;
        let slot = usize::from(*band).checked_sub(1).and_then(|at| names.get_mut(at));
        let slot = slot.ok_or_else(|| {
            format!("a colour interpretation of band {band}, but {} are written (from 1)", spec.bands)
        })?;
        if *name == "Palette" && (*band != 1 || spec.colour_map.is_none()) {
            return Err(format!("band {band} has no colour table, so it cannot be `palette`"));
        }
        *slot = Some((*name).to_owned());
    }
    let is = |at: usize, wanted: &str| names.get(at).is_some_and(|name| name.as_deref() == Some(wanted));
    let photometric = match (is(0, "Palette"), own) {
        (true, _) => Photometric::Palette,
        (_, Photometric::MinIsWhite) if is(0, "Gray") => Photometric::MinIsWhite,
        _ => photometric(&names).unwrap_or(Photometric::MinIsBlack),
    };
    let first = usize::from(photometric.colour_samples());
    let kept =
        |at: usize| at.checked_sub(usize::from(own.colour_samples())).and_then(|at| extra.get(at)).copied();
    let extra: Vec<ExtraSample> = (first..usize::from(spec.bands))
        .map(|at| match (is(at, "Alpha"), kept(at)) {
            (true, Some(alpha)) if alpha != ExtraSample::Unspecified => alpha,
            (true, _) => ExtraSample::UnassociatedAlpha,
            (false, _) => ExtraSample::Unspecified,
        })
        .collect();
    for (band, name) in spec.metadata.bands.iter_mut().zip(names) {
        band.colour = name;
    }
    drop_told(&mut spec.metadata.bands, photometric, &extra);
    if !matches!(photometric, Photometric::Palette | Photometric::MinIsBlack | Photometric::MinIsWhite) {
        spec.colour_map = None;
    }
    spec.photometric = Some(photometric);
    spec.extra_samples = Some(extra);
    Ok(())
}
