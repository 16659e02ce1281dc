//! Pictures and samples as files: PNG, JPEG, WebP, NPY, GeoTIFF.

use super::render::TileImage;
use crate::answer::Refusal;
use crate::reading::Samples;
use http::StatusCode;
use strile::io::MemorySink;
use strile::number::{to_little_endian, writer};
use strile::read::Interleave;
use strile::tiff::gdal::NoData;
use strile::tiff::geo::{Crs, GeoTransform};
use strile::write::{BlockChoice, Piece};
use strile::{Context, DataType, Processor, RasterSpec, Window, WriteOptions, Writer, npy};

/// Quality of JPEG and WebP.
const QUALITY: u8 = 85;

/// Output format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Png,
    Jpeg,
    Webp,
    Npy,
    Tiff,
}

impl Format {
    pub(crate) fn parse(text: &str) -> Result<Self, Refusal> {
        match text.to_ascii_lowercase().as_str() {
            "png" => Ok(Self::Png),
            "jpg" | "jpeg" => Ok(Self::Jpeg),
            "webp" => Ok(Self::Webp),
            "npy" => Ok(Self::Npy),
            "tif" | "tiff" => Ok(Self::Tiff),
            _ => Err(Refusal::bad("expected a tile that ends in .png, .jpg, .webp, .npy or .tif")),
        }
    }

    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Webp => "image/webp",
            Self::Npy => "application/x-binary",
            Self::Tiff => "image/tiff; application=geotiff",
        }
    }

    /// Returns whether samples are sent unchanged rather than as a picture.
    pub(crate) fn is_data(self) -> bool {
        matches!(self, Self::Npy | Self::Tiff)
    }
}

fn failed(error: impl std::fmt::Display) -> Refusal {
    Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, format!("cannot encode the answer: {error}"))
}

/// Encodes a picture as a file.
pub(crate) fn picture(picture: TileImage, format: Format) -> Result<Vec<u8>, Refusal> {
    match format {
        Format::Jpeg => {
            let picture = picture.opaque();
            let side = |side: u32| u16::try_from(side).map_err(failed);
            let mut bytes = Vec::new();
            let encoder = jpeg_encoder::Encoder::new(&mut bytes, QUALITY);
            let (width, height) = (side(picture.width)?, side(picture.height)?);
            encoder.encode(&picture.colours, width, height, jpeg_encoder::ColorType::Rgb).map_err(failed)?;
            Ok(bytes)
        }
        Format::Webp => {
            let picture = picture.in_colour();
            let (pixels, channels) = picture.with_alpha();
            let encoder = match channels {
                3 => webp::Encoder::from_rgb(&pixels, picture.width, picture.height),
                _ => webp::Encoder::from_rgba(&pixels, picture.width, picture.height),
            };
            let encoded = encoder
                .encode_simple(false, f32::from(QUALITY))
                .map_err(|error| failed(format!("{error:?}")))?;
            Ok(encoded.to_vec())
        }
        _ => {
            let (pixels, channels) = picture.with_alpha();
            png(&pixels, (picture.width, picture.height), channels).map_err(failed)
        }
    }
}

/// Encodes 8-bit pixels as PNG; two channels are grey and alpha, four are colours and alpha.
pub(crate) fn png(
    pixels: &[u8],
    (width, height): (u32, u32),
    channels: usize,
) -> Result<Vec<u8>, png::EncodingError> {
    let mut bytes = Vec::with_capacity(pixels.len() / 2);
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(match channels {
        1 => png::ColorType::Grayscale,
        2 => png::ColorType::GrayscaleAlpha,
        3 => png::ColorType::Rgb,
        _ => png::ColorType::Rgba,
    });
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::Fast);
    // Choosing among all filters per row takes longer than compressing.
    encoder.set_filter(png::Filter::Up);
    let mut file = encoder.write_header()?;
    file.write_image_data(pixels)?;
    file.finish()?;
    Ok(bytes)
}

/// Encodes samples as a numpy array, (band, row, column), with the validity (0 or 255) as its last band, like titiler.
pub(crate) fn npy(samples: &Samples) -> Vec<u8> {
    let shape = [samples.bands as u64 + 1, samples.height.into(), samples.width.into()];
    let mut bytes = npy::header(samples.data_type, shape);
    let start = bytes.len();
    bytes.extend(&samples.pixels);
    let write = writer(samples.data_type);
    let is_complex = strile::number::is_complex(samples.data_type);
    for at in 0..samples.plane() {
        let valid = samples.valid.as_ref().and_then(|valid| valid.get(at)).copied().unwrap_or(255);
        // Signed 8-bit integers cannot hold 255.
        let valid = if samples.data_type == DataType::I8 { valid.min(127) } else { valid };
        write(f64::from(valid), &mut bytes);
        if is_complex {
            write(0.0, &mut bytes);
        }
    }
    to_little_endian(bytes.get_mut(start..).unwrap_or_default(), samples.data_type);
    bytes
}

/// Encodes samples as a GeoTIFF; missing pixels are in its mask.
pub(crate) fn tiff(
    samples: &Samples,
    place: Option<(GeoTransform, Option<Crs>)>,
    nodata: Option<NoData>,
    context: &Context,
) -> Result<Vec<u8>, Refusal> {
    let bands = u16::try_from(samples.bands).map_err(failed)?;
    let mut spec = RasterSpec::new(samples.width, samples.height, bands, samples.data_type);
    spec.mask = samples.valid.is_some() && nodata.is_none();
    spec.metadata.nodata = nodata;
    if let Some((transform, crs)) = place {
        spec.metadata.georeference.transform = Some(transform);
        spec.metadata.georeference.crs = crs;
    }
    let options = WriteOptions::new()
        .level(1)
        .blocks(BlockChoice::Tiles { width: 256, height: 256 })
        .encode_on(Processor::Cpu);
    let sink = MemorySink::new();
    let file = sink.handle();
    let mut writer = Writer::create(Box::new(sink), spec.clone(), &options, context)?;
    let window = Window::full(samples.width, samples.height);
    let piece = Piece::contiguous(window, bands, samples.data_type, Interleave::BandFirst, &samples.pixels);
    let piece = piece.map_err(failed)?;
    match samples.valid.as_deref().filter(|_| spec.mask) {
        Some(mask) => writer.write(&piece.with_mask(mask))?,
        None => writer.write(&piece)?,
    }
    writer.finish()?;
    Ok(file.take().map(|file| file.bytes).unwrap_or_default())
}
