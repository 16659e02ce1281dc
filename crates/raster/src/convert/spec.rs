//! The description of the output, and write options derived from the input's storage.

use super::change::type_of;
use super::colours::{drop_told, names_of};
use super::options::ConvertOptions;
use super::tags::tags_of;
use crate::error::Result;
use crate::file::dataset::Dataset;
use crate::file::metadata::Metadata;
use crate::options::Place;
use crate::window::Window;
use crate::write::{Format, RasterSpec, WriteOptions};
use strile_tiff::gdal::NoData;
use strile_tiff::{Compression, DataType, ExtraSample, Image, Photometric, Planar, SampleFormat};

/// Returns the raster to write.
pub(crate) fn spec_of(
    input: &Dataset,
    place: &Place,
    options: &ConvertOptions,
    warnings: &mut Vec<String>,
) -> Result<RasterSpec> {
    let target = input.target(place)?;
    let image = &*target.image;
    let data_type = image.sample.data_type();
    let data_type = data_type.ok_or_else(|| input.refuse(format!("{} samples", image.sample)))?;
    let bands = u16::try_from(target.bands.len());
    let bands = bands.map_err(|_| input.refuse(format!("{} bands are too many", target.bands.len())))?;
    let Window { width, height, .. } = target.window;
    let mut spec = RasterSpec::new(width, height, bands, data_type);
    let (own, extra) = meaning(image, &target.bands);
    if matches!(colours_as_read(image), Photometric::LogL | Photometric::LogLuv | Photometric::YCbCr) {
        let name = image.colour.photometric.name();
        warnings.push(format!("codes of {name} are kept and written as plain samples, which do not say so"));
    }
    check_nodata(options, type_of(options, data_type)).map_err(|problem| input.refuse(problem))?;
    let photometric = options.photometric.unwrap_or(own);
    spec.photometric = Some(photometric);
    // Another interpretation may have more or fewer colours; the bands beyond them are kept.
    let colours = std::iter::repeat_n(ExtraSample::Unspecified, usize::from(own.colour_samples()));
    let beyond = colours.chain(extra).skip(usize::from(photometric.colour_samples()));
    spec.extra_samples = Some(beyond.collect());
    if let (Some(alpha), Some(extra)) = (options.alpha, &mut spec.extra_samples) {
        match extra.last_mut() {
            Some(last) => *last = alpha,
            None => {
                return Err(input.refuse("there is no band beyond the colours that could be alpha".into()));
            }
        }
    }
    let is_table_kept = match photometric {
        Photometric::Palette => true,
        grey => has_grey_table(image) && grey == image.colour.photometric && target.bands.first() == Some(&1),
    };
    if is_table_kept {
        spec.colour_map = image.colour.colour_map.clone();
    }
    spec.mask = level_has_mask(input, place);
    spec.metadata = metadata_of(input, place, options)?;
    name_colours(image, &target.bands, &mut spec);
    spec.extra_fields = tags_of(input, place, warnings);
    Ok(spec)
}

/// Returns whether the alpha of a picture is written as a mask, as GDAL's COG driver does for JPEG, which would blur
/// it.
pub(crate) fn alpha_becomes_mask(input: &Dataset, place: &Place, options: &ConvertOptions) -> Result<bool> {
    let image = input.target(place)?.image;
    let as_it_is = options.alpha.is_none()
        && options.photometric.is_none()
        && options.colours.is_empty()
        && place.bands.is_none()
        && !options.changes_values();
    let picture = image.colour.photometric == Photometric::Rgb
        && image.sample.data_type() == Some(DataType::U8)
        && image.samples == 4
        && image.colour.extra_samples.first().is_some_and(|extra| *extra != ExtraSample::Unspecified);
    let jpeg_cog = options.write.format == Format::Cog && options.write.compression == Compression::Jpeg;
    Ok(jpeg_cog && as_it_is && picture && !level_has_mask(input, place) && input.metadata().nodata.is_none())
}

fn level_has_mask(input: &Dataset, place: &Place) -> bool {
    let level = input.pages().get(place.page).and_then(|page| page.levels.get(place.level));
    level.is_some_and(|level| level.mask.is_some())
}

/// Returns the meaning of the chosen bands: the colours of the input if all of them come first, else data.
fn meaning(image: &Image, bands: &[u16]) -> (Photometric, Vec<ExtraSample>) {
    let own = match colours_as_read(image) {
        // YCbCr that was not converted to RGB: an interleaved read would convert it.
        Photometric::Mask | Photometric::LogL | Photometric::LogLuv | Photometric::YCbCr => {
            Photometric::MinIsBlack
        }
        Photometric::Palette if image.colour.colour_map.is_none() => Photometric::MinIsBlack,
        other => other,
    };
    let colours = own.colour_samples();
    let kept = bands.iter().take(usize::from(colours)).copied().eq(1..=colours);
    let photometric = if kept { own } else { Photometric::MinIsBlack };
    let beyond = bands.iter().skip(usize::from(photometric.colour_samples()));
    let extra_of = |band: &u16| {
        let at = usize::from(band.saturating_sub(1)).checked_sub(usize::from(colours));
        at.and_then(|at| image.colour.extra_samples.get(at)).copied().unwrap_or(ExtraSample::Unspecified)
    };
    (photometric, beyond.map(extra_of).collect())
}

/// Names bands of a picture after their colours if the tags no longer express them.
fn name_colours(image: &Image, bands: &[u16], spec: &mut RasterSpec) {
    let own = colours_as_read(image);
    if !matches!(own, Photometric::Rgb | Photometric::Separated) || spec.photometric == Some(own) {
        return;
    }
    for (band, number) in spec.metadata.bands.iter_mut().zip(bands) {
        let at = usize::from(number.saturating_sub(1));
        let extra = at
            .checked_sub(usize::from(own.colour_samples()))
            .and_then(|at| image.colour.extra_samples.get(at));
        let name = names_of(own).get(at).copied().or(match extra {
            Some(ExtraSample::AssociatedAlpha | ExtraSample::UnassociatedAlpha) => Some("Alpha"),
            _ => None,
        });
        band.colour = band.colour.take().or_else(|| name.map(str::to_owned));
    }
    let (photometric, extra) = spec.colours();
    drop_told(&mut spec.metadata.bands, photometric, &extra);
}

/// Returns whether grey samples have a colour table. GDAL writes files like this if the table is set after the pixels.
pub(crate) fn has_grey_table(image: &Image) -> bool {
    image.colour.colour_map.is_some()
        && matches!(image.colour.photometric, Photometric::MinIsBlack | Photometric::MinIsWhite)
}

/// Returns the colours of samples after they are read: YCbCr of most codecs becomes RGB.
pub(crate) fn colours_as_read(image: &Image) -> Photometric {
    match image.colour.photometric {
        Photometric::YCbCr if image.colour.ycbcr.is_some() || is_picture(image.compression) => {
            Photometric::Rgb
        }
        other => other,
    }
}

/// Returns whether a codec returns RGB, whatever it stores.
fn is_picture(compression: Compression) -> bool {
    use Compression as C;
    matches!(
        compression,
        C::Jpeg | C::OldJpeg | C::WebP | C::JpegXl | C::Jpeg2000 | C::Jpeg2000YCbCr | C::Jpeg2000Rgb
    )
}

fn metadata_of(input: &Dataset, place: &Place, options: &ConvertOptions) -> Result<Metadata> {
    let target = input.target(place)?;
    let mut metadata = match place.page {
        0 => input.metadata().clone(),
        _ => Metadata::default(),
    };
    let all: Vec<_> = std::mem::take(&mut metadata.bands);
    let chosen = |&band: &u16| all.get(usize::from(band.saturating_sub(1))).cloned().unwrap_or_default();
    metadata.bands = target.bands.iter().map(chosen).collect();
    if target.bands.first() != Some(&1) {
        metadata.categories.clear();
    }
    let full = Place { window: None, level: 0, reduce: 0, ..place.clone() };
    let full = input.target(&full)?.image;
    let whole = (target.window.width, target.window.height) == (full.width, full.height);
    if !whole {
        // Statistics describe other pixels.
        for band in &mut metadata.bands {
            band.statistics = None;
            band.items.retain(|(name, _)| !name.starts_with("STATISTICS_"));
        }
    }
    let ratio = |full: u32, level: u32| f64::from(full) / f64::from(level.max(1));
    let scale = (ratio(full.width, target.image.width), ratio(full.height, target.image.height));
    let corner = (f64::from(target.window.column), f64::from(target.window.row));
    let geo = &mut metadata.georeference;
    geo.transform = input.stored_transform(place)?;
    for gcp in &mut geo.gcps {
        gcp.column = gcp.column / scale.0 - corner.0;
        gcp.row = gcp.row / scale.1 - corner.1;
    }
    if let Some(rpc) = &mut geo.rpc {
        // RPCs count from pixel centres.
        let moved = |v: f64, scale: f64, corner: f64| (v + 0.5) / scale - 0.5 - corner;
        rpc.sample = (moved(rpc.sample.0, scale.0, corner.0), rpc.sample.1 / scale.0);
        rpc.line = (moved(rpc.line.0, scale.1, corner.1), rpc.line.1 / scale.1);
    }
    change(&mut metadata, options);
    Ok(metadata)
}

/// Fails for a nodata value that no pixel can have.
pub(super) fn check_nodata(options: &ConvertOptions, data_type: DataType) -> std::result::Result<(), String> {
    let fits = |nodata: NoData| match nodata.for_type(data_type) {
        // Real numbers are rounded to the precision of the type.
        Some(_) => {
            use DataType as D;
            matches!(data_type, D::F16 | D::F32 | D::F64 | D::C64 | D::C128) || nodata.as_integer().is_some()
        }
        None => false,
    };
    match options.nodata {
        Some(Some(nodata)) if !fits(nodata) => {
            Err(format!("nodata {} cannot be stored in {} samples", nodata.to_text(), data_type.name()))
        }
        _ => Ok(()),
    }
}

/// Applies the options that change the metadata.
pub(super) fn change(metadata: &mut Metadata, options: &ConvertOptions) {
    let geo = &mut metadata.georeference;
    if let Some(transform) = options.transform {
        geo.transform = Some(transform);
        geo.gcps.clear();
    }
    if let Some(crs) = &options.crs {
        match geo.gcps.is_empty() || geo.transform.is_some() {
            true => geo.crs = Some(crs.clone()),
            false => geo.gcp_crs = Some(crs.clone()),
        }
    }
    if let Some(nodata) = options.nodata {
        metadata.nodata = nodata;
    }
}

/// Returns the write options, completed from the storage of the input.
pub(crate) fn write_options(
    input: &Dataset,
    place: &Place,
    spec: &RasterSpec,
    options: &ConvertOptions,
) -> Result<WriteOptions> {
    let image = input.target(place)?.image;
    let mut write = options.write.clone();
    use Compression as C;
    let odd = image.mixed_bits.is_none()
        && image.sample.format == SampleFormat::Uint
        && usize::from(image.sample.bits) < spec.data_type.size() * 8;
    if write.bits.is_none() && keeps_depth(write.compression) && odd && !options.changes_values() {
        write.bits = Some(image.sample.bits);
    }
    // JPEG stays JPEG, so that its blocks can be copied.
    if write.compression == C::Jpeg && image.compression == C::Jpeg && options.photometric.is_none() {
        let own = image.colour.ycbcr.map(|ycbcr| ycbcr.subsampling);
        let same_bands = spec.bands == 3 && write.planar == Planar::Chunky && image.planar == Planar::Chunky;
        write.ycbcr = write.ycbcr.or(own.filter(|_| same_bands));
    }
    write.ycbcr = picture_options(spec, &ConvertOptions { write: write.clone(), ..options.clone() }).ycbcr;
    Ok(write)
}

/// Returns whether a codec stores bytes, and therefore samples of any depth.
pub(crate) fn keeps_depth(compression: Compression) -> bool {
    use Compression as C;
    matches!(
        compression,
        C::None
            | C::PackBits
            | C::Lzw
            | C::Deflate
            | C::Zstd
            | C::Lz4
            | C::Lzma
            | C::CcittRle
            | C::CcittRleWord
            | C::CcittGroup3
            | C::CcittGroup4
    )
}

/// Returns the write options, completed from the kind of raster.
pub(crate) fn picture_options(spec: &RasterSpec, options: &ConvertOptions) -> WriteOptions {
    let mut write = options.write.clone();
    let (photometric, _) = spec.colours();
    let picture = photometric == Photometric::Rgb
        && spec.data_type == DataType::U8
        && spec.bands == 3
        && write.planar == Planar::Chunky;
    // As in GDAL's driver: a third of the size, for colour differences that are not visible.
    let jpeg = write.compression == Compression::Jpeg;
    if write.format == Format::Cog && jpeg && picture && options.photometric.is_none() {
        write.ycbcr.get_or_insert((2, 2));
    }
    write
}
