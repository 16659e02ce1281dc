//! `strile convert`.

use super::values::{parse_count, parse_nodata, parse_pair};
use super::{CutlineArgs, DecodeArgs, EngineArgs, Nodata, PartArgs, RemoteArgs, WriteArgs};
use clap::Args;
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use strile::convert::{ConvertArea, ConvertSize, Expand, GivenScale, Method, Side};
use strile::convert::{SourceLevel, data_type_named, rescales};
use strile::tiff::geo::{Crs, GeoTransform};
use strile::{ConvertOptions, DataType};

/// Write a GeoTIFF or a Cloud-Optimized GeoTIFF from another file, or from many.
///
/// `strile convert IN OUT` converts one file; `strile convert IN… -o DIR` converts files, and the .tif and .tiff files
/// of folders, into a folder. Pixels, mask, georeferencing and metadata are kept, and memory does not grow with the
/// raster. Blocks that are stored alike in both files are copied without decoding. Options of gdal_translate have
/// GDAL's names and meaning, and may be written with one dash (`-outsize 50% 0`). OUT is written atomically: after an
/// error it is unchanged. Without options: Deflate, tiles of 512 × 512 pixels, and the predictor that suits the type. A
/// GPU that encodes (`--encode-on cuda`) also decodes, unless `--decode-on` says otherwise.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  strile convert dem.tif cog.tif --of COG --co COMPRESS=ZSTD --co LEVEL=15
  strile convert scenes/ more/a.tif -o cogs --of COG --jobs 4
  strile convert scene.tif small.tif -outsize 25% 0 -r average
  strile convert scene.tif part.tif -projwin 500000 4410000 510000 4400000 -tr 20 20 -r bilinear
  strile convert s2.tif view.tif -b 3 -b 2 -b 1 -scale 0 3000 0 255 -ot Byte -colorinterp red,green,blue
  strile convert packed.tif values.tif -unscale -ot Float32
  strile convert classes.tif rgb.tif -expand rgb
  strile convert scene.tif small.tif --profile jpeg --co QUALITY=85
  strile convert dem.tif part.tif --bbox 500000,4400000,510000,4410000 --overwrite
  strile convert dem.tif field.tif -cutline field.geojson -crop_to_cutline
  strile convert dem.tif same.tif -co COMPRESS=LERC -co MAX_Z_ERROR=0.01 -a_nodata -9999 -mo SOURCE=survey
  strile convert --explain dem.tif cog.tif --of COG
  strile convert dem.tif cog.tif --of COG --encode-on cuda --streaming-buffer 128MiB --reproducible
  strile convert dem.tif - --of COG > cog.tif
  strile convert dem.tif s3://bucket/cog.tif --of COG

Exit status with -o DIR: 0 all done; 1 some files failed, which are listed; 2 all failed.")]
pub struct ConvertArgs {
    /// IN and OUT, files or URLs (`-` is standard input or output); with -o files and folders to convert
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Convert every FILE into this folder; outputs that exist are skipped unless --overwrite is given
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Convert this many files at once; they share memory and threads
    #[arg(long, value_name = "N", requires = "output", default_value = "1", value_parser = parse_count::<NonZeroUsize>)]
    pub jobs: NonZeroUsize,
    /// Descend into subfolders
    #[arg(long, requires = "output")]
    pub recursive: bool,
    #[command(flatten)]
    pub write: WriteArgs,
    #[command(flatten)]
    pub part: PartArgs,
    #[command(flatten)]
    pub cutline: CutlineArgs,
    #[command(flatten)]
    pub change: ChangeArgs,
    /// Encode every block again, even if it could be copied
    #[arg(long)]
    pub reencode: bool,
    /// Write the same bytes on every device; larger or slower than the CPU's own encoders
    #[arg(long)]
    pub reproducible: bool,
    /// Compress on the GPU with nvCOMP and this effort, 0 to 5 for Deflate, 0 for ZSTD; an error if that is impossible
    #[arg(long, value_name = "EFFORT", conflicts_with = "reproducible")]
    pub nvcomp_effort: Option<u8>,
    /// Encode JPEG 2000 on the GPU with nvJPEG2000; an error if that is impossible
    #[arg(long, conflicts_with_all = ["reproducible", "nvcomp_effort"])]
    pub nvjpeg2000: bool,
    #[command(flatten)]
    pub decode: DecodeArgs,
    #[command(flatten)]
    pub engine: EngineArgs,
    #[command(flatten)]
    pub remote: RemoteArgs,
    /// Show what would be done; write nothing
    #[arg(long)]
    pub explain: bool,
}

/// Changes, with the option names of gdal_translate.
#[derive(Debug, Args)]
pub struct ChangeArgs {
    /// Write this part: column and row of its first pixel, columns and rows. Pixels outside the image are nodata or 0
    #[arg(long, num_args = 4, value_names = ["XOFF", "YOFF", "XSIZE", "YSIZE"], allow_negative_numbers = true)]
    #[arg(conflicts_with_all = ["window", "bbox", "projwin"])]
    pub srcwin: Option<Vec<f64>>,
    /// Write this part: x and y of its first corner and of its last, in the file's reference system
    #[arg(long, num_args = 4, value_names = ["ULX", "ULY", "LRX", "LRY"], allow_negative_numbers = true)]
    #[arg(conflicts_with_all = ["window", "bbox"])]
    pub projwin: Option<Vec<f64>>,
    /// Reference system of -projwin: EPSG:N, WKT or PROJ; that of the file by default
    #[arg(long, value_name = "TEXT", value_parser = Crs::from_user_input, allow_hyphen_values = true, requires = "projwin")]
    pub projwin_srs: Option<Crs>,
    /// Refuse a part that lies partly outside the image
    #[arg(long)]
    pub epo: bool,
    /// Refuse a part that lies outside the image; strile always does
    #[arg(long)]
    pub eco: bool,
    /// Write this many columns and rows: pixels, per cent (50%), or 0 to keep the proportions
    #[arg(long, num_args = 2, value_names = ["COLUMNS", "ROWS"], conflicts_with = "tr")]
    pub outsize: Option<Vec<Side>>,
    /// Write pixels of this width and height, in the unit of the reference system
    #[arg(long, num_args = 2, value_names = ["XRES", "YRES"], conflicts_with = "a_ullr")]
    pub tr: Option<Vec<f64>>,
    /// How pixels of another size are computed: nearest, bilinear, cubic, cubicspline, lanczos, average, rms or mode
    #[arg(short, long, value_name = "METHOD", default_value = "nearest")]
    pub resampling: Method,
    /// Level that pixels of another size are computed from: auto, none (the full image), or an overview from 0
    #[arg(long, value_name = "LEVEL", default_value = "auto")]
    pub ovr: SourceLevel,
    /// Type of samples: Byte, Int8, UInt16, Int16, UInt32, Int32, UInt64, Int64, Float16, Float32, Float64, CFloat32, CFloat64
    #[arg(long, value_name = "TYPE", value_parser = data_type_named)]
    pub ot: Option<DataType>,
    /// Map values from a range to another: [SRC_MIN SRC_MAX [DST_MIN DST_MAX]]; -scale_2 for the second band
    #[arg(long, value_name = "RANGES", value_parser = parse_scale, allow_hyphen_values = true, num_args = 1)]
    pub scale: Vec<GivenScale>,
    /// Map ranges by this power, and clamp; -exponent_2 for the second band
    #[arg(long, value_name = "POWER", value_parser = parse_exponent)]
    pub exponent: Vec<(Option<u16>, f64)>,
    /// Write sample × scale + offset of each band, and remove scale and offset
    #[arg(long)]
    pub unscale: bool,
    /// Write the colours of a palette as bands: gray, rgb or rgba
    #[arg(long, value_name = "COLOURS")]
    pub expand: Option<Expand>,
    /// Set colour interpretations of bands: red,green,blue,alpha,gray,undefined,nir,…; -colorinterp_2 for the second
    /// band
    #[arg(long, value_name = "NAMES")]
    pub colorinterp: Vec<String>,
    /// Set a metadata item; repeat for more
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_pair)]
    pub mo: Vec<(String, String)>,
    /// Set the scale of all bands; values are unchanged
    #[arg(long, value_name = "V", allow_hyphen_values = true)]
    pub a_scale: Option<f64>,
    /// Set the offset of all bands; values are unchanged
    #[arg(long, value_name = "V", allow_hyphen_values = true)]
    pub a_offset: Option<f64>,
    /// Set the reference system without warping pixels: EPSG:N, WKT or PROJ
    #[arg(long, value_name = "TEXT", value_parser = Crs::from_user_input, allow_hyphen_values = true)]
    pub a_srs: Option<Crs>,
    /// Set the nodata value, or `none`
    #[arg(long, value_name = "V", value_parser = parse_nodata, allow_hyphen_values = true)]
    pub a_nodata: Option<Nodata>,
    /// Set the corners of the written part: x and y of the first and of the last
    #[arg(long, num_args = 4, value_names = ["ULX", "ULY", "LRX", "LRY"], allow_negative_numbers = true)]
    pub a_ullr: Option<Vec<f64>>,
    /// Set the transform of the written part, in GDAL's order
    #[arg(long, num_args = 6, value_names = ["X", "DX", "RX", "Y", "RY", "DY"], allow_negative_numbers = true)]
    #[arg(conflicts_with_all = ["a_ullr", "tr"])]
    pub a_gt: Option<Vec<f64>>,
}

impl ChangeArgs {
    /// Applies the changes to the options.
    pub fn apply(&self, options: &mut ConvertOptions) -> Result<(), String> {
        let four = |numbers: &Option<Vec<f64>>| numbers.as_deref().and_then(|n| <[f64; 4]>::try_from(n).ok());
        options.area = four(&self.srcwin).map(ConvertArea::Pixels);
        options.area = four(&self.projwin).map(ConvertArea::Corners).or(options.area);
        options.whole_area = self.epo;
        options.size = match (self.outsize.as_deref(), self.tr.as_deref()) {
            (Some(&[columns, rows]), _) => Some(ConvertSize::Sides(columns, rows)),
            (_, Some(&[across, down])) => Some(ConvertSize::Resolution(across, down)),
            _ => None,
        };
        options.resampling = self.resampling;
        options.source_level = self.ovr;
        options.data_type = self.ot;
        options.rescale = rescales(&self.scale, &self.exponent)?;
        options.unscale = self.unscale;
        options.expand = self.expand;
        options.colours = colours(&self.colorinterp)?;
        options.items.clone_from(&self.mo);
        (options.scale, options.offset) = (self.a_scale, self.a_offset);
        options.crs.clone_from(&self.a_srs);
        options.nodata = self.a_nodata.map(|nodata| nodata.0);
        options.corners = four(&self.a_ullr);
        let six = self.a_gt.as_deref().and_then(|numbers| <[f64; 6]>::try_from(numbers).ok());
        options.transform = six.map(GeoTransform::from_gdal);
        Ok(())
    }
}

/// Parses `0,100,0,255`, `2:0,100` for one band, or `auto`.
fn parse_scale(text: &str) -> Result<GivenScale, String> {
    let (band, numbers) = of_band(text)?;
    if numbers == "auto" {
        return Ok((band, Vec::new()));
    }
    let parsed: Option<Vec<f64>> = numbers.split(',').map(|part| part.trim().parse().ok()).collect();
    let parsed = parsed.filter(|numbers| matches!(numbers.len(), 2 | 4));
    parsed.map(|numbers| (band, numbers)).ok_or_else(|| {
        "expected SRC_MIN,SRC_MAX or SRC_MIN,SRC_MAX,DST_MIN,DST_MAX, or nothing for the range of the file".into()
    })
}

/// Parses `2`, or `3:0.5` for one band.
fn parse_exponent(text: &str) -> Result<(Option<u16>, f64), String> {
    let (band, number) = of_band(text)?;
    let number = number.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0);
    number.map(|number| (band, number)).ok_or_else(|| "expected a number above 0".into())
}

fn of_band(text: &str) -> Result<(Option<u16>, &str), String> {
    match text.split_once(':') {
        None => Ok((None, text)),
        Some((band, rest)) => {
            let band = band.parse().ok().filter(|&band: &u16| band > 0);
            Ok((Some(band.ok_or("expected a number of a band, from 1")?), rest))
        }
    }
}

/// Parses colour interpretations: a list for the first bands, or `2:nir` for one.
fn colours(given: &[String]) -> Result<Vec<(u16, String)>, String> {
    let mut all: Vec<(u16, String)> = Vec::new();
    for text in given {
        match of_band(text)? {
            (Some(band), name) => all.push((band, name.to_owned())),
            (None, names) => all.extend((1..).zip(names.split(',').map(|name| name.trim().to_owned()))),
        }
    }
    let twice =
        all.iter().enumerate().find(|(at, (band, _))| all.iter().take(*at).any(|other| other.0 == *band));
    match twice {
        Some((_, (band, _))) => Err(format!("the colour interpretation of band {band} is given twice")),
        None => Ok(all),
    }
}

/// Options of gdal_translate that begin with one dash.
const GDAL: &str = "of co srcwin projwin projwin_srs epo eco outsize tr ovr ot unscale expand colorinterp mo a_scale \
    a_offset a_srs a_nodata a_ullr a_gt exponent band overwrite quiet";

/// Options of gdal_translate that strile does not support, and their replacements.
const UNAVAILABLE: [(&str, &str); 20] = [
    ("-mask", "masks are kept, and made from alpha where JPEG needs it"),
    ("-strict", "strile never drops data silently; it warns or fails"),
    ("-not_strict", "strile warns about what it cannot keep"),
    ("-stats", "`strile info --stats` shows statistics"),
    ("-approx_stats", "`strile info --stats` shows statistics"),
    ("-if", "the format of the input is found by its content: TIFF or VRT"),
    ("-oo", "there are no open options"),
    ("-sds", "`--page N` chooses a page"),
    ("-gcp", "control points of the input are kept; write new ones with Python's `to_geotiff`"),
    ("-nogcp", "-a_ullr or -a_gt replaces control points by a transform"),
    ("-norat", "attribute tables are kept in the .aux.xml, which may be deleted"),
    ("-noxmp", "XMP is kept"),
    ("-dmo", "-mo sets items of the default domain"),
    ("-a_coord_epoch", "give the epoch with -a_srs as WKT"),
    ("-ovr_levels", "--co OVERVIEW_COUNT=N chooses overviews"),
    ("-optfile", "list the options on the command line"),
    ("--optfile", "list the options on the command line"),
    ("--config", "see `docs/environment.md` for environment variables"),
    ("--formats", "strile writes GTiff and COG"),
    ("-b mask", "masks are written as masks; `strile dump --mask` writes one as an image"),
];

/// Gives options of gdal_translate two dashes, and joins their numbers to one word if the number of values is variable.
pub(super) fn with_long_options(words: &[OsString]) -> Vec<OsString> {
    let mut out = Vec::with_capacity(words.len());
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let text = word.to_str().unwrap_or_default();
        if text == "--" {
            out.push(word.clone());
            out.extend(rest.by_ref().cloned());
            return out;
        }
        let numbered = |option: &str| {
            let number = text.trim_start_matches('-').strip_prefix(option)?.strip_prefix('_')?;
            (text.starts_with('-') && number.parse::<u16>().is_ok()).then(|| number.to_owned())
        };
        let scale =
            if text == "-scale" || text == "--scale" { Some(String::new()) } else { numbered("scale") };
        if let Some(band) = scale {
            let numbers: Vec<&str> = rest
                .clone()
                .map(|word| word.to_str().unwrap_or_default())
                .take(4)
                .take_while(|word| word.parse::<f64>().is_ok())
                .collect();
            rest.by_ref().take(numbers.len()).for_each(drop);
            // Ranges in one word, like `--scale 0,100`.
            let next = rest.clone().next().and_then(|word| word.to_str());
            let joined = next.filter(|next| numbers.is_empty() && parse_scale(next).is_ok());
            let ranges = match joined {
                Some(joined) => {
                    rest.next();
                    joined.to_owned()
                }
                None if numbers.is_empty() => "auto".to_owned(),
                None => numbers.join(","),
            };
            let band = if band.is_empty() { band } else { format!("{band}:") };
            out.push(format!("--scale={band}{ranges}").into());
            continue;
        }
        let of_band =
            ["exponent", "colorinterp"].into_iter().find_map(|option| Some((option, numbered(option)?)));
        if let (Some((option, band)), Some(value)) = (of_band, rest.clone().next()) {
            rest.next();
            out.push(format!("--{option}={band}:{}", value.to_string_lossy()).into());
            continue;
        }
        out.push(super::long_option(text, GDAL).map_or_else(|| word.clone(), OsString::from));
    }
    out
}

/// Returns an error for options of gdal_translate that `strile convert` does not support.
pub(super) fn unavailable(words: &[OsString]) -> Option<String> {
    let words: Vec<&str> =
        words.iter().map(|word| word.to_str().unwrap_or_default()).take_while(|word| *word != "--").collect();
    let pairs = words.windows(2).filter_map(|pair| match pair {
        ["-b" | "--band", mask] if mask.starts_with("mask") => Some("-b mask"),
        _ => None,
    });
    let pairs = pairs.collect::<Vec<_>>();
    words.iter().chain(&pairs).find_map(|word| {
        let (option, instead) = UNAVAILABLE.iter().find(|(option, _)| option == word)?;
        Some(format!("`{option}` is not available in strile convert; {instead}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn long(line: &str) -> String {
        let words: Vec<OsString> = line.split_whitespace().map(Into::into).collect();
        with_long_options(&words).iter().map(|word| word.to_str().unwrap()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn options_with_numbers_become_one_word() {
        assert_eq!(long("-scale a.tif b.tif"), "--scale=auto a.tif b.tif");
        assert_eq!(long("-scale 0 100 a.tif"), "--scale=0,100 a.tif");
        assert_eq!(long("-scale -5 100 0 255 -ot Byte"), "--scale=-5,100,0,255 --ot Byte");
        assert_eq!(long("-scale_2 0 1 -exponent_2 0.5"), "--scale=2:0,1 --exponent=2:0.5");
        assert_eq!(long("--scale 0,100 a"), "--scale=0,100 a");
        assert_eq!(long("-colorinterp_1 red -colorinterp gray"), "--colorinterp=1:red --colorinterp gray");
        assert_eq!(long("-- -scale"), "-- -scale");
    }

    #[test]
    fn what_there_is_not_is_refused_by_name() {
        let refused = |line: &str| unavailable(&line.split(' ').map(Into::into).collect::<Vec<_>>());
        for (option, _) in UNAVAILABLE {
            let found = refused(&format!("a.tif b.tif {option} x")).unwrap();
            assert!(
                found.starts_with(&format!("`{option}` is not available in strile convert; ")),
                "{found}"
            );
        }
        assert_eq!(refused("a.tif b.tif -ot Byte -b 1"), None);
        assert_eq!(refused("a.tif b.tif -- -stats"), None);
    }

    #[test]
    fn colours_are_for_the_first_bands_or_for_one() {
        let told = colours(&["red, green".into(), "4:nir".into()]).unwrap();
        assert_eq!(told, [(1, "red".into()), (2, "green".into()), (4, "nir".into())]);
        assert!(colours(&["red".into(), "1:blue".into()]).is_err());
    }
}
