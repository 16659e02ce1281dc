//! Costs of a machine's engines: built in, or measured once and kept in a small file.
//!
//! The file is a few lines of TOML in the user's cache folder. It is used if this version of strile measured it on this
//! processor and this GPU. Any other file is ignored with a note, and the built-in constants are used. Its content is
//! not trusted: if a number is not finite or out of range, the file is not a calibration.

use super::cost::PerByte;
use crate::error::{Error, Result};
use crate::sink::{FileSink, Sink};
use std::fmt::Write;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use strile_tiff::Compression;

/// Codecs with kernels, except those of pictures, in the order of `Constants::codecs`.
pub(crate) const CODECS: [Compression; 6] = [
    Compression::None,
    Compression::PackBits,
    Compression::Lzw,
    Compression::Deflate,
    Compression::Zstd,
    Compression::Lz4,
];

/// Costs of blocks of one codec.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct CodecCosts {
    /// Cost on one core while all cores are busy, writing to fresh memory.
    pub(crate) core: PerByte,
    /// Cost on a device that is full of blocks.
    pub(crate) device: PerByte,
    /// Cost of one block alone on a device.
    pub(crate) alone: PerByte,
}

/// Costs of reads on a machine, in seconds or seconds per byte.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Constants {
    /// Fixed cost of a read on the CPU.
    pub(crate) cpu_start: f64,
    /// Fixed cost of a read on the device.
    pub(crate) cuda_start: f64,
    /// Cost of opening the device: driver, context, kernels.
    pub(crate) opening: f64,
    /// Start of its reader threads, until all of them read.
    pub(crate) readers: f64,
    /// Copy of encoded bytes to the device.
    pub(crate) link: f64,
    /// Copy of pixels from the device to their places in host memory.
    pub(crate) back: f64,
    /// Copy of pixels from host memory to the device by the caller.
    pub(crate) upload: f64,
    /// Transfer of encoded bytes over a network.
    pub(crate) network: f64,
    pub(crate) codecs: [CodecCosts; CODECS.len()],
}

const fn costs(core: [f64; 2], device: [f64; 2], alone: [f64; 2]) -> CodecCosts {
    const fn nanoseconds([read, made]: [f64; 2]) -> PerByte {
        PerByte { read: read * 1e-9, made: made * 1e-9 }
    }
    CodecCosts { core: nanoseconds(core), device: nanoseconds(device), alone: nanoseconds(alone) }
}

/// One H200 (driver 580) with 16 cores beside it, 2026-11-15; starts and lone blocks 2026-11-18; a network of 1 GB/s.
pub(crate) const BUILT_IN: Constants = Constants {
    cpu_start: 0.017e-3,
    cuda_start: 0.08e-3,
    opening: 0.3,
    readers: 0.59e-3,
    link: 0.0253e-9,
    back: 0.0756e-9,
    upload: 0.0901e-9,
    network: 1e-9,
    codecs: [
        costs([1.25, 0.0], [0.0, 0.0], [0.0, 0.0]),
        costs([1.55, 1.599], [0.0238, 0.0074], [0.224, 0.0]),
        costs([5.136, 1.807], [0.0238, 0.0064], [1.3, 0.0]),
        costs([5.565, 1.365], [0.0255, 0.0135], [2.0, 5.0]),
        costs([2.553, 1.678], [0.0284, 0.0224], [5.0, 9.0]),
        costs([1.936, 2.154], [0.0242, 0.0069], [0.3, 2.5]),
    ],
};

/// Costs of picture codecs on any machine: JPEG 2000, JPEG and LERC. Calibration does not measure them. LERC's are
/// those of ZSTD, which often wraps it, plus those of its micro-blocks, which one warp traverses.
const PICTURES: [CodecCosts; 3] = [
    costs([110.0, 1.0], [0.3, 0.02], [25.0, 0.0]),
    costs([18.0, 1.5], [0.12, 0.02], [4.0, 0.0]),
    costs([2.5, 2.8], [0.0284, 0.03], [3.2, 14.0]),
];

/// The machine that constants were measured on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Machine {
    pub(crate) cpu: String,
    pub(crate) threads: usize,
}

/// Its GPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Gpu {
    pub(crate) uuid: String,
    pub(crate) driver: u32,
}

/// Constants, and their origin for plans.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    pub(crate) constants: Arc<Constants>,
    pub(crate) words: String,
    /// The device they belong to; `None` for the built-in constants, which apply to any device.
    pub(crate) gpu: Option<Gpu>,
}

const NOT_MEASURED: &str = "built in, not measured on this machine (`device::calibrate` measures them)";

impl Known {
    fn built_in(words: String) -> Self {
        Self { constants: Arc::new(BUILT_IN), words, gpu: None }
    }

    /// Returns the same constants if they belong to this device, else the built-in ones.
    pub(crate) fn of(self, gpu: &Gpu) -> Self {
        match &self.gpu {
            Some(other) if other != gpu => Self::built_in(
                "built in; those measured are of another GPU or driver (`device::calibrate` measures them again)"
                    .into(),
            ),
            _ => self,
        }
    }
}

impl Machine {
    /// Returns the current machine.
    pub(crate) fn this() -> Self {
        let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
        let cpu = model.map_or(std::env::consts::ARCH, |(_, name)| name.trim());
        // As written to the file, so that it compares equal after reading.
        let cpu = cpu.chars().filter(|c| !matches!(c, '"' | '\\') && !c.is_control()).collect();
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
        Self { cpu, threads }
    }
}

/// Returns `$XDG_CACHE_HOME/strile/constants.toml`, else the path in `~/.cache`; `None` if there is no home either.
pub(crate) fn path() -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")))?;
    Some(cache.join("strile").join("constants.toml"))
}

/// Loads the constants of this machine.
pub(crate) fn load(path: Option<&Path>, machine: &Machine) -> Known {
    let Some(path) = path else { return Known::built_in(NOT_MEASURED.to_owned()) };
    let mut text = String::new();
    let read = crate::source::open_regular(path)
        .and_then(|(file, _)| file.take(LONGEST_FILE).read_to_string(&mut text));
    let ignored = |why: &str| Known::built_in(format!("built in; {} is ignored: {why}", path.display()));
    match read {
        Err(error) if error.kind() == ErrorKind::NotFound => Known::built_in(NOT_MEASURED.to_owned()),
        Err(error) => ignored(&error.to_string()),
        Ok(_) => match parse(&text, machine) {
            Ok((constants, gpu)) => Known {
                constants: Arc::new(constants),
                words: "measured on this machine".to_owned(),
                gpu: Some(gpu),
            },
            Err(why) => ignored(why),
        },
    }
}

const LONGEST_FILE: u64 = 16 << 10;

/// Writes the constants, replacing an existing file.
pub(crate) fn store(path: &Path, constants: &Constants, machine: &Machine, gpu: &Gpu) -> Result<()> {
    let failed = |error| Error::Io { path: path.to_owned(), error: Arc::new(error) };
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    let mut sink = Box::new(FileSink::create(path, true)?);
    sink.append(text(constants, machine, gpu).as_bytes()).map_err(failed)?;
    sink.commit().map_err(failed)
}

/// Returns names in the file with their values.
fn numbers(constants: &Constants) -> Vec<(&'static str, Vec<f64>)> {
    let Constants { cpu_start, cuda_start, opening, readers, link, back, upload, network, codecs } =
        constants;
    let singles = [
        ("cpu_start", cpu_start),
        ("cuda_start", cuda_start),
        ("opening", opening),
        ("readers", readers),
        ("link", link),
        ("back", back),
        ("upload", upload),
        ("network", network),
    ];
    let singles = singles.into_iter().map(|(name, value)| (name, vec![*value]));
    let codecs = CODECS.into_iter().zip(codecs).map(|(codec, costs)| {
        let CodecCosts { core, device, alone } = costs;
        let all = [core, device, alone].into_iter().flat_map(|per| [per.read, per.made]);
        (codec.name(), all.collect())
    });
    singles.chain(codecs).collect()
}

fn text(constants: &Constants, machine: &Machine, gpu: &Gpu) -> String {
    let mut text = String::from(
        "# Measured by `device::calibrate`. Seconds, and seconds for each byte; of a codec: a byte that is read and a\n\
         # byte more that is made, on a core, on the device, and of one block alone on the device.\n",
    );
    let Machine { cpu, threads } = machine;
    let Gpu { uuid, driver } = gpu;
    // Writing to a string does not fail.
    let _ = writeln!(text, "strile = \"{VERSION}\"\ncpu = \"{cpu}\"\nthreads = {threads}");
    let _ = writeln!(text, "gpu = \"{uuid}\"\ndriver = {driver}");
    for (name, values) in numbers(constants) {
        let values: Vec<String> = values.iter().map(|value| format!("{value:e}")).collect();
        let _ = writeln!(text, "{name} = [{}]", values.join(", "));
    }
    text
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Parses constants of this machine and their device, or returns why the text is not valid.
fn parse(text: &str, machine: &Machine) -> std::result::Result<(Constants, Gpu), &'static str> {
    const BROKEN: &str = "it is not a calibration";
    let entries = text.lines().filter(|line| !line.starts_with('#'));
    let entries: Option<Vec<(&str, &str)>> = entries.map(|line| line.split_once(" = ")).collect();
    let entries = entries.ok_or(BROKEN)?;
    let value =
        |name: &str| entries.iter().find(|(key, _)| *key == name).map(|(_, value)| *value).ok_or(BROKEN);
    let word =
        |name: &str| value(name)?.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).ok_or(BROKEN);
    if word("strile")? != VERSION {
        return Err("it is of another version of strile");
    }
    if word("cpu")? != machine.cpu || value("threads")?.parse() != Ok(machine.threads) {
        return Err("it is of another machine");
    }
    let gpu = Gpu { uuid: word("gpu")?.to_owned(), driver: value("driver")?.parse().map_err(|_| BROKEN)? };
    let list = |name: &str, count: usize| -> std::result::Result<Vec<f64>, &'static str> {
        let inner = value(name)?.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).ok_or(BROKEN)?;
        let all: Option<Vec<f64>> = inner.split(", ").map(number).collect();
        all.filter(|all| all.len() == count).ok_or(BROKEN)
    };
    let one = |name: &str| list(name, 1)?.first().copied().ok_or(BROKEN);
    let mut codecs = [CodecCosts::default(); CODECS.len()];
    for (codec, costs) in CODECS.into_iter().zip(&mut codecs) {
        let all = list(codec.name(), 6)?;
        let [a, b, c, d, e, f] = *all.as_slice() else { return Err(BROKEN) };
        let per = |read, made| PerByte { read, made };
        *costs = CodecCosts { core: per(a, b), device: per(c, d), alone: per(e, f) };
    }
    let constants = Constants {
        cpu_start: one("cpu_start")?,
        cuda_start: one("cuda_start")?,
        opening: one("opening")?,
        readers: one("readers")?,
        link: one("link")?,
        back: one("back")?,
        upload: one("upload")?,
        network: one("network")?,
        codecs,
    };
    Ok((constants, gpu))
}

/// Parses a plausible number of seconds.
fn number(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().filter(|value| (0.0..=100.0).contains(value))
}

impl Constants {
    /// Returns the costs of blocks of a codec; `None` if it has no kernel.
    pub(crate) fn of(&self, codec: Compression) -> Option<&CodecCosts> {
        let [jpeg2000, jpeg, lerc] = &PICTURES;
        match codec {
            Compression::Jpeg2000 | Compression::Jpeg2000YCbCr | Compression::Jpeg2000Rgb => Some(jpeg2000),
            Compression::Jpeg => Some(jpeg),
            Compression::Lerc => Some(lerc),
            _ => CODECS.iter().position(|&other| other == codec).and_then(|at| self.codecs.get(at)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine() -> Machine {
        Machine { cpu: "some processor".to_owned(), threads: 16 }
    }

    fn gpu() -> Gpu {
        Gpu { uuid: "GPU-1".to_owned(), driver: 13_000 }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let text = text(&BUILT_IN, &machine(), &gpu());
        assert_eq!(parse(&text, &machine()), Ok((BUILT_IN, gpu())));
    }

    #[test]
    fn what_is_foreign_old_or_broken_is_ignored_and_named() {
        let good = text(&BUILT_IN, &machine(), &gpu());
        let other = Machine { threads: 17, ..machine() };
        assert_eq!(parse(&good, &other), Err("it is of another machine"));
        let old = good.replace(VERSION, "0.0.1");
        assert_eq!(parse(&old, &machine()), Err("it is of another version of strile"));
        let value = format!("{:e}", BUILT_IN.link);
        for bad in ["inf", "NaN", "-1", "1e3", "", "x", "1, 2"] {
            let broken = good.replace(&format!("link = [{value}]"), &format!("link = [{bad}]"));
            assert_ne!(broken, good);
            assert_eq!(parse(&broken, &machine()), Err("it is not a calibration"), "{bad}");
        }
        for end in 0..good.len() {
            let cut = good.get(..end).map(|cut| parse(cut, &machine()).is_ok());
            assert!(cut != Some(true) || end + 1 == good.len(), "cut at {end}");
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("constants.toml");
        assert_eq!(load(Some(&path), &machine()).words, NOT_MEASURED);
        std::fs::write(&path, [0xFF; 100_000]).unwrap();
        let known = load(Some(&path), &machine());
        assert!(known.words.starts_with("built in; ") && *known.constants == BUILT_IN, "{}", known.words);
    }

    #[test]
    fn a_calibration_of_another_gpu_does_not_count() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cache").join("constants.toml");
        let mine = Constants { opening: 0.5, ..BUILT_IN };
        store(&path, &mine, &machine(), &gpu()).unwrap();
        let known = load(Some(&path), &machine());
        assert_eq!((&*known.constants, known.words.as_str()), (&mine, "measured on this machine"));
        assert_eq!(*known.clone().of(&gpu()).constants, mine);
        let other = known.of(&Gpu { driver: 12_080, ..gpu() });
        assert_eq!(*other.constants, BUILT_IN);
        assert!(other.words.starts_with("built in"), "{}", other.words);
    }
}
