//! Checks that definitions are consistent, examples parse, and values are validated.

use super::values::{parse_nodata, parse_pair};
use super::*;
use clap::CommandFactory as _;
use strile::device::{DirectIo, Nvcomp};

#[test]
fn the_definition_is_consistent() {
    Arguments::command().debug_assert();
}

/// Every line of every list of examples that begins with `strile` (or pipes into it) must parse.
#[test]
fn every_example_parses() {
    let root = Arguments::command();
    let mut seen = 0;
    for command in root.get_subcommands().chain([&root]) {
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let mut here = 0;
        for line in help.lines().filter(|line| line.starts_with("  ")) {
            let line = line.split(" | ").last().unwrap();
            let words = line.split_whitespace().take_while(|word| *word != ">");
            let words = with_long_options(words.map(OsString::from));
            Arguments::try_parse_from(words).unwrap_or_else(|error| panic!("{line}: {error}"));
            here += 1;
        }
        assert!(here > 0, "{} has no examples", command.get_name());
        seen += here;
    }
    assert!(seen >= 20, "{seen} examples");
}

#[test]
fn the_default_of_on_fault_is_the_library_s() {
    let parsed = Arguments::try_parse_from(["strile", "dump", "a.tif"]).unwrap();
    let Command::Dump(dump) = parsed.command else { panic!("not dump") };
    let (ours, theirs) = (dump.read_options(strile::read::Interleave::BandFirst), ReadOptions::default());
    assert_eq!(format!("{ours:?}"), format!("{theirs:?}"));
}

#[test]
fn gdal_s_spelling_is_for_convert_alone() {
    let long = |line: &str| {
        let words = with_long_options(line.split_whitespace().map(OsString::from));
        words.iter().map(|word| word.to_str().unwrap()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        long("strile -q convert -of COG -co A=B -a_srs X -a_nodata 1 -a_ullr 1 2 3 4 -- -co"),
        "strile -q convert --of COG --co A=B --a-srs X --a-nodata 1 --a-ullr 1 2 3 4 -- -co"
    );
    assert_eq!(long("strile dump -of convert"), "strile dump -of convert");
    let words =
        with_long_options("strile convert a b -co A=B=C -co D=E -b 1,3 -j 2".split(' ').map(Into::into));
    let Command::Convert(args) = Arguments::try_parse_from(words).unwrap().command else { panic!() };
    assert_eq!(args.write.co, [("A".into(), "B=C".into()), ("D".into(), "E".into())]);
    assert_eq!((args.part.band, args.engine.threads), (vec![1, 3], NonZeroUsize::new(2)));
}

#[test]
fn pairs_and_nodata_are_checked() {
    assert!(parse_pair("COMPRESS").is_err() && parse_pair("=ZSTD").is_err());
    assert_eq!(parse_nodata("NONE"), Ok(Nodata(None)));
    assert_eq!(parse_nodata("-9999"), Ok(Nodata(Some(NoData::Integer(-9999)))));
    assert!(parse_nodata("12x").is_err());
}

#[test]
fn windows_boxes_and_processors_are_checked() {
    assert!(parse_window("1,2,3").unwrap_err().contains("4 numbers"));
    assert!(parse_window("-1,2,3,4").is_err());
    assert!(parse_bbox("5,0,1,1").unwrap_err().contains("west"));
    assert_eq!("cuda".parse(), Ok(Processor::Cuda(0)));
    assert_eq!("cuda:2".parse(), Ok(Processor::Cuda(2)));
    assert!(
        "gpu".parse::<Processor>().unwrap_err().to_string().contains("expected auto, cpu, cuda or cuda:N")
    );
}

#[test]
fn what_a_gpu_may_use_is_said_in_words() {
    let gpu = |words: &str| {
        let parsed = Arguments::try_parse_from(words.split(' ').map(OsString::from));
        parsed.map(|arguments| match arguments.command {
            Command::Dump(dump) => (dump.gpu.direct_io, dump.gpu.nvcomp),
            _ => panic!("not dump"),
        })
    };
    assert_eq!(gpu("strile dump a.tif").unwrap(), (DirectIo::Off, Nvcomp::Off));
    assert_eq!(
        gpu("strile dump --direct-io auto --nvcomp trusted a.tif").unwrap(),
        (DirectIo::Auto, Nvcomp::Trusted)
    );
    assert_eq!(gpu("strile dump --nvcomp trusted-always a.tif").unwrap().1, Nvcomp::TrustedAlways);
    let refused = gpu("strile dump --nvcomp on a.tif").unwrap_err().to_string();
    assert!(refused.contains("on corrupt input is undefined"), "{refused}");
    assert!(gpu("strile dump --direct-io a.tif").is_err());
}

#[test]
fn options_under_their_former_names_are_replaced() {
    let replaced = |line: &str| {
        let mut words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        let warnings = super::renamed::replace(&mut words, 1);
        let words: Vec<String> = words.into_iter().map(|word| word.into_string().unwrap()).collect();
        (words.join(" "), warnings)
    };
    let (line, warnings) = replaced("strile dump a.tif --overview 0 --device cuda:1 --mask");
    assert_eq!(line, "strile dump a.tif --level=1 --decode-on=cuda:1 --mask");
    assert_eq!(warnings, ["--overview 0 is now --level 1", "--device cuda:1 is now --decode-on cuda:1"]);
    assert_eq!(
        replaced("strile convert a b --device=cuda:0").0,
        "strile convert a b --encode-on=cuda:0 --decode-on=cuda:0"
    );
    let (line, warnings) = replaced("strile warp a b --device cuda -t_srs EPSG:3857");
    assert_eq!(line, "strile warp a b --encode-on=cuda --decode-on=cuda -t_srs EPSG:3857");
    assert_eq!(warnings, ["--device cuda is now --encode-on cuda --decode-on cuda"]);
    assert_eq!(replaced("strile serve a --device cuda:0").0, "strile serve a --decode-on=cuda:0");
    // Other commands, new names, file names and invalid values are unchanged.
    for line in [
        "strile overview a --device x",
        "strile dump a --level 1",
        "strile dump -- --overview 1",
        "strile dump a --overview x",
    ] {
        assert_eq!(replaced(line), (line.to_owned(), Vec::new()));
    }
}
