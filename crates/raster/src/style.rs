//! QGIS styles that draw one band with colours between two values.

use crate::error::{Error, Result};
use crate::sink::{FileSink, Sink as _};
use std::fmt::Write as _;
use std::path::Path;

/// Colours at 0, 1/8, … 1 of matplotlib's colour maps of these names.
const RAMPS: [(&str, &str); 8] = [
    ("viridis", "440154 472d7b 3b528b 2c728e 21918c 28ae80 5ec962 addc30 fde725"),
    ("plasma", "0d0887 4c02a1 7e03a8 aa2395 cc4778 e66c5c f89540 fdc527 f0f921"),
    ("magma", "000004 1d1147 51127c 832681 b73779 e75263 fc8961 fec488 fcfdbf"),
    ("inferno", "000004 210c4a 57106e 8a226a bc3754 e45a31 f98e09 f9cb35 fcffa4"),
    ("cividis", "00224e 1a386f 434e6c 61656f 7d7c78 9b9476 bcae6c dec958 fee838"),
    ("greys", "ffffff f0f0f0 d9d9d9 bdbdbd 959595 727272 515151 242424 000000"),
    ("spectral", "9e0142 dd4a4c f98e52 fed481 ffffbe d6ee9b 86cfa5 3d95b8 5e4fa2"),
    ("terrain", "333399 0888ee 01cc66 81e680 fefe98 beac76 815e56 c1b0ac ffffff"),
];

/// Returns the names of the colour ramps.
pub fn ramps() -> impl Iterator<Item = &'static str> {
    RAMPS.iter().map(|(name, _)| *name)
}

/// Writes a QGIS style (`.qml`) that draws the first band in the colours of a ramp between two values. A file at `path`
/// is replaced.
///
/// ```no_run
/// strile::style::write_qml("dem.qml", "viridis", (0.0, 1200.0))?;
/// # Ok::<(), strile::Error>(())
/// ```
pub fn write_qml(path: impl AsRef<Path>, ramp: &str, bounds: (f64, f64)) -> Result<()> {
    let path = path.as_ref();
    let unknown = || Error::Request {
        file: path.display().to_string(),
        problem: format!("expected a ramp of {}, got `{ramp}`", ramps().collect::<Vec<_>>().join(", ")),
    };
    let (_, colours) = RAMPS.iter().find(|(name, _)| *name == ramp).ok_or_else(unknown)?;
    let mut sink = Box::new(FileSink::create(path, true)?);
    let stored = sink.append(qml(colours, bounds).as_bytes()).and_then(|()| sink.commit());
    stored.map_err(|error| Error::io(path, error))
}

fn qml(colours: &str, (low, high): (f64, f64)) -> String {
    let count = colours.split(' ').count();
    let share = |place: usize| {
        let number = |place: usize| u32::try_from(place).map_or(0.0, f64::from);
        number(place) / number(count.saturating_sub(1).max(1))
    };
    let rgba: Vec<String> = colours.split(' ').map(rgba).collect();
    let (first, last) = (rgba.first().cloned().unwrap_or_default(), rgba.last().cloned().unwrap_or_default());
    let inner = rgba.iter().enumerate().skip(1).take(count.saturating_sub(2));
    let stops: Vec<String> = inner.map(|(place, colour)| format!("{};{colour}", share(place))).collect();
    let options = [
        ("color1", first.as_str()),
        ("color2", &last),
        ("discrete", "0"),
        ("rampType", "gradient"),
        ("stops", &stops.join(":")),
    ];
    let mut entries = String::new();
    for (name, value) in options {
        let _cannot_fail =
            writeln!(entries, "            <Option name=\"{name}\" type=\"QString\" value=\"{value}\" />");
    }
    let mut items = String::new();
    for (place, colour) in colours.split(' ').enumerate() {
        let value = low + (high - low) * share(place);
        let _cannot_fail = writeln!(
            items,
            "          <item value=\"{value}\" color=\"#{colour}\" alpha=\"255\" label=\"{value}\" />"
        );
    }
    format!(
        r#"<!DOCTYPE qgis PUBLIC 'http://mrcc.com/qgis.dtd' 'SYSTEM'>
<qgis version="3.28.0" styleCategories="Symbology">
  <pipe>
    <rasterrenderer type="singlebandpseudocolor" band="1" opacity="1" alphaBand="-1" nodataColor="" classificationMin="{low}" classificationMax="{high}">
      <rastershader>
        <colorrampshader colorRampType="INTERPOLATED" classificationMode="1" clip="0" minimumValue="{low}" maximumValue="{high}">
          <colorramp name="[source]" type="gradient">
          <Option type="Map">
{entries}          </Option>
          </colorramp>
{items}        </colorrampshader>
      </rastershader>
    </rasterrenderer>
    <brightnesscontrast brightness="0" contrast="0" gamma="1" />
    <huesaturation saturation="0" colorizeOn="0" />
    <rasterresampler maxOversampling="2" />
  </pipe>
  <blendMode>0</blendMode>
</qgis>
"#
    )
}

/// Returns a colour in QGIS's notation.
fn rgba(hex: &str) -> String {
    let part =
        |at: usize| hex.get(at..at + 2).and_then(|byte| u8::from_str_radix(byte, 16).ok()).unwrap_or(0);
    format!("{},{},{},255", part(0), part(2), part(4))
}

#[cfg(test)]
mod tests {
    use super::*;
    use strile_tiff::gdal::Element;

    #[test]
    fn styles_are_xml_with_a_colour_per_stop() {
        let text = qml(RAMPS[0].1, (1.0, 9.0));
        let root = Element::parse(text.split_once('\n').unwrap().1).unwrap();
        let shader = root.child("pipe").and_then(|pipe| pipe.child("rasterrenderer"));
        let shader =
            shader.and_then(|r| r.child("rastershader")).and_then(|r| r.child("colorrampshader")).unwrap();
        let items: Vec<_> =
            shader.all("item").map(|item| item.attribute("value").unwrap().to_owned()).collect();
        assert_eq!(items, ["1", "2", "3", "4", "5", "6", "7", "8", "9"]);
        assert!(text.contains("stops\" type=\"QString\" value=\"0.125;71,45,123,255:0.25;"), "{text}");
        assert!(ramps().count() == 8 && write_qml("a.qml", "nothing", (0.0, 1.0)).is_err());
    }
}
