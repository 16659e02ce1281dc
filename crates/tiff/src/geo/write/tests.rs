//! Tags that were written are read as the same georeferencing.

use super::*;
use crate::Warnings;
use crate::geo::{CrsKind, GeoTags};
use strile_crs::dialect::{self, Heights};
use strile_crs::wkt::Node;
use strile_crs::{identify, registry};

/// Reads the tags like a reader of files.
pub(super) fn read(out: &GeoTagsOut) -> (Georeference, Warnings) {
    let find = |tag: Tag| out.fields.iter().find(|(t, _)| *t == tag).map(|(_, v)| v);
    let doubles = |tag| match find(tag) {
        Some(FieldValue::Doubles(v)) => Some(v.as_slice()),
        _ => None,
    };
    let tags = GeoTags {
        key_directory: match find(Tag::GeoKeyDirectoryTag) {
            Some(FieldValue::Shorts(v)) => Some(v),
            _ => None,
        },
        double_params: doubles(Tag::GeoDoubleParamsTag),
        ascii_params: match find(Tag::GeoAsciiParamsTag) {
            Some(FieldValue::Text(v)) => Some(v.as_bytes()),
            _ => None,
        },
        pixel_scale: doubles(Tag::ModelPixelScaleTag),
        tiepoints: doubles(Tag::ModelTiepointTag),
        transformation: doubles(Tag::ModelTransformationTag),
        rpc: doubles(Tag::RPCCoefficientTag),
    };
    let mut warnings = Warnings::new();
    (Georeference::from_tags(&tags, &mut warnings), warnings)
}

#[test]
fn transforms_of_every_kind_come_back() {
    for values in [
        [10.0, 0.0, 100.0, 0.0, -10.0, 200.0],
        [-10.0, 0.0, 100.0, 0.0, -20.0, 200.0],
        [10.0, 0.0, 100.0, 0.0, 10.0, 200.0],
        [1.5, -5.0, 1841000.0, -5.0, -1.5, 1144000.0],
        [1.0, 0.0, 0.0, 0.0, 1.0, 0.0],
        // Adding and subtracting half a pixel would change these.
        [0.1, 0.0, 500_000.1, 0.0, -0.3, 4_000_000.7],
        [2.348903378686174, 0.0, 1023.0, 0.0, -2.348903378686174, 1000.0],
    ] {
        for area_or_point in [AreaOrPoint::Area, AreaOrPoint::Point] {
            let geo = Georeference {
                transform: Some(GeoTransform::from_coefficients(values)),
                crs: Crs::from_epsg(32631),
                area_or_point: Some(area_or_point),
                ..Default::default()
            };
            let out = tags_of(&geo).unwrap();
            let (back, warnings) = read(&out);
            assert_eq!(Georeference { keys: GeoKeys::default(), ..back }, geo);
            assert_eq!(
                (out.warnings, warnings, out.sidecar.is_empty()),
                (Warnings::new(), Warnings::new(), true)
            );
        }
    }
}

#[test]
fn the_code_of_an_ellipsoid_goes_along_where_it_is_that_ellipsoid() {
    let code_after = |inverse_flattening: &str| {
        let wkt = format!(
            "GEOGCS[\"mine\",DATUM[\"my own\",SPHEROID[\"GRS 1980\",6378137,{inverse_flattening},\
             AUTHORITY[\"EPSG\",\"7019\"]]],PRIMEM[\"Greenwich\",0],UNIT[\"degree\",0.0174532925199433]]"
        );
        let geo = Georeference { crs: Some(Crs::from_wkt(&wkt).unwrap()), ..Default::default() };
        read(&tags_of(&geo).unwrap()).0.keys.code(2056)
    };
    assert_eq!(code_after("298.257222101"), Some(7019));
    assert_eq!(code_after("300"), None);
}

/// Returns whether two systems are the same as far as keys can distinguish them.
fn same_system(a: &Crs, b: &Crs) -> bool {
    let part = |crs: &Crs| dialect::system(&Node::parse(crs.wkt.as_deref()?).ok()?).ok();
    let unit = |node: &Node| node.child(&["UNIT"])?.f64(1);
    let same_vertical = |a: &Node, b: &Node| a.name() == b.name() && unit(a) == unit(b);
    match (part(a), part(b)) {
        (Some(a), Some(b)) => {
            (a.horizontal == b.horizontal || identify::same(&a.horizontal, &b.horizontal))
                && match (&a.heights, &b.heights) {
                    (Heights::Vertical(a), Heights::Vertical(b)) => same_vertical(a, b),
                    (a, b) => a == b,
                }
        }
        _ => a.wkt == b.wkt,
    }
}

fn written(crs: &Crs, area_or_point: AreaOrPoint) -> (GeoTagsOut, Georeference, Warnings) {
    let geo = Georeference {
        transform: Some(GeoTransform::from_coefficients([10.0, 0.0, 100.0, 0.0, -10.0, 200.0])),
        crs: Some(crs.clone()),
        area_or_point: Some(area_or_point),
        ..Default::default()
    };
    let out = tags_of(&geo).unwrap();
    let (back, warnings) = read(&out);
    (out, back, warnings)
}

#[test]
fn every_registered_system_comes_back() {
    for keyword in ["PROJCS", "GEOGCS", "COMPD_CS", "GEOGCRS", "GEOCCS"] {
        let codes: Vec<u32> = registry::all(keyword).map(|(code, _)| code).collect();
        for code in codes {
            let crs = Crs::from_epsg(code).unwrap();
            if crs.epsg != Some(code) {
                continue;
            }
            let (out, back, warnings) = written(&crs, AreaOrPoint::Area);
            let found = back.crs.unwrap_or_else(|| panic!("{code}"));
            // Some compound systems are registered twice.
            let parts = |crs: &Crs| (crs.horizontal_epsg, crs.vertical.as_ref().and_then(|v| v.epsg));
            let twin = crs.kind == CrsKind::Compound && parts(&found) == parts(&crs);
            assert!(twin || found.epsg == Some(code), "{code} {:?} {:?}", out.warnings, found.wkt);
            assert_eq!((out.warnings, out.sidecar.is_empty()), (Warnings::new(), true), "{code}");
            let dropped = |w: &crate::Warning| w.message.contains("three axes");
            assert!(warnings.iter().all(dropped), "{code} {warnings:?}");
        }
    }
}

/// Systems of every kind that keys can describe.
#[rustfmt::skip]
const DESCRIBED: &[&str] = &[
    "EPSG:4326+5773",
    "EPSG:32631+5703",
    "+proj=tmerc +lat_0=10 +lon_0=9 +k=0.9996 +x_0=500000 +y_0=100 +datum=WGS84",
    "+proj=tmerc +lat_0=0 +lon_0=9 +x_0=3500000 +ellps=bessel +towgs84=598.1,73.7,418.2,0.202,0.045,-2.455,6.7",
    "+proj=tmerc +lat_0=40 +lon_0=-75 +k=0.9999 +x_0=250000 +datum=NAD83 +units=us-ft",
    "+proj=tmerc +lat_0=40 +lon_0=-75 +x_0=1000 +a=6378000 +rf=297.5 +units=ft",
    "+proj=tmerc +lat_0=40 +lon_0=5 +ellps=clrk66 +to_meter=0.3",
    "+proj=utm +zone=33 +south +ellps=clrk80 +towgs84=-1,2,3",
    "+proj=utm +zone=31 +ellps=intl +pm=madrid",
    "+proj=lcc +lat_1=49.5 +lat_0=49.5 +lon_0=0 +k_0=0.99 +x_0=6 +y_0=2 +a=6378249.2 +b=6356515 +pm=paris",
    "+proj=lcc +lat_1=31.5 +lat_2=33.5 +lat_0=31 +lon_0=-100 +x_0=600000 +y_0=1000000 +datum=NAD83",
    "+proj=lcc +lat_1=30 +lat_2=60 +lat_0=45 +lon_0=10 +R=6371229",
    "+proj=aea +lat_1=20 +lat_2=60 +lat_0=40 +lon_0=-96 +x_0=10 +y_0=20 +ellps=GRS80",
    "+proj=eqdc +lat_1=20 +lat_2=60 +lat_0=40 +lon_0=-96 +ellps=GRS80",
    "+proj=laea +lat_0=-20 +lon_0=30 +x_0=1000 +y_0=2000 +datum=WGS84",
    "+proj=stere +lat_0=90 +lat_ts=70 +lon_0=-45 +x_0=10 +a=6378273 +b=6356889.449",
    "+proj=stere +lat_0=-90 +lon_0=10 +k=0.98 +x_0=1000 +datum=WGS84",
    "+proj=stere +lat_0=40 +lon_0=10 +k=0.99 +datum=WGS84",
    "+proj=ups +south +ellps=GRS80",
    "+proj=sterea +lat_0=46 +lon_0=25 +k=0.99975 +x_0=500000 +y_0=500000 +ellps=krass",
    "+proj=merc +lon_0=100 +k=0.997 +x_0=3900000 +y_0=900000 +ellps=bessel",
    "+proj=merc +lat_ts=42 +lon_0=51 +ellps=krass",
    "+proj=eqc +lat_ts=30 +lon_0=5 +datum=WGS84",
    "+proj=eqc +lat_ts=30 +lat_0=7 +lon_0=5 +R=1737400",
    "+proj=sinu +lon_0=20 +x_0=5 +y_0=6 +R=6371007.181",
    "+proj=cea +lat_ts=30 +lon_0=5 +datum=WGS84",
    "+proj=aeqd +lat_0=53 +lon_0=24 +x_0=5837287.82 +y_0=2121415.7 +datum=WGS84",
    "+proj=robin +lon_0=5 +datum=WGS84",
    "+proj=vandg +lon_0=5 +R=6371000",
    "+proj=mill +lon_0=5 +R=6371000",
    "+proj=gnom +lat_0=5 +lon_0=5 +R=6371000",
    "+proj=ortho +lat_0=5 +lon_0=5 +ellps=GRS80",
    "+proj=cass +lat_0=31 +lon_0=35 +x_0=1 +y_0=2 +ellps=clrk80",
    "+proj=poly +lat_0=3 +lon_0=-54 +x_0=5000000 +y_0=10000000 +ellps=aust_SA",
    "+proj=nzmg +lat_0=-41 +lon_0=173 +x_0=2510000 +y_0=6023150 +ellps=intl",
    "+proj=somerc +lat_0=46.9524055555556 +lon_0=7.43958333333333 +x_0=2 +y_0=1 +ellps=bessel",
    "+proj=omerc +lat_0=4 +lonc=115 +alpha=53 +gamma=52 +k=0.99984 +x_0=5 +y_0=6 +ellps=evrstSS",
    "+proj=omerc +lat_0=4 +lonc=102 +alpha=323 +k=0.99984 +x_0=804671 +no_uoff +datum=WGS84",
    "+proj=longlat +ellps=bessel",
    "+proj=longlat +a=6377000 +rf=300 +pm=12.5",
    "+proj=longlat +R=3396190",
    "+proj=geocent +ellps=bessel +units=km",
    r#"PROJCS["n|n",GEOGCS["g",DATUM["d",SPHEROID["s",6378000,297]],PRIMEM["Paris",2.33722917],UNIT["grad",0.0157079632679489]],PROJECTION["Transverse_Mercator"],PARAMETER["latitude_of_origin",0],PARAMETER["central_meridian",10],PARAMETER["scale_factor",0.9996],PARAMETER["false_easting",500000],PARAMETER["false_northing",0],UNIT["my foot",0.3]]"#,
    r#"GEOGCS["mine",DATUM["d",SPHEROID["s",6378000,297]],PRIMEM["Greenwich",0],UNIT["turn",6.283185307179586]]"#,
    r#"LOCAL_CS["engine room",UNIT["foot",0.3048,AUTHORITY["EPSG","9002"]],AXIS["Easting",EAST],AXIS["Northing",NORTH]]"#,
    r#"COMPD_CS["both",PROJCS["p",GEOGCS["WGS 84",DATUM["WGS_1984",SPHEROID["WGS 84",6378137,298.257223563]],PRIMEM["Greenwich",0],UNIT["degree",0.0174532925199433]],PROJECTION["Transverse_Mercator"],PARAMETER["latitude_of_origin",1],PARAMETER["central_meridian",10],PARAMETER["scale_factor",0.9996],PARAMETER["false_easting",500000],PARAMETER["false_northing",0],UNIT["metre",1]],VERT_CS["mine",VERT_DATUM["unknown",2005],UNIT["foot",0.3048],AXIS["Up",UP]]]"#,
];

#[test]
fn described_systems_come_back() {
    for text in DESCRIBED {
        let crs = Crs::from_user_input(text).unwrap_or_else(|e| panic!("{text}: {e}"));
        for kind in [AreaOrPoint::Area, AreaOrPoint::Point] {
            let (out, back, warnings) = written(&crs, kind);
            assert_eq!((&out.warnings, out.sidecar.is_empty()), (&Warnings::new(), true), "{text}");
            assert_eq!((warnings, back.area_or_point), (Warnings::new(), Some(kind)), "{text}");
            let found = back.crs.clone().unwrap_or_else(|| panic!("{text}"));
            assert!(same_system(&found, &crs), "{text}\n{:?}\n{:?}", found.wkt, crs.wkt);
            assert_eq!((&found.unit, found.kind), (&crs.unit, crs.kind), "{text}");
            assert_eq!(found.name.replace('/', "|"), crs.name.replace('/', "|"), "{text}");
            // Georeferencing that was read is written as the same tags again.
            let again = tags_of(&back).unwrap();
            assert_eq!(read(&again).0.crs, Some(found), "{text}");
        }
    }
}

#[test]
fn what_keys_cannot_describe_goes_to_the_sidecar() {
    let krovak = registry::lookup(5514).unwrap().to_string().replace("0.9999", "0.9998");
    let bound = "BOUNDCRS[SOURCECRS[GEOGCRS[\"x\",DATUM[\"d\",ELLIPSOID[\"e\",6378137,298]],CS[ellipsoidal,2]]],TARGETCRS[GEOGCRS[\"y\"]]]";
    let engineering = "ENGCRS[\"site\",EDATUM[\"d\"],CS[Cartesian,2],AXIS[\"x\",east],AXIS[\"y\",north],LENGTHUNIT[\"metre\",1]]";
    let meridian = DESCRIBED[42].replace("PRIMEM[\"Paris\",2.33722917]", "PRIMEM[\"p\",4.5]");
    assert!(meridian.contains("4.5"));
    let west =
        DESCRIBED[42].replace("UNIT[\"my foot\",0.3]", "UNIT[\"m\",1],AXIS[\"x\",WEST],AXIS[\"y\",NORTH]");
    for text in [krovak.as_str(), bound, engineering, &west, &meridian, "EPSG:5773"] {
        let crs = Crs::from_user_input(text).unwrap();
        let (out, back, _) = written(&crs, AreaOrPoint::Area);
        let told = out.warnings.iter().filter(|w| w.code == Code::UnsupportedCrs.as_str()).count();
        assert_eq!((told, out.sidecar.crs.as_ref()), (1, Some(&crs)), "{text} {:?}", out.warnings);
        let both = crate::gdal::pam::apply(back, Some(&out.sidecar), None);
        assert_eq!(both.crs, Some(crs));
    }
    // A code that is not known here is kept for other readers.
    let newer = krovak.replace("\"5514\"", "\"19999\"");
    let (out, back, _) = written(&Crs::from_user_input(&newer).unwrap(), AreaOrPoint::Area);
    assert_eq!((back.crs.unwrap().epsg, out.sidecar.crs.is_some()), (Some(19999), true));
    // The file also contains the WKT 1 of a projected system.
    let (out, back, _) = written(
        &Crs::from_user_input(&krovak.replace(",AUTHORITY[\"EPSG\",\"5514\"]", "")).unwrap(),
        AreaOrPoint::Area,
    );
    assert!(back.crs.unwrap().wkt.unwrap().contains("Krovak"), "{out:?}");
}

#[test]
fn a_code_that_contradicts_its_definition_is_not_written() {
    let text = registry::lookup(32631).unwrap().to_string().replace("500000", "500001");
    let (out, back, _) = written(&Crs::from_wkt(&text).unwrap(), AreaOrPoint::Area);
    assert_eq!(
        out.warnings[0].message,
        "EPSG:32631 is another system than the one described; written in full"
    );
    let found = back.crs.unwrap();
    assert_eq!((found.epsg, found.wkt.unwrap().contains("500001")), (None, true));
}

#[test]
fn control_points_and_cameras_come_back() {
    let gcp = |column: f64, id: &str| Gcp { column, row: 0.5, x: 5.0, y: 50.0, z: 7.0, id: id.to_owned() };
    let rpc = Rpc::from_tag(&(0..92).map(f64::from).collect::<Vec<_>>(), &mut Warnings::new());
    let unknown_errors = rpc.map(|rpc| Rpc { err_bias: None, ..rpc });
    let geo = Georeference {
        gcps: vec![gcp(0.0, "1"), gcp(31.5, "2"), gcp(3.0, "3")],
        gcp_crs: Crs::from_epsg(4326),
        rpc: unknown_errors,
        area_or_point: Some(AreaOrPoint::Point),
        ..Default::default()
    };
    let out = tags_of(&geo).unwrap();
    let (back, warnings) = read(&out);
    assert_eq!(
        (Georeference { keys: GeoKeys::default(), ..back }, warnings, out.warnings),
        (geo.clone(), Warnings::new(), Warnings::new())
    );

    let named = Georeference { gcps: vec![gcp(0.0, "tower")], ..geo.clone() };
    assert_eq!(tags_of(&named).unwrap().warnings[0].code, Code::BadTiePoints.as_str());

    // With a transform, control points have no tag.
    let both =
        Georeference { transform: Some(GeoTransform::IDENTITY), crs: Crs::from_epsg(32631), ..geo.clone() };
    let out = tags_of(&both).unwrap();
    let back = crate::gdal::pam::apply(read(&out).0, Some(&out.sidecar), None);
    assert_eq!(Georeference { keys: GeoKeys::default(), ..back }, both);

    // A system that keys cannot describe goes to the sidecar with its points.
    let far = Georeference { gcp_crs: Some(Crs::from_user_input("EPSG:5773").unwrap()), ..geo };
    let out = tags_of(&far).unwrap();
    assert_eq!((out.sidecar.gcps.len(), &out.sidecar.gcp_crs), (3, &far.gcp_crs));
}

#[test]
fn heights_beside_a_system_come_back() {
    let directory = |minor: u16, keys: &[[u16; 4]]| -> Vec<u16> {
        [&[1, 1, minor, u16::try_from(keys.len()).unwrap()][..], &keys.concat()].concat()
    };
    for keys in [
        directory(0, &[[1024, 0, 1, 1], [1025, 0, 1, 1], [3072, 0, 1, 26911], [4096, 0, 1, 5703]]),
        directory(1, &[[1024, 0, 1, 1], [1025, 0, 1, 1], [3072, 0, 1, 32631], [4096, 0, 1, 4979]]),
        directory(0, &[[1024, 0, 1, 1], [1025, 0, 1, 1], [3072, 0, 1, 27563], [4099, 0, 1, 9001]]),
        directory(1, &[[1024, 0, 1, 2], [1025, 0, 1, 1], [2048, 0, 1, 4326], [4096, 0, 1, 4979]]),
    ] {
        let tags = GeoTags { key_directory: Some(&keys), ..Default::default() };
        let geo = Georeference::from_tags(&tags, &mut Warnings::new());
        let out = tags_of(&geo).unwrap();
        let (back, warnings) = read(&out);
        assert_eq!((back.crs, back.height_unit), (geo.crs, geo.height_unit), "{keys:?}");
        assert_eq!((warnings, out.warnings), (Warnings::new(), Warnings::new()), "{keys:?}");
    }
}

#[test]
fn nothing_is_written_for_nothing() {
    assert_eq!(tags_of(&Georeference::default()), Ok(GeoTagsOut::default()));
    let point = Georeference { area_or_point: Some(AreaOrPoint::Point), ..Default::default() };
    let (back, _) = read(&tags_of(&point).unwrap());
    assert_eq!((back.area_or_point, back.crs), (Some(AreaOrPoint::Point), None));
}

#[test]
fn numbers_that_no_file_should_hold_are_errors() {
    let flat = GeoTransform { a: 0.0, ..GeoTransform::IDENTITY };
    let nan = GeoTransform { c: f64::NAN, ..GeoTransform::IDENTITY };
    for transform in [flat, nan] {
        let geo = Georeference { transform: Some(transform), ..Default::default() };
        let problem = tags_of(&geo).unwrap_err();
        assert!(
            problem.to_string().starts_with("expected a transform of finite numbers with an inverse"),
            "{problem}"
        );
    }
    let gcp = Gcp { column: 0.0, row: f64::INFINITY, x: 0.0, y: 0.0, z: 0.0, id: String::new() };
    let geo = Georeference { gcps: vec![gcp], ..Default::default() };
    assert_eq!(tags_of(&geo).unwrap_err().to_string(), "control point 1 is not finite");
    let crs = Crs { wkt: Some("PROJCS[".to_owned()), ..Crs::from_epsg(4326).unwrap() };
    assert!(tags_of(&Georeference { crs: Some(crs), ..Default::default() }).is_err());
}

/// A definition with every byte changed and cut at every byte gives tags, a sidecar or an error.
#[test]
fn no_definition_makes_a_panic() {
    let text = r#"PROJCRS["o",BASEGEOGCRS["g",DATUM["d",ELLIPSOID["e",6378137,298.25]],PRIMEM["p",1,ANGLEUNIT["grad",0.0157]]],CONVERSION["c",METHOD["Mercator (variant B)"],PARAMETER["Latitude of 1st standard parallel",44]],CS[Cartesian,2],LENGTHUNIT["f",0.3],ID["EPSG",3994]]"#;
    for at in 0..text.len() {
        for byte in [b'[', b'"', b'9', b'-', b'e'] {
            let mut changed = text.as_bytes().to_vec();
            changed[at] = byte;
            if let Ok(crs) = Crs::from_user_input(&String::from_utf8_lossy(&changed)) {
                let out = tags_of(&Georeference { crs: Some(crs), ..Default::default() });
                let _ = out.map(|out| read(&out));
            }
        }
        assert!(Crs::from_user_input(&text[..at]).is_err());
    }
}
