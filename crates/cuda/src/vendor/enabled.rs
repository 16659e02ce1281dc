//! Libraries with the feature `vendor`.

pub mod nvcomp;
pub mod nvjpeg2000;

pub(crate) use nvcomp::{Call, Compressing, Compressor, Decoders};
pub(crate) use nvjpeg2000::{Pictures, Recipe, Source};

use super::{NVCOMP, NVJPEG2000, Shape};
use crate::device::Device;
use crate::encode::codec::Effort;
use crate::encode::plan::{How, on_device};
use std::sync::{Arc, Mutex, PoisonError};
use strile_engine::{BlockLayout, EncodeLayout};
use strile_tiff::Compression;

/// The encoders of libraries, for one device. A library that is not found is searched for again at the next request.
#[derive(Debug, Default)]
pub(crate) struct Encoders {
    pictures: Mutex<Option<Arc<Pictures>>>,
}

impl Encoders {
    /// Returns how blocks of a layout are encoded by the library of that name, or why they cannot be. The device's
    /// context must be bound.
    pub(crate) fn how(
        &self,
        device: &Arc<Device>,
        (name, effort): (&str, u8),
        layout: &EncodeLayout,
    ) -> Result<How, String> {
        match name {
            NVCOMP => by_nvcomp(layout, effort),
            NVJPEG2000 => {
                self.pictures(device)?;
                by_nvjpeg2000(layout)
            }
            _ => Err(unknown(name)),
        }
    }

    /// Returns the name and version of a library, or why it cannot be used, in which case every layout is refused.
    pub(crate) fn name(&self, device: &Arc<Device>, (name, effort): (&str, u8)) -> String {
        let named = match name {
            NVCOMP => Compressor::open(nvcomp::Codec::Deflate, effort)
                .map(|compressor| compressor.name())
                .map_err(|error| error.to_string()),
            NVJPEG2000 => self.pictures(device).map(|pictures| pictures.name()),
            _ => Err(unknown(name)),
        };
        named.unwrap_or_else(|problem| problem)
    }

    /// Returns the encoder of pictures, opened at its first use.
    pub(crate) fn pictures(&self, device: &Arc<Device>) -> Result<Arc<Pictures>, String> {
        let mut opened = self.pictures.lock().unwrap_or_else(PoisonError::into_inner);
        match &*opened {
            Some(pictures) => Ok(Arc::clone(pictures)),
            None => {
                let pictures = Arc::new(Pictures::open(device).map_err(|error| error.to_string())?);
                Ok(Arc::clone(opened.insert(pictures)))
            }
        }
    }
}

fn unknown(name: &str) -> String {
    format!("CUDA devices have no encoder library `{name}`")
}

/// Returns how blocks of a layout are encoded on the device by nvCOMP, or why they cannot be.
fn by_nvcomp(layout: &EncodeLayout, effort: u8) -> Result<How, String> {
    let name = layout.block.compression.name();
    let codec = nvcomp::Codec::of(layout.block.compression)
        .ok_or_else(|| format!("nvCOMP does not write {name} here, Deflate and ZSTD alone"))?;
    let how = on_device(layout).map_err(|reason| format!("not by nvCOMP: {reason}"))?;
    if how.narrow {
        return Err(format!("nvCOMP does not write samples of {} bits here", layout.block.sample.bits));
    }
    let compressor = Compressor::open(codec, effort).map_err(|error| error.to_string())?;
    let len = how.recipe.packed_len(layout.block.height).unwrap_or(u32::MAX);
    let room = compressor.room(len).map_err(|error| error.to_string())?;
    let room = u32::try_from(room).ok().and_then(|room| room.checked_next_multiple_of(16));
    let room = room.ok_or_else(|| format!("nvCOMP takes too much memory for blocks of {len} bytes"))?;
    // Queries the library now, so that a library that cannot encode this is an error before anything is written.
    compressor.memory(Shape::of([len].into_iter())).map_err(|error| error.to_string())?;
    Ok(How { by: Some((compressor, room)), effort: Effort::default(), ..how })
}

/// Returns how blocks of a layout are encoded on the device by nvJPEG2000, or why they cannot be; their samples are cut
/// as if they were stored.
fn by_nvjpeg2000(layout: &EncodeLayout) -> Result<How, String> {
    let block = &*layout.block;
    if block.compression != Compression::Jpeg2000 {
        return Err(format!("nvJPEG2000 does not write {}", block.compression.name()));
    }
    let picture = Recipe::of(layout)?;
    let mut stored = BlockLayout::stored(block.data_type, (block.width, block.height), block.samples);
    stored.extras.fill = block.extras.fill;
    let how = on_device(&EncodeLayout { block: Arc::new(stored), ..layout.clone() });
    let how = how.map_err(|reason| format!("not by nvJPEG2000: {reason}"))?;
    Ok(How { picture: Some(picture), ..how })
}
