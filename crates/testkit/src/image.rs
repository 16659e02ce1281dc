//! An image described by its properties (`ImageSpec`) and its pixels, turned into a directory.
//!
//! Only valid images can be described; to make an invalid one, change the `Directory` afterwards.

use crate::builder::{Built, Directory, FileOrder, TiffBuilder};
use crate::encode::Codec;
use crate::pack::BlockPixels;
use crate::pixels::Pixels;
use crate::tag::{Tag, Value};
use strile_tiff::{ByteOrder, Predictor, SampleFormat, SampleType};

/// The grid of blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grid {
    /// Full-width strips of that many rows.
    Strips(u32),
    /// Tiles, width and height.
    Tiles(u32, u32),
}

/// The properties of an image.
#[derive(Debug, Clone)]
pub struct ImageSpec {
    /// Stored sample.
    pub sample: SampleType,
    /// Strips or tiles.
    pub grid: Grid,
    /// Separate planes (PlanarConfiguration 2).
    pub planar: bool,
    /// The codec.
    pub codec: Codec,
    /// Predictor applied before compression.
    pub predictor: Predictor,
    /// FillOrder 2: bits of every stored byte reversed.
    pub reverse_bits: bool,
    /// PhotometricInterpretation; derived from the number of samples and the codec if `None`.
    pub photometric: Option<u16>,
    /// ExtraSamples; unspecified for all beyond the colours if `None`.
    pub extra_samples: Option<Vec<u16>>,
    /// NewSubfileType.
    pub subfile_type: u32,
    /// Indices of omitted blocks.
    pub sparse: Vec<usize>,
    /// Number of entries (0, 0) after the blocks' own offsets.
    pub extra_offsets: usize,
    /// Whether the last strip holds all its rows, also those below the image.
    pub whole_last_strip: bool,
    /// Additional entries; one of the same tag replaces the derived one.
    pub tags: Vec<Tag>,
}

impl ImageSpec {
    /// Returns uncompressed strips of 16 rows.
    pub fn new(sample: SampleType) -> Self {
        Self {
            sample,
            grid: Grid::Strips(16),
            planar: false,
            codec: Codec::None,
            predictor: Predictor::None,
            reverse_bits: false,
            photometric: None,
            extra_samples: None,
            subfile_type: 0,
            sparse: Vec::new(),
            extra_offsets: 0,
            whole_last_strip: false,
            tags: Vec::new(),
        }
    }

    /// Sets the grid.
    pub fn grid(mut self, grid: Grid) -> Self {
        self.grid = grid;
        self
    }

    /// Sets separate or interleaved planes.
    pub fn planar(mut self, planar: bool) -> Self {
        self.planar = planar;
        self
    }

    /// Sets the codec.
    pub fn codec(mut self, codec: Codec) -> Self {
        self.codec = codec;
        self
    }

    /// Sets the predictor.
    pub fn predictor(mut self, predictor: Predictor) -> Self {
        self.predictor = predictor;
        self
    }

    /// Sets the photometric interpretation.
    pub fn photometric(mut self, code: u16) -> Self {
        self.photometric = Some(code);
        self
    }

    /// Sets the subfile type: 1 reduced, 4 mask, 5 both.
    pub fn subfile_type(mut self, subfile_type: u32) -> Self {
        self.subfile_type = subfile_type;
        self
    }

    /// Omits blocks.
    pub fn sparse(mut self, blocks: &[usize]) -> Self {
        self.sparse = blocks.to_vec();
        self
    }

    /// Adds an entry.
    pub fn tag(mut self, tag: Tag) -> Self {
        self.tags.push(tag);
        self
    }

    /// Returns the blocks across and down, and the number of planes.
    pub fn block_counts(&self, pixels: &Pixels) -> (usize, usize, usize) {
        let planes = if self.planar { pixels.bands } else { 1 };
        match self.grid {
            Grid::Strips(rows) => (1, pixels.height.div_ceil(rows as usize), planes),
            Grid::Tiles(w, h) => {
                (pixels.width.div_ceil(w as usize), pixels.height.div_ceil(h as usize), planes)
            }
        }
    }

    /// Returns the pixels of one block; beyond the image's edge the nearest pixel is repeated.
    pub fn block_pixels(&self, pixels: &Pixels, index: usize) -> BlockPixels {
        let (across, down, _) = self.block_counts(pixels);
        let (plane, row, column) = (index / (across * down), index / across % down, index % across);
        let (width, height) = match self.grid {
            Grid::Strips(rows) => (pixels.width, rows as usize),
            Grid::Tiles(w, h) => (w as usize, h as usize),
        };
        let rows = match self.grid {
            Grid::Strips(_) if !self.whole_last_strip => height.min(pixels.height - row * height),
            _ => height,
        };
        let bands = if self.planar { plane..plane + 1 } else { 0..pixels.bands };
        let mut bytes = Vec::new();
        for y in 0..rows {
            for x in 0..width {
                for band in bands.clone() {
                    let y = (row * height + y).min(pixels.height - 1);
                    let x = (column * width + x).min(pixels.width - 1);
                    bytes.extend(pixels.sample(band, y, x));
                }
            }
        }
        BlockPixels { width, rows, samples: bands.len(), sample: self.sample, bytes }
    }

    /// Returns the directory of the image, with encoded blocks.
    pub fn directory(&self, pixels: &Pixels, order: ByteOrder, big: bool) -> Directory {
        let (across, down, planes) = self.block_counts(pixels);
        let mut directory = Directory { extra_offsets: self.extra_offsets, ..Directory::default() };
        for index in 0..across * down * planes {
            let block = (!self.sparse.contains(&index)).then(|| {
                let block = self.block_pixels(pixels, index);
                let mut encoded = self.codec.encode(&block, order, self.predictor, index);
                if self.reverse_bits {
                    encoded.iter_mut().for_each(|byte| *byte = byte.reverse_bits());
                }
                encoded
            });
            directory.blocks.push(block);
        }
        for tag in self.standard_tags(pixels, big) {
            directory.add(tag);
        }
        for tag in self.codec.tags(&self.block_pixels(pixels, 0)) {
            directory.set(tag);
        }
        for tag in &self.tags {
            directory.set(tag.clone());
        }
        directory
    }

    fn standard_tags(&self, pixels: &Pixels, big: bool) -> Vec<Tag> {
        let samples = pixels.bands;
        let offset_type = if big { 16 } else { 4 };
        let photometric =
            self.photometric.or(self.codec.photometric(samples)).unwrap_or(if samples == 3 { 2 } else { 1 });
        let colours = match photometric {
            2 | 6 | 8 => 3,
            5 => 4,
            _ => 1,
        };
        let format = match self.sample.format {
            SampleFormat::Uint => 1,
            SampleFormat::Int => 2,
            SampleFormat::Float => 3,
            SampleFormat::ComplexInt => 5,
            SampleFormat::ComplexFloat => 6,
        };
        let mut tags = vec![
            Tag::long(256, pixels.width as u32),
            Tag::long(257, pixels.height as u32),
            Tag::new(258, Value::Short(vec![self.sample.bits; samples])),
            Tag::short(259, self.codec.code()),
            Tag::short(262, photometric),
            Tag::short(277, samples as u16),
            Tag::short(284, if self.planar { 2 } else { 1 }),
            Tag::new(339, Value::Short(vec![format; samples])),
        ];
        match self.grid {
            Grid::Strips(rows) => tags.extend([
                Tag::new(273, Value::BlockOffsets(offset_type)),
                Tag::long(278, rows),
                Tag::new(279, Value::BlockCounts(4)),
            ]),
            Grid::Tiles(w, h) => tags.extend([
                Tag::short(322, w as u16),
                Tag::short(323, h as u16),
                Tag::new(324, Value::BlockOffsets(offset_type)),
                Tag::new(325, Value::BlockCounts(4)),
            ]),
        }
        if self.subfile_type != 0 {
            tags.push(Tag::long(254, self.subfile_type));
        }
        if self.reverse_bits {
            tags.push(Tag::short(266, 2));
        }
        match self.predictor {
            Predictor::None => {}
            Predictor::Horizontal => tags.push(Tag::short(317, 2)),
            Predictor::FloatingPoint => tags.push(Tag::short(317, 3)),
        }
        if samples > colours {
            let extra = self.extra_samples.clone().unwrap_or_else(|| vec![0; samples - colours]);
            tags.push(Tag::new(338, Value::Short(extra)));
        }
        tags
    }

    /// Returns a file with only this image.
    pub fn build(&self, pixels: &Pixels, order: ByteOrder, big: bool) -> Built {
        TiffBuilder::new(order, big).directory(self.directory(pixels, order, big)).build()
    }

    /// Returns a file of this image, followed by reduced or mask images in the chain.
    pub fn build_with(&self, pixels: &Pixels, others: &[(ImageSpec, Pixels)], frame: FileFrame) -> Built {
        let FileFrame { order, big, file_order } = frame;
        let mut builder = TiffBuilder::new(order, big).file_order(file_order);
        builder = builder.directory(self.directory(pixels, order, big));
        for (spec, pixels) in others {
            builder = builder.directory(spec.directory(pixels, order, big));
        }
        builder.build()
    }
}

/// Common properties of all images of a file.
#[derive(Debug, Clone, Copy)]
pub struct FileFrame {
    /// Byte order.
    pub order: ByteOrder,
    /// BigTIFF.
    pub big: bool,
    /// Order of the parts.
    pub file_order: FileOrder,
}

/// Returns the tags of a north-up georeference: ModelPixelScale, ModelTiepoint and GeoKeys with that EPSG code.
pub fn geo_tags(epsg: u16, (x, y): (f64, f64), pixel: f64, is_point: bool) -> Vec<Tag> {
    let geographic = (4000..5000).contains(&epsg);
    let keys = [
        [1, 1, 0, 3],
        [1024, 0, 1, if geographic { 2 } else { 1 }],
        [1025, 0, 1, if is_point { 2 } else { 1 }],
        [if geographic { 2048 } else { 3072 }, 0, 1, epsg],
    ];
    vec![
        Tag::new(33550, Value::Double(vec![pixel, pixel, 0.0])),
        Tag::new(33922, Value::Double(vec![0.0, 0.0, 0.0, x, y, 0.0])),
        Tag::new(34735, Value::Short(keys.concat())),
    ]
}

/// Returns a GDAL_NODATA tag.
pub fn nodata_tag(text: &str) -> Tag {
    Tag::ascii(42113, text)
}

/// Returns a GDAL_METADATA tag.
pub fn metadata_tag(xml: &str) -> Tag {
    Tag::ascii(42112, xml)
}
