//! World files (`.tfw`, `.wld`): six numbers, one per line.
//!
//! They describe pixel centres; the resulting transform is for corners. They are used only if neither the file itself
//! nor an `.aux.xml` has a transform.

use crate::geo::{GeoTransform, GeoWarningCode as Code};
use crate::{Warning, Warnings};

/// Parses the text; returns `None` with a warning if it does not have six usable numbers.
pub fn parse(text: &str, warnings: &mut Warnings) -> Option<GeoTransform> {
    let mut bad = |message: String| {
        warnings.push(Warning::new(Code::BadWorldFile, "world file", message));
        None
    };
    let mut values = [0.0; 6];
    // Blank lines are common at the end and harmless in between.
    let mut words = text.trim_start_matches('\u{feff}').split_whitespace();
    for (i, slot) in values.iter_mut().enumerate() {
        let number = words.next().and_then(|w| w.replace(',', ".").parse().ok());
        match number.filter(|v: &f64| v.is_finite()) {
            Some(v) => *slot = v,
            None => return bad(format!("line {} is missing or no number; ignored", i + 1)),
        }
    }
    let [a, d, b, e, c, f] = values;
    let centre = GeoTransform { a, b, c, d, e, f };
    if centre.inverse().is_none() {
        return bad("its matrix has no inverse; ignored".to_owned());
    }
    Some(centre.centre_to_corner())
}

/// Returns the possible extensions of a world file for a file with this extension, in the order in which they are
/// tried: `tif` gives `tfw`, `tifw`, `wld`.
pub fn extensions(extension: &str) -> Vec<String> {
    let mut out = Vec::new();
    let chars: Vec<char> = extension.chars().collect();
    if let (Some(first), Some(last), true) = (chars.first(), chars.last(), chars.len() >= 2) {
        out.push(format!("{first}{last}w"));
        out.push(format!("{extension}w"));
    }
    out.push("wld".to_owned());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn centre_becomes_corner() {
        let t = parse("10.0\r\n0\r\n0\r\n-10\r\n5\r\n295\r\n", &mut Warnings::new()).unwrap();
        assert_eq!(t.coefficients(), [10.0, 0.0, 0.0, 0.0, -10.0, 300.0]);
    }

    #[test]
    fn short_and_flat_files_are_told() {
        for text in ["", "1 2 3 4 5", "1 0 0 x 0 0", "0 0 0 0 5 5", "1 0 0 inf 0 0"] {
            let mut warnings = Warnings::new();
            assert_eq!(parse(text, &mut warnings), None, "{text}");
            assert_eq!(warnings.len(), 1);
        }
    }

    #[test]
    fn names() {
        assert_eq!(extensions("tif"), ["tfw", "tifw", "wld"]);
        assert_eq!(extensions("TIFF"), ["TFw", "TIFFw", "wld"]);
        assert_eq!(extensions(""), ["wld"]);
    }
}
