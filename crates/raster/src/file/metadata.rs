//! Metadata of a file and its sidecars: georeferencing and the meaning of its values.

use super::dataset::Dataset;
use super::open::Files;
use super::pages::Level;
use std::path::Path;
use strile_tiff::gdal::{BandMetadata, Metadata as Items, MetadataItem, NoData, pam, world_file};
use strile_tiff::geo::{GeoTags, Georeference};
use strile_tiff::{DataType, Directory, FieldType, Tag, Warning, Warnings};

/// Everything a file says about its pixels: georeferencing, nodata, GDAL's metadata, and per-band names, scales and
/// colours.
///
/// [`Dataset::metadata`](crate::Dataset::metadata) returns it, and [`RasterSpec`](crate::RasterSpec) takes it for a new
/// file.
#[derive(Debug, Clone, Default)]
pub struct Metadata {
    /// Transform, reference system, control points.
    pub georeference: Georeference,
    /// The value that means "no data", as samples of the image can hold it.
    pub nodata: Option<NoData>,
    /// Metadata per band.
    pub bands: Vec<BandMetadata>,
    /// Items about the whole dataset.
    pub items: Vec<MetadataItem>,
    /// Names of the values of the first band.
    pub categories: Vec<String>,
}

/// Texts of sidecars.
#[derive(Debug, Default)]
pub(crate) struct Sidecars {
    aux_xml: Option<String>,
    world_file: Option<String>,
    /// Warnings about sidecars that cannot be read.
    unusable: Vec<Warning>,
}

impl Sidecars {
    /// Returns sidecars with texts that are already in memory.
    pub(crate) fn of_texts(aux_xml: Option<String>, world_file: Option<String>) -> Self {
        Self { aux_xml, world_file, ..Self::default() }
    }

    /// Reads `FILE.aux.xml` and the world file of `path`, if they exist.
    pub(crate) fn beside(path: &Path, files: &dyn Files) -> Self {
        let mut aux = path.as_os_str().to_owned();
        aux.push(".aux.xml");
        let extension = path.extension().map(|e| e.to_string_lossy().into_owned()).unwrap_or_default();
        let mut unusable = Vec::new();
        let mut text = |path: &Path| match files.text(path) {
            Ok(found) => found.map(|(text, _)| text),
            Err(error) => {
                let place = path.display().to_string();
                unusable.push(Warning::new("unusable-sidecar", place, format!("ignored: {error}")));
                None
            }
        };
        // `tif` becomes `tfw`; files with an upper-case extension have upper-case sidecars.
        let world = world_file::extensions(&extension).into_iter().find_map(|candidate| {
            let upper = candidate.to_uppercase();
            text(&path.with_extension(candidate)).or_else(|| text(&path.with_extension(upper)))
        });
        let aux_xml = text(Path::new(&aux));
        Self { aux_xml, world_file: world, unusable }
    }
}

impl Metadata {
    /// Returns the metadata of a directory and its sidecars. Sidecars take precedence.
    pub(crate) fn new(
        directory: &Directory,
        samples: u16,
        data_type: Option<DataType>,
        sidecars: &Sidecars,
        warnings: &mut Warnings,
    ) -> Self {
        for warning in &sidecars.unusable {
            warnings.push(warning.clone());
        }
        let items =
            directory.text(Tag::GDAL_METADATA).map(|xml| Items::parse(&xml, warnings)).unwrap_or_default();
        let pam = sidecars.aux_xml.as_deref().map(|xml| pam::Pam::parse(xml, warnings));
        let world = sidecars.world_file.as_deref().and_then(|text| world_file::parse(text, warnings));
        let mut georeference = pam::apply(georeference_of(directory, warnings), pam.as_ref(), world);
        if georeference.rpc.is_none() {
            georeference.rpc = items.rpc(warnings);
        }
        let nodata = pam.as_ref().and_then(|pam| pam.band(1)?.nodata).filter(|nodata| {
            // A value that no sample can equal masks nothing: the sidecar is wrong, and the file's own value counts.
            let is_a_sample = data_type.is_none_or(|data_type| nodata.to_sample(data_type).is_some());
            if let (false, Some(data_type)) = (is_a_sample, data_type) {
                let message =
                    format!("nodata {} cannot be a sample of type {data_type}; ignored", nodata.as_f64());
                warnings.push(Warning::new("nodata", ".aux.xml", message));
            }
            is_a_sample
        });
        let nodata = nodata.or_else(|| NoData::parse(&directory.text(Tag::GDAL_NODATA)?, warnings));
        if let (Some(nodata), Some(data_type)) = (nodata, data_type) {
            nodata.check(data_type, warnings);
        }
        let mut bands = items.bands(usize::from(samples), warnings);
        if let ([band], Some((scale, offset))) =
            (bands.as_mut_slice(), height_scale(directory, &georeference))
        {
            (band.scale, band.offset) = (Some(scale), Some(offset));
        }
        let mut all_items = items.items;
        let mut categories = Vec::new();
        if let Some(pam) = pam {
            for (number, band) in (1u32..).zip(&mut bands) {
                if let Some(over) = pam.band(number) {
                    *band = over.over(band);
                }
            }
            categories = pam.band(1).map(|band| band.categories.clone()).unwrap_or_default();
            all_items.extend(pam.items);
        }
        if let Some(unit) = &georeference.height_unit {
            for band in bands.iter_mut().filter(|band| band.unit.is_none()) {
                band.unit = Some(unit.name.clone());
            }
        }
        let items = all_items.into_iter().filter(|item| item.sample.is_none()).collect();
        let nodata = nodata.and_then(|value| data_type.map_or(Some(value), |t| value.for_type(t)));
        Self { georeference, nodata, bands, items, categories }
    }
}

impl Dataset {
    /// Returns the georeferencing of an overview beside the file; `None` if it has no GeoKeys of its own.
    pub fn own_georeference(&self, level: &Level) -> Option<Georeference> {
        let file = self.file(level.file).filter(|_| level.file != 0)?;
        let directory = file.tiff.directories.get(level.image.directory)?;
        directory.get(Tag::GeoKeyDirectoryTag)?;
        Some(georeference_of(directory, &mut Warnings::new()))
    }
}

/// Returns the scale and offset of a single band from the third values of the tags of the transform. GDAL keeps them
/// there if heights are referenced, and prefers them to its metadata.
fn height_scale(directory: &Directory, georeference: &Georeference) -> Option<(f64, f64)> {
    georeference.crs.as_ref()?.vertical.as_ref()?;
    let third = |tag, at: usize| directory.floats(tag).ok().flatten()?.get(at).copied();
    let scale = third(Tag::ModelPixelScaleTag, 2)?;
    let offset = third(Tag::ModelTiepointTag, 5)?;
    (scale.is_finite() && offset.is_finite() && (scale, offset) != (0.0, 0.0)).then_some((scale, offset))
}

pub(crate) fn georeference_of(directory: &Directory, warnings: &mut Warnings) -> Georeference {
    let mut floats = |tag: Tag| match directory.floats(tag) {
        Ok(values) => values,
        Err(error) => {
            warnings.push(Warning::new("geo-tag", tag.to_string(), format!("ignored: {error}")));
            None
        }
    };
    let double_params = floats(Tag::GeoDoubleParamsTag);
    let pixel_scale = floats(Tag::ModelPixelScaleTag);
    let tiepoints = floats(Tag::ModelTiepointTag);
    let transformation = floats(Tag::ModelTransformationTag);
    let rpc = floats(Tag::RPCCoefficientTag);
    let keys = directory.get(Tag::GeoKeyDirectoryTag).filter(|entry| entry.field_type == FieldType::Short);
    let keys = keys.and_then(|_| directory.integers(Tag::GeoKeyDirectoryTag).ok().flatten());
    let keys: Option<Vec<u16>> =
        keys.map(|keys| keys.into_iter().filter_map(|key| u16::try_from(key).ok()).collect());
    let tags = GeoTags {
        key_directory: keys.as_deref(),
        double_params: double_params.as_deref(),
        ascii_params: directory.bytes(Tag::GeoAsciiParamsTag),
        pixel_scale: pixel_scale.as_deref(),
        tiepoints: tiepoints.as_deref(),
        transformation: transformation.as_deref(),
        rpc: rpc.as_deref(),
    };
    Georeference::from_tags(&tags, warnings)
}
