//! Properties of a file that becomes a source: a TIFF or another VRT.

use super::IndexOptions;
use crate::colours::{colours_of, eight_bits};
use crate::convert::tags_of;
use crate::error::{Error, Result};
use crate::file::dataset::Dataset;
use crate::file::input::Input;
use crate::file::metadata::Metadata;
use crate::file::stated::WORDS;
use crate::options::Place;
use crate::read::MaskSource;
use crate::vrt::{Vrt, VrtOptions};
use std::path::{Path, PathBuf};
use strile_tiff::gdal::{MetadataItem, NoData};
use strile_tiff::geo::{GeoTransform, Georeference};
use strile_tiff::{DataType, Photometric, SampleFormat, Tag};

/// A file that becomes a source of the VRT.
pub(super) struct Tile {
    /// The path as given, for messages.
    pub(super) name: String,
    /// The resolved path.
    pub(super) path: PathBuf,
    pub(super) size: (u32, u32),
    pub(super) bands: u16,
    pub(super) data_type: DataType,
    /// Bits of a sample, if fewer than those of the type.
    pub(super) bits: Option<u32>,
    pub(super) transform: GeoTransform,
    pub(super) nodata: Option<NoData>,
    pub(super) block: (u32, u32),
    /// GDAL's colour interpretation of each band; `None` if unknown.
    pub(super) colours: Vec<Option<String>>,
    /// Red, green, blue and alpha of the values of the first band.
    pub(super) colour_table: Vec<[u16; 4]>,
    pub(super) has_mask: bool,
    pub(super) alpha: Option<u16>,
    pub(super) metadata: Metadata,
    /// Properties that a VRT cannot hold.
    pub(super) lost: Vec<String>,
}

impl Tile {
    pub(super) fn open(path: &Path, options: &IndexOptions) -> Result<Self> {
        let name = path.display().to_string();
        let refuse = |problem: String| Error::Request { file: name.clone(), problem };
        let mosaics = VrtOptions { allow_outside: true, open: options.open.clone(), ..VrtOptions::default() };
        let input = Input::open_with(path, &mosaics)?;
        let metadata = input.metadata().clone();
        let transform = placed(&metadata.georeference).map_err(refuse)?;
        let path = path.canonicalize().map_err(|error| Error::io(path, error))?;
        let nodata = options.nodata.unwrap_or(metadata.nodata);
        let mut tile = Self {
            name: name.clone(),
            path,
            size: (0, 0),
            bands: 0,
            data_type: DataType::U8,
            bits: None,
            transform,
            nodata,
            block: (128, 128),
            colours: Vec::new(),
            colour_table: Vec::new(),
            has_mask: false,
            alpha: None,
            metadata,
            lost: Vec::new(),
        };
        match &input {
            Input::Tiff(dataset) => tile.describe(dataset)?,
            Input::Vrt(vrt) => tile.describe_vrt(vrt),
        }
        // Items that GDAL and strile derive from the file itself.
        tile.metadata
            .items
            .retain(|item| !["IMAGE_STRUCTURE", "DERIVED_SUBDATASETS"].contains(&item.domain.as_str()));
        Ok(tile)
    }

    fn describe(&mut self, dataset: &Dataset) -> Result<()> {
        let image = dataset.target(&Place::default())?.image;
        let data_type = image.sample.data_type();
        let data_type =
            data_type.ok_or_else(|| dataset.refuse(format!("{} samples are not read", image.sample)))?;
        self.size = (image.width, image.height);
        self.bands = image.samples;
        // A VRT has no half floats; GDAL reads them as `Float32`.
        self.data_type = if data_type == DataType::F16 { DataType::F32 } else { data_type };
        let is_short = usize::from(image.sample.bits) < data_type.size() * 8 && image.mixed_bits.is_none();
        self.bits = (is_short && image.sample.format == SampleFormat::Uint).then(|| image.sample.bits.into());
        self.block = (image.grid.block_width, image.grid.block_height);
        self.has_mask = dataset.mask_source(&Place::default())? == MaskSource::Image;
        self.alpha = match MaskSource::of(&image, false) {
            MaskSource::Alpha(band) => Some(band),
            _ => None,
        };
        let own = colours_of(&image);
        let stated =
            self.metadata.bands.iter().map(|band| band.colour.clone()).chain(std::iter::repeat(None));
        self.colours = own.into_iter().zip(stated).map(|(own, stated)| stated.or(own)).collect();
        if let Some(map) = &image.colour.colour_map {
            let (table, is_exact) = eight_bits(map);
            self.colour_table = table;
            if !is_exact {
                self.lost.push("the lower 8 bits of its colours".into());
            }
        }
        if image.colour.photometric == Photometric::MinIsWhite {
            self.lost.push("that 0 is white".into());
        }
        if image.orientation != 1 {
            self.lost.push(format!("Orientation {}", image.orientation));
        }
        if dataset.pages().len() > 1 {
            self.lost.push(format!("pages 2 to {}", dataset.pages().len()));
        }
        self.take_tags(dataset);
        Ok(())
    }

    /// Converts tags with text to GDAL's items for them. Other tags are lost.
    fn take_tags(&mut self, dataset: &Dataset) {
        let directory = dataset.tiff().and_then(|tiff| tiff.directories.first());
        for (tag, _) in tags_of(dataset, &Place::default(), &mut self.lost) {
            let text = directory.and_then(|directory| directory.text(tag));
            match (WORDS.iter().find(|(known, _)| *known == tag), text) {
                (Some((_, name)), Some(value)) => self.metadata.items.push(MetadataItem {
                    name: (*name).into(),
                    domain: String::new(),
                    sample: None,
                    role: None,
                    value: value.trim_end_matches('\0').to_owned(),
                }),
                _ if tag == Tag::Orientation => {}
                _ => self.lost.push(format!("tag {tag}")),
            }
        }
    }

    fn describe_vrt(&mut self, vrt: &Vrt) {
        self.size = (vrt.width(), vrt.height());
        self.bands = vrt.bands();
        self.data_type = vrt.data_type();
        self.bits = vrt.bits(1);
        self.colours = self.metadata.bands.iter().map(|band| band.colour.clone()).collect();
        self.colour_table = vrt.colour_table(1).to_vec();
        self.has_mask = vrt.has_mask();
        self.alpha = vrt.alpha();
    }

    /// Returns whether the validity of its pixels must be read from the file: a mask, or an alpha band.
    pub(super) fn is_masked(&self) -> bool {
        self.has_mask || self.alpha.is_some()
    }
}

/// Returns the transform of a file that a VRT can combine with others, or why it cannot.
fn placed(georeference: &Georeference) -> std::result::Result<GeoTransform, String> {
    const UPRIGHT: &str = "and a VRT lays out north-up files only: warp the file first (`strile warp`)";
    let Some(transform) = georeference.transform else {
        return Err(if !georeference.gcps.is_empty() {
            let count = georeference.gcps.len();
            format!("is placed by {count} ground control points instead of a geotransform, {UPRIGHT}")
        } else if georeference.rpc.is_some() {
            format!("is placed by RPCs (a camera model) instead of a geotransform, {UPRIGHT}")
        } else {
            "has no georeference, so a VRT cannot place it beside other files: assign one first, with the \
             `transform` of `convert`"
                .to_owned()
        });
    };
    if transform.is_north_up() {
        return Ok(transform);
    }
    Err(if !transform.is_axis_aligned() {
        format!("has a rotated or sheared grid, {UPRIGHT}")
    } else if transform.a <= 0.0 {
        format!("has columns that run from east to west, {UPRIGHT}")
    } else {
        format!("is south-up (its first row is the southernmost), {UPRIGHT}")
    })
}
