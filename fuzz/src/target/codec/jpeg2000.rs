//! JPEG 2000 streams with what no fixture has: code-block styles, layers, orders, tile-parts, high throughput.

use super::Seed;
use std::sync::Arc;
use strile_engine::BlockLayout;
use strile_tiff::{Compression, DataType, SampleFormat, SampleType};

macro_rules! streams {
    ($($name:literal),*) => {
        [$(($name, include_bytes!(concat!(
            "../../../../crates/codestream/tests/data/jpeg2000/",
            $name,
            ".j2k"
        )).as_slice())),*]
    };
}

pub(super) fn seeds() -> Vec<Seed> {
    let streams = streams![
        "bypass",
        "termall",
        "all_styles",
        "layers_sop",
        "rlcp",
        "97",
        "parts",
        "sparse",
        "wide",
        "ht_gray16",
        "ht_lossy"
    ];
    streams.into_iter().map(|(name, stream)| seed(name, stream)).collect()
}

fn seed(name: &str, stream: &[u8]) -> Seed {
    let size = strile_codestream::jpeg2000::size(stream).unwrap();
    let bits = size.components[0].bits;
    let data_type = if bits > 8 { DataType::U16 } else { DataType::U8 };
    let (width, height) = (size.area.width(), size.area.height());
    let layout = BlockLayout {
        sample: SampleType { format: SampleFormat::Uint, bits: u16::from(bits) },
        compression: Compression::Jpeg2000,
        ..BlockLayout::stored(data_type, (width, height), size.components.len() as u16)
    };
    Seed { name: name.to_owned(), layout: Arc::new(layout), rows: height, stream: stream.to_vec() }
}
