//! Rational polynomial coefficients: from tag RPCCoefficient (50844) and from text.

use super::warning::GeoWarningCode as Code;
use crate::{Warning, Warnings};

/// A rational polynomial camera model, with the names of the RPC00B format.
#[derive(Debug, Clone, PartialEq)]
pub struct Rpc {
    /// Bias error in metres; absent if unknown.
    pub err_bias: Option<f64>,
    /// Random error in metres; absent if unknown.
    pub err_rand: Option<f64>,
    /// Offset and scale of the line.
    pub line: (f64, f64),
    /// Offset and scale of the sample.
    pub sample: (f64, f64),
    /// Offset and scale of the latitude in degrees.
    pub latitude: (f64, f64),
    /// Offset and scale of the longitude in degrees.
    pub longitude: (f64, f64),
    /// Offset and scale of the height in metres.
    pub height: (f64, f64),
    /// Numerator of the line.
    pub line_numerator: [f64; 20],
    /// Denominator of the line.
    pub line_denominator: [f64; 20],
    /// Numerator of the sample.
    pub sample_numerator: [f64; 20],
    /// Denominator of the sample.
    pub sample_denominator: [f64; 20],
}

impl Rpc {
    /// Creates a model from the tag's 92 numbers.
    pub fn from_tag(values: &[f64], warnings: &mut Warnings) -> Option<Self> {
        let place = "RPCCoefficient";
        let mut bad = |message: String| {
            warnings.push(Warning::new(Code::BadRpc, place, message));
            None
        };
        if values.len() != 92 {
            return bad(format!("expected 92 values, got {}; ignored", values.len()));
        }
        if values.iter().any(|v| !v.is_finite()) {
            return bad("a coefficient is not finite; ignored".to_owned());
        }
        let (head, rest) = values.split_first_chunk::<12>()?;
        let [bias, rand, lo, so, lao, loo, ho, ls, ss, las, los, hs] = *head;
        let (line_numerator, rest) = rest.split_first_chunk::<20>()?;
        let (line_denominator, rest) = rest.split_first_chunk::<20>()?;
        let (sample_numerator, rest) = rest.split_first_chunk::<20>()?;
        let (sample_denominator, _) = rest.split_first_chunk::<20>()?;
        Some(Self {
            err_bias: Some(bias).filter(|v| *v >= 0.0),
            err_rand: Some(rand).filter(|v| *v >= 0.0),
            line: (lo, ls),
            sample: (so, ss),
            latitude: (lao, las),
            longitude: (loo, los),
            height: (ho, hs),
            line_numerator: *line_numerator,
            line_denominator: *line_denominator,
            sample_numerator: *sample_numerator,
            sample_denominator: *sample_denominator,
        })
    }

    /// Returns the tag's 92 numbers; an unknown error is -1.
    pub fn to_tag(&self) -> Vec<f64> {
        let pairs = [self.line, self.sample, self.latitude, self.longitude, self.height];
        let mut values = vec![self.err_bias.unwrap_or(-1.0), self.err_rand.unwrap_or(-1.0)];
        values.extend(pairs.iter().map(|pair| pair.0));
        values.extend(pairs.iter().map(|pair| pair.1));
        values.extend(self.line_numerator.iter().chain(&self.line_denominator));
        values.extend(self.sample_numerator.iter().chain(&self.sample_denominator));
        values
    }

    /// Creates a model from named values: GDAL's RPC metadata domain and `_RPC.TXT` files (`LINE_OFF: 1.5 pixels`, with
    /// the coefficients as one list or as `LINE_NUM_COEFF_1` to `_20`).
    pub fn from_items<'a>(
        items: impl IntoIterator<Item = (&'a str, &'a str)>,
        warnings: &mut Warnings,
    ) -> Option<Self> {
        let items: Vec<(String, &str)> =
            items.into_iter().take(1000).map(|(k, v)| (k.trim().to_ascii_uppercase(), v)).collect();
        let mut missing = None;
        let mut number = |name: &str| {
            let text = items.iter().find(|(k, _)| k == name).map(|(_, v)| *v);
            let value = text.and_then(first_number);
            if value.is_none() {
                missing.get_or_insert_with(|| name.to_owned());
            }
            value.unwrap_or(f64::NAN)
        };
        let mut pair = |name: &str| (number(&format!("{name}_OFF")), number(&format!("{name}_SCALE")));
        let line = pair("LINE");
        let sample = pair("SAMP");
        let latitude = pair("LAT");
        let longitude = pair("LONG");
        let height = pair("HEIGHT");
        let mut coefficients = |name: &str| -> [f64; 20] {
            let list = items.iter().find(|(k, _)| k == name).map(|(_, v)| *v);
            let listed: Option<Vec<f64>> =
                list.map(|v| v.split_whitespace().map_while(first_number).collect());
            match listed.as_deref().map(<[f64; 20]>::try_from) {
                Some(Ok(values)) => values,
                _ => std::array::from_fn(|i| number(&format!("{name}_{}", i + 1))),
            }
        };
        let rpc = Self {
            line,
            sample,
            latitude,
            longitude,
            height,
            line_numerator: coefficients("LINE_NUM_COEFF"),
            line_denominator: coefficients("LINE_DEN_COEFF"),
            sample_numerator: coefficients("SAMP_NUM_COEFF"),
            sample_denominator: coefficients("SAMP_DEN_COEFF"),
            err_bias: items.iter().find(|(k, _)| k == "ERR_BIAS").and_then(|(_, v)| first_number(v)),
            err_rand: items.iter().find(|(k, _)| k == "ERR_RAND").and_then(|(_, v)| first_number(v)),
        };
        match missing {
            None => Some(rpc),
            Some(name) => {
                let message = format!("`{name}` is missing or no number; ignored");
                warnings.push(Warning::new(Code::BadRpc, "RPC", message));
                None
            }
        }
    }

    /// Parses the text of an `.RPB` file: `name = value;`, with lists in parentheses.
    pub fn from_rpb(text: &str, warnings: &mut Warnings) -> Option<Self> {
        let statements = text.split(';').take(1000).filter_map(|s| s.rsplit_once('='));
        let items: Vec<(&str, String)> = statements
            .filter_map(|(name, value)| {
                let name = name.split_whitespace().next_back()?;
                let (_, name) = RPB_NAMES.iter().find(|(n, _)| *n == name)?;
                Some((*name, value.replace(['(', ')', ','], " ")))
            })
            .collect();
        Self::from_items(items.iter().map(|(name, value)| (*name, value.as_str())), warnings)
    }

    /// Parses the text of a `_RPC.TXT` file: `NAME: value unit` on each line.
    pub fn from_text(text: &str, warnings: &mut Warnings) -> Option<Self> {
        Self::from_items(text.lines().filter_map(|line| line.split_once(':')), warnings)
    }
}

/// Names in an `.RPB` file and in RPC00B.
const RPB_NAMES: [(&str, &str); 16] = [
    ("lineOffset", "LINE_OFF"),
    ("sampOffset", "SAMP_OFF"),
    ("latOffset", "LAT_OFF"),
    ("longOffset", "LONG_OFF"),
    ("heightOffset", "HEIGHT_OFF"),
    ("lineScale", "LINE_SCALE"),
    ("sampScale", "SAMP_SCALE"),
    ("latScale", "LAT_SCALE"),
    ("longScale", "LONG_SCALE"),
    ("heightScale", "HEIGHT_SCALE"),
    ("lineNumCoef", "LINE_NUM_COEFF"),
    ("lineDenCoef", "LINE_DEN_COEFF"),
    ("sampNumCoef", "SAMP_NUM_COEFF"),
    ("sampDenCoef", "SAMP_DEN_COEFF"),
    ("errBias", "ERR_BIAS"),
    ("errRand", "ERR_RAND"),
];

/// Parses the number at the beginning of a text; a unit may follow.
fn first_number(text: &str) -> Option<f64> {
    text.split_whitespace().next()?.parse().ok().filter(|v: &f64| v.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tag_is_read_in_its_order() {
        let values: Vec<f64> = (0..92).map(f64::from).collect();
        let rpc = Rpc::from_tag(&values, &mut Warnings::new()).unwrap();
        assert_eq!((rpc.line, rpc.sample, rpc.height), ((2.0, 7.0), (3.0, 8.0), (6.0, 11.0)));
        assert_eq!((rpc.line_numerator[0], rpc.line_denominator[0]), (12.0, 32.0));
        assert_eq!((rpc.sample_numerator[0], rpc.sample_denominator[19]), (52.0, 91.0));
    }

    #[test]
    fn other_lengths_and_numbers_are_refused_with_a_warning() {
        let mut warnings = Warnings::new();
        assert_eq!(Rpc::from_tag(&[0.0; 91], &mut warnings), None);
        assert_eq!(Rpc::from_tag(&[f64::NAN; 92], &mut warnings), None);
        assert_eq!(warnings.len(), 2);
        assert_eq!(warnings[0].message, "expected 92 values, got 91; ignored");
    }

    #[test]
    fn rpb_statements_and_lists() {
        let list = format!("(\n\t{}1.0E+00)", "2.5E-01,\n\t".repeat(19));
        let mut text = "satId = \"QB02\";\nBEGIN_GROUP = IMAGE\n\terrBias = 1.5;\n".to_owned();
        for name in ["line", "samp", "lat", "long", "height"] {
            text += &format!("\t{name}Offset = +12;\n\t{name}Scale = 0.5;\n");
        }
        for name in ["lineNum", "lineDen", "sampNum", "sampDen"] {
            text += &format!("\t{name}Coef = {list};\n");
        }
        let rpc = Rpc::from_rpb(&text, &mut Warnings::new()).unwrap();
        assert_eq!((rpc.err_bias, rpc.latitude), (Some(1.5), (12.0, 0.5)));
        assert_eq!((rpc.sample_numerator[18], rpc.sample_numerator[19]), (0.25, 1.0));
    }

    #[test]
    fn text_with_units_and_single_coefficients() {
        let mut text = String::new();
        for (i, name) in ["LINE", "SAMP", "LAT", "LONG", "HEIGHT"].iter().enumerate() {
            text += &format!("{name}_OFF: {i}.5 pixels\n{name}_SCALE: 10 pixels\n");
        }
        for name in ["LINE_NUM_COEFF", "LINE_DEN_COEFF", "SAMP_NUM_COEFF"] {
            for i in 1..=20 {
                text += &format!("{name}_{i}: {i}e-3\n");
            }
        }
        let mut warnings = Warnings::new();
        assert_eq!(Rpc::from_text(&text, &mut warnings), None);
        assert_eq!(warnings[0].message, "`SAMP_DEN_COEFF_1` is missing or no number; ignored");
        text += &format!("SAMP_DEN_COEFF: {}\n", "1 ".repeat(20));
        let rpc = Rpc::from_text(&text, &mut warnings).unwrap();
        assert_eq!((rpc.longitude, rpc.line_numerator[2]), ((3.5, 10.0), 0.003));
        assert_eq!(rpc.sample_denominator, [1.0; 20]);
    }
}
