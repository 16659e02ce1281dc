//! GDAL's data besides pixels: nodata and metadata tags, `.aux.xml` sidecars, world files.
//!
//! Pure functions from text to facts and back. Other modules read and write the files.

mod metadata;
mod metadata_write;
mod nodata;
mod number;
pub mod pam;
mod pam_write;
pub mod world_file;
mod xml;
mod xml_write;

pub use metadata::{BandMetadata, Metadata, MetadataItem, Statistics};
pub use nodata::NoData;
pub use xml::{Element, XmlLimits};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Warnings;

    /// Each text is cut at every byte, and every byte is changed: readers return a value or a warning.
    #[test]
    fn no_text_makes_a_panic() {
        let texts = [
            "<PAMDataset><SRS>EPSG:4326</SRS><GCPList Projection=\"A[1]\"><GCP Pixel=\"1\" Line=\"2\" X=\"3\" Y=\"4\"/></GCPList><PAMRasterBand band=\"1\"><NoDataValue>1e3</NoDataValue></PAMRasterBand></PAMDataset>",
            "<GDALMetadata><Item name=\"S&amp;\" sample=\"0\" role=\"scale\">&amp;lt;1&#65;</Item></GDALMetadata>",
            "-1.5e+10",
            "1.#QNAN",
            "18446744073709551615",
            "10\n0\n0\n-10\n5\n5\n",
            "LINE_OFF: 1 pixels\nLINE_SCALE: é\n",
            "lineNumCoef = (1,\n2);",
        ];
        let read = |text: &str| {
            let mut warnings = Warnings::new();
            pam::Pam::parse(text, &mut warnings);
            Metadata::parse(text, &mut warnings).bands(1, &mut warnings);
            world_file::parse(text, &mut warnings);
            crate::geo::Rpc::from_text(text, &mut warnings);
            crate::geo::Rpc::from_rpb(text, &mut warnings);
            if let Some(nodata) = NoData::parse(text, &mut warnings) {
                for data_type in crate::DataType::ALL {
                    nodata.to_sample(data_type);
                    nodata.for_type(data_type);
                }
            }
        };
        for text in texts {
            for at in 0..=text.len() {
                read(&String::from_utf8_lossy(&text.as_bytes()[..at]));
                for byte in [0, b'<', b'>', b'&', b'"', b'e', b'9', b'-', b'/', 0xc3] {
                    let mut changed = text.as_bytes().to_vec();
                    if let Some(slot) = changed.get_mut(at) {
                        *slot = byte;
                    }
                    read(&String::from_utf8_lossy(&changed));
                }
            }
        }
    }
}
