//! Compares systems written out in keys with GDAL 3.10's interpretation of a file with the same keys: projection,
//! parameters, unit, ellipsoid, prime meridian and EPSG code.

use std::collections::BTreeMap;

use super::*;
use crate::Warnings;

#[derive(Clone, Copy)]
enum Key {
    S(u16),
    D(f64),
    T(&'static str),
}
use Key::{D, S, T};

struct Case {
    keys: &'static [(u16, Key)],
    gdal: &'static str,
    epsg: Option<u32>,
}

#[rustfmt::skip]
const CASES: &[Case] = &[
    Case {
        keys: &[(1024, S(1)), (1026, T("test")), (2048, S(4326)), (3072, S(32767)), (3074, S(32767)), (3075, S(1)), (3076, S(9001)), (3080, D(9.0)), (3081, D(10.0)), (3082, D(500000.0)), (3083, D(100.0)), (3092, D(0.9996))],
        gdal: "Transverse_Mercator latitude_of_origin=10 central_meridian=9 scale_factor=0.9996 false_easting=500000 false_northing=100 unit=1 a=6378137 rf=298.257223563 pm=0",
        epsg: None,
    },
    Case {
        keys: &[(1024, S(1)), (1026, T("test")), (2048, S(4326)), (3072, S(32767)), (3074, S(32767)), (3075, S(1)), (3076, S(9001)), (3080, D(3.0)), (3081, D(0.0)), (3082, D(500000.0)), (3083, D(0.0)), (3092, D(0.9996))],
        gdal: "Transverse_Mercator latitude_of_origin=0 central_meridian=3 scale_factor=0.9996 false_easting=500000 false_northing=0 unit=1 a=6378137 rf=298.257223563 pm=0",
        epsg: Some(32631),
    },
    Case {
        keys: &[(1024, S(1)), (1026, T("test")), (2048, S(4269)), (3072, S(32767)), (3074, S(32767)), (3075, S(1)), (3076, S(9003)), (3080, D(-75.0)), (3081, D(40.0)), (3082, D(820208.3333)), (3083, D(0.0)), (3092, D(0.9999))],
        gdal: "Transverse_Mercator latitude_of_origin=40 central_meridian=-75 scale_factor=0.9999 false_easting=820208.3333 false_northing=0 unit=0.304800609601219 a=6378137 rf=298.257222101004 pm=0",
        epsg: None,
    },
    Case {
        keys: &[(1024, S(1)), (1026, T("test")), (2048, S(4326)), (3072, S(32767)), (3074, S(32767)), (3075, S(27)), (3076, S(9001)), (3080, D(15.0)), (3081, D(0.0)), (3082, D(0.0)), (3083, D(0.0)), (3092, D(1.0))],
        gdal: "Transverse_Mercator_South_Orientated latitude_of_origin=0 central_meridian=15 scale_factor=1 false_easting=0 false_northing=0 unit=1 a=6378137 rf=298.257223563 pm=0",
        epsg: None,
    },
    Case {
        keys: &[(1024, S(1)), (1026, T("test")), (2048, S(4269)), (3072, S(32767)), (3074, S(32767)), (3075, S(8)), (3076, S(9001)), (3078, D(31.5)), (3079, D(33.5)), (3084, D(-100.0)), (3085, D(31.0)), (3086, D(600000.0)), (3087, D(1000000.0))],
        gdal: "Lambert_Conformal_Conic_2SP latitude_of_origin=31 central_meridian=-100 standard_parallel_1=31.5 standard_parallel_2=33.5 false_easting=600000 false_northing=1000000 unit=1 a=6378137 rf=298.257222101004 pm=0",
        epsg: None,
    },
    Case {
        keys: &[(1024, S(1)), (1026, T("test")), (2048, S(4326)), (3072, S(32767)), (3074, S(32767)), (3075, S(9)), (3076, S(9001)), (3080, D(3.0)), (3081, D(46.0)), (3082, D(600000.0)), (3083, D(2200000.0)), (3092, D(0.99987742))],
        gdal: "Lambert_Conformal_Conic_1SP latitude_of_origin=46 central_meridian=3 scale_factor=0.99987742 false_easting=600000 false_northing=2200000 unit=1 a=6378137 rf=298.257223563 pm=0",
        epsg: None,
    },
    Case {
        keys: &[(1024, S(1)), (1026, T("test")), (2048, S(4269)), (3072, S(32767)), (3074, S(32767)), (3075, S(11)), (3076, S(9001)), (3078, D(29.5)), (3079, D(45.5)), (3080, D(-96.0)), (3081, D(23.0)), (3082, D(0.0)), (3083, D(0.0))],
        gdal: "Albers_Conic_Equal_Area latitude_of_center=23 longitude_of_center=-96 standard_parallel_1=29.5 standard_parallel_2=45.5 false_easting=0 false_northing=0 unit=1 a=6378137 rf=298.257222101004 pm=0",
        epsg: Some(5070),
    },
    Case {
        keys: &[(1024, S(1)), (1026, T("test")), (2048, S(4326)), (3072, S(32767)), (3074, S(32767)), (3075, S(10)), (3076, S(9001)), (3082, D(4321000.0)), (3083, D(3210000.0)), (3088, D(10.0)), (3089, D(52.0))],
        gdal: "Lambert_Azimuthal_Equal_Area latitude_of_center=52 longitude_of_center=10 false_easting=4321000 false_northing=3210000 unit=1 a=6378137 rf=298.257223563 pm=0",
        epsg: None,
    },
    Case {
        keys: &[(1024, S(1)), (1026, T("test")), (2048, S(4326)), (3072, S(32767)), (3074, S(32767)), (3075, S(15)), (3076, S(9001)), (3081, D(-71.0)), (3082, D(0.0)), (3083, D(0.0)), (3092, D(1.0)), (3095, D(0.0))],
        gdal: "Polar_Stereographic latitude_of_origin=-71 central_meridian=0 false_easting=0 false_northing=0 unit=1 a=6378137 rf=298.257223563 pm=0",
        epsg: Some(3031),
    },
    Case {
        keys: &[(1024, S(1)), (1026, T("test")), (2048, S(4326)), (3072, S(32767)), (3074, S(32767)), (3075, S(15)), (3076, S(9001)), (3081, D(90.0)), (3082, D(2000000.0)), (3083, D(2000000.0)), (3092, D(0.994)), (3095, D(0.0))],
        gdal: "Polar_Stereographic latitude_of_origin=90 central_meridian=0 scale_factor=0.994 false_easting=2000000 false_northing=2000000 unit=1 a=6378137 rf=298.257223563 pm=0",
        epsg: Some(5041),
    },
    Case {
        keys: &[(1024, S(1)), (1026, T("test")), (2048, S(4326)), (3072, S(32767)), (3074, S(32767)), (3075, S(16)), (3076, S(9001)), (3080, D(5.38763888888889)), (3081, D(52.15616055555555)), (3082, D(155000.0)), (3083, D(463000.0)), (3092, D(0.9999079))],
        gdal: "Oblique_Stereographic latitude_of_origin=52.1561605555556 central_meridian=5.38763888888889 scale_factor=0.9999079 false_easting=155000 false_northing=463000 unit=1 a=6378137 rf=298.257223563 pm=0",
        epsg: None,
    },
    Case {
        keys: &[(1024, S(1)), (1026, T("test")), (2048, S(4326)), (3072, S(32767)), (3074, S(32767)), (3075, S(14)), (3076, S(9001)), (3082, D(0.0)), (3083, D(0.0)), (3088, D(10.0)), (3089, D(40.0)), (3092, D(1.0))],
        gdal: "Stereographic latitude_of_origin=40 central_meridian=10 scale_factor=1 false_easting=0 false_northing=0 unit=1 a=6378137 rf=298.257223563 pm=0",
        epsg: None,
    },
    Case {
        keys: &[(1024, S(1)), (1026, T("test")), (2048, S(4326)), (3072, S(32767)), (3074, S(32767)), (3075, S(7)), (3076, S(9001)), (3080, D(110.0)), (3081, D(0.0)), (3082, D(3900000.0)), (3083, D(900000.0)), (3092, D(0.997))],
        gdal: "Mercator_1SP central_meridian=110 scale_factor=0.997 false_easting=3900000 false_northing=900000 unit=1 a=6378137 rf=298.257223563 pm=0",
        epsg: None,
    },
    Case {
        keys: &[(1024, S(1)), (1026, T("test")), (2048, S(4326)), (3072, S(32767)), (3074, S(32767)), (3075, S(7)), (3076, S(9001)), (3078, D(42.0)), (3080, D(51.0)), (3082, D(0.0)), (3083, D(0.0))],
        gdal: "Mercator_2SP standard_parallel_1=42 central_meridian=51 false_easting=0 false_northing=0 unit=1 a=6378137 rf=298.257223563 pm=0",
        epsg: None,
    },
    Case {
        keys: &[(1024, S(1)), (1026, T("test")), (2048, S(4326)), (3072, S(32767)), (3074, S(32767)), (3075, S(17)), (3076, S(9001)), (3078, D(30.0)), (3082, D(5.0)), (3083, D(0.0)), (3088, D(10.0)), (3089, D(20.0))],
        gdal: "Equirectangular latitude_of_origin=20 central_meridian=10 standard_parallel_1=30 false_easting=5 false_northing=0 unit=1 a=6378137 rf=298.257223563 pm=0",
        epsg: None,
    },
    Case {
        keys: &[(1024, S(1)), (1026, T("test")), (2048, S(4326)), (3072, S(32767)), (3074, S(32767)), (3075, S(24)), (3076, S(9001)), (3082, D(0.0)), (3083, D(0.0)), (3088, D(0.0))],
        gdal: "Sinusoidal longitude_of_center=0 false_easting=0 false_northing=0 unit=1 a=6378137 rf=298.257223563 pm=0",
        epsg: None,
    },
    Case {
        keys: &[(1024, S(1)), (1026, T("test")), (2048, S(4326)), (3072, S(32767)), (3074, S(32767)), (3075, S(18)), (3076, S(9001)), (3080, D(-61.3333)), (3081, D(10.441)), (3082, D(430000.0)), (3083, D(325000.0))],
        gdal: "Cassini_Soldner latitude_of_origin=10.441 central_meridian=-61.3333 false_easting=430000 false_northing=325000 unit=1 a=6378137 rf=298.257223563 pm=0",
        epsg: None,
    },
    Case {
        keys: &[(1024, S(1)), (1026, T("test")), (2048, S(4326)), (3072, S(32767)), (3074, S(32767)), (3075, S(22)), (3076, S(9001)), (3080, D(-54.0)), (3081, D(0.0)), (3082, D(5000000.0)), (3083, D(10000000.0))],
        gdal: "Polyconic latitude_of_origin=0 central_meridian=-54 false_easting=5000000 false_northing=10000000 unit=1 a=6378137 rf=298.257223563 pm=0",
        epsg: None,
    },
    Case {
        keys: &[(1024, S(1)), (1026, T("test")), (2048, S(4326)), (3072, S(32767)), (3074, S(32767)), (3075, S(28)), (3076, S(9001)), (3078, D(30.0)), (3080, D(0.0)), (3082, D(0.0)), (3083, D(0.0))],
        gdal: "Cylindrical_Equal_Area standard_parallel_1=30 central_meridian=0 false_easting=0 false_northing=0 unit=1 a=6378137 rf=298.257223563 pm=0",
        epsg: Some(6933),
    },
    Case {
        keys: &[(1024, S(1)), (1026, T("test")), (2048, S(4326)), (3072, S(32767)), (3074, S(32767)), (3075, S(12)), (3076, S(9001)), (3082, D(0.0)), (3083, D(0.0)), (3088, D(10.0)), (3089, D(40.0))],
        gdal: "Azimuthal_Equidistant latitude_of_center=40 longitude_of_center=10 false_easting=0 false_northing=0 unit=1 a=6378137 rf=298.257223563 pm=0",
        epsg: None,
    },
    Case {
        keys: &[(1024, S(1)), (1026, T("test")), (2048, S(4326)), (3072, S(32767)), (3074, S(32767)), (3075, S(13)), (3076, S(9001)), (3078, D(30.0)), (3079, D(50.0)), (3080, D(10.0)), (3081, D(40.0)), (3082, D(0.0)), (3083, D(0.0))],
        gdal: "Equidistant_Conic latitude_of_center=40 longitude_of_center=10 standard_parallel_1=30 standard_parallel_2=50 false_easting=0 false_northing=0 unit=1 a=6378137 rf=298.257223563 pm=0",
        epsg: None,
    },
    Case {
        keys: &[(1024, S(1)), (1026, T("test")), (2048, S(4326)), (3072, S(32767)), (3074, S(32767)), (3075, S(9815)), (3076, S(9001)), (3082, D(0.0)), (3083, D(0.0)), (3088, D(115.0)), (3089, D(4.0)), (3092, D(0.99984)), (3094, D(53.3158)), (3096, D(53.1301))],
        gdal: "Hotine_Oblique_Mercator_Azimuth_Center latitude_of_center=4 longitude_of_center=115 azimuth=53.3158 rectified_grid_angle=53.1301 scale_factor=0.99984 false_easting=0 false_northing=0 unit=1 a=6378137 rf=298.257223563 pm=0",
        epsg: None,
    },
    Case {
        keys: &[(1024, S(1)), (1026, T("test")), (2048, S(4326)), (3072, S(32767)), (3074, S(32767)), (3075, S(3)), (3076, S(9001)), (3082, D(0.0)), (3083, D(0.0)), (3088, D(115.0)), (3089, D(4.0)), (3092, D(0.99984)), (3094, D(53.3158))],
        gdal: "Hotine_Oblique_Mercator latitude_of_center=4 longitude_of_center=115 azimuth=53.3158 rectified_grid_angle=90 scale_factor=0.99984 false_easting=0 false_northing=0 unit=1 a=6378137 rf=298.257223563 pm=0",
        epsg: None,
    },
    Case {
        keys: &[(1024, S(1)), (1026, T("test")), (2048, S(4272)), (3072, S(32767)), (3074, S(32767)), (3075, S(26)), (3076, S(9001)), (3080, D(173.0)), (3081, D(-41.0)), (3082, D(2510000.0)), (3083, D(6023150.0))],
        gdal: "New_Zealand_Map_Grid latitude_of_origin=-41 central_meridian=173 false_easting=2510000 false_northing=6023150 unit=1 a=6378388 rf=297.000000000005 pm=0",
        epsg: Some(27200),
    },
    Case {
        keys: &[(1024, S(1)), (1026, T("test")), (2048, S(4807)), (2054, S(9105)), (3072, S(32767)), (3074, S(32767)), (3075, S(9)), (3076, S(9001)), (3080, D(0.0)), (3081, D(52.0)), (3082, D(600000.0)), (3083, D(2200000.0)), (3092, D(0.99987742))],
        gdal: "Lambert_Conformal_Conic_1SP latitude_of_origin=52 central_meridian=0 scale_factor=0.99987742 false_easting=600000 false_northing=2200000 unit=1 a=6378249.2 rf=293.466021293627 pm=2.33722917000001",
        epsg: Some(27572),
    },
    Case {
        keys: &[(1024, S(1)), (1026, T("test")), (2048, S(32767)), (2049, T("GCS Name = foo|Datum = bar|Ellipsoid = baz|Primem = Greenwich|")), (2050, S(32767)), (2054, S(9102)), (2056, S(32767)), (2057, D(6378160.0)), (2059, D(298.25)), (3072, S(32767)), (3074, S(32767)), (3075, S(1)), (3076, S(9001)), (3080, D(9.0)), (3081, D(10.0)), (3082, D(500000.0)), (3083, D(100.0)), (3092, D(0.9996))],
        gdal: "Transverse_Mercator latitude_of_origin=10 central_meridian=9 scale_factor=0.9996 false_easting=500000 false_northing=100 unit=1 a=6378160 rf=298.25 pm=0",
        epsg: None,
    },
    Case {
        keys: &[(1024, S(1)), (1026, T("test")), (2048, S(32767)), (2050, S(32767)), (2054, S(9102)), (2056, S(32767)), (2057, D(6371000.0)), (2058, D(6371000.0)), (3072, S(32767)), (3074, S(32767)), (3075, S(1)), (3076, S(9001)), (3080, D(9.0)), (3081, D(10.0)), (3082, D(500000.0)), (3083, D(100.0)), (3092, D(0.9996))],
        gdal: "Transverse_Mercator latitude_of_origin=10 central_meridian=9 scale_factor=0.9996 false_easting=500000 false_northing=100 unit=1 a=6371000 rf=0 pm=0",
        epsg: None,
    },
    Case {
        keys: &[(1024, S(1)), (1026, T("test")), (2048, S(32767)), (2050, S(32767)), (2051, S(8903)), (2054, S(9102)), (2056, S(7011)), (3072, S(32767)), (3074, S(32767)), (3075, S(1)), (3076, S(9001)), (3080, D(2.0)), (3081, D(40.0)), (3082, D(500000.0)), (3083, D(100.0)), (3092, D(0.9996))],
        gdal: "Transverse_Mercator latitude_of_origin=40 central_meridian=2 scale_factor=0.9996 false_easting=500000 false_northing=100 unit=1 a=6378249.2 rf=293.466021293627 pm=2.33722917",
        epsg: None,
    },
    Case {
        keys: &[(1024, S(1)), (1026, T("test")), (2050, S(6269)), (2054, S(9102)), (3072, S(32767)), (3074, S(32767)), (3075, S(1)), (3076, S(9001)), (3080, D(-117.0)), (3081, D(0.0)), (3082, D(500000.0)), (3083, D(0.0)), (3092, D(0.9996))],
        gdal: "Transverse_Mercator latitude_of_origin=0 central_meridian=-117 scale_factor=0.9996 false_easting=500000 false_northing=0 unit=1 a=6378137 rf=298.257222101004 pm=0",
        epsg: Some(26911),
    },
    Case {
        keys: &[(1024, S(1)), (1026, T("x")), (2048, S(4326)), (3072, S(32767)), (3074, S(16133)), (3076, S(9001))],
        gdal: "Transverse_Mercator latitude_of_origin=0 central_meridian=15 scale_factor=0.9996 false_easting=500000 false_northing=10000000 unit=1 a=6378137 rf=298.257223563 pm=0",
        epsg: Some(32733),
    },
    Case {
        keys: &[(1024, S(1)), (3072, S(32631)), (3076, S(9003))],
        gdal: "Transverse_Mercator latitude_of_origin=0 central_meridian=3 scale_factor=0.9996 false_easting=1640416.66666667 false_northing=0 unit=0.304800609601219 a=6378137 rf=298.257223563 pm=0",
        epsg: None,
    },
    Case {
        keys: &[(1024, S(1)), (1026, T("test")), (2048, S(4326)), (3072, S(32767)), (3074, S(32767)), (3075, S(1)), (3076, S(32767)), (3077, D(0.5)), (3080, D(9.0)), (3081, D(10.0)), (3082, D(500000.0)), (3083, D(100.0)), (3092, D(0.9996))],
        gdal: "Transverse_Mercator latitude_of_origin=10 central_meridian=9 scale_factor=0.9996 false_easting=500000 false_northing=100 unit=0.5 a=6378137 rf=298.257223563 pm=0",
        epsg: None,
    },
];

fn keys_of(list: &[(u16, Key)], minor: u16) -> GeoKeys {
    let value = |key: &Key| match *key {
        S(v) => KeyValue::Short(v),
        D(v) => KeyValue::Doubles(vec![v]),
        T(v) => KeyValue::Text(v.to_owned()),
    };
    let values: BTreeMap<_, _> = list.iter().map(|(id, key)| (*id, value(key))).collect();
    GeoKeys { revision: (1, minor), values }
}

/// Returns the facts of a WKT text in the form of `Case::gdal`.
fn facts(wkt: &str) -> (String, BTreeMap<String, f64>) {
    let node = WktNode::parse(wkt).unwrap();
    let geographic = node.child(&["GEOGCS"]).unwrap();
    let spheroid = geographic.child(&["DATUM"]).unwrap().child(&["SPHEROID"]).unwrap();
    let mut out = BTreeMap::new();
    for parameter in node.children().filter(|n| n.is(&["PARAMETER"])) {
        out.insert(parameter.name().unwrap().to_owned(), parameter.f64(1).unwrap());
    }
    out.insert("unit".to_owned(), node.child(&["UNIT"]).unwrap().f64(1).unwrap());
    out.insert("a".to_owned(), spheroid.f64(1).unwrap());
    out.insert("rf".to_owned(), spheroid.f64(2).unwrap());
    out.insert("pm".to_owned(), geographic.child(&["PRIMEM"]).unwrap().f64(1).unwrap());
    (node.child(&["PROJECTION"]).unwrap().name().unwrap().to_owned(), out)
}

#[test]
fn projections_agree_with_gdal() {
    for case in CASES {
        let crs = keys_of(case.keys, 1).crs(&mut Warnings::new()).unwrap();
        let (name, found) = facts(crs.wkt.as_deref().unwrap());
        let mut words = case.gdal.split(' ');
        assert_eq!(Some(name.as_str()), words.next());
        for word in words {
            let (key, value) = word.split_once('=').unwrap();
            let expected: f64 = value.parse().unwrap();
            // A parameter that is not written has its usual default.
            let default = if key == "scale_factor" { 1.0 } else { 0.0 };
            let value = found.get(key).copied().unwrap_or(default);
            assert!(
                (value - expected).abs() <= 1e-10 * expected.abs().max(1e-3),
                "{name} {key}: {value}, {expected}"
            );
        }
        assert_eq!(crs.epsg, case.epsg, "{}", case.gdal);
    }
}

#[test]
fn vertical_systems_join_from_geotiff_1_1_on() {
    let utm = [(1024, S(1)), (3072, S(26911)), (4096, S(5703))];
    let crs = |list: &[(u16, Key)], minor| keys_of(list, minor).crs(&mut Warnings::new()).unwrap();
    let old = crs(&utm, 0);
    assert_eq!((old.epsg, old.kind), (Some(26911), CrsKind::Projected));
    assert_eq!(old.vertical.as_ref().unwrap().epsg, Some(5703));
    let new = crs(&utm, 1);
    assert_eq!((new.epsg, new.horizontal_epsg, new.kind), (None, Some(26911), CrsKind::Compound));
    let egm = crs(&[(1024, S(2)), (2048, S(4326)), (4096, S(3855))], 1);
    assert_eq!((egm.epsg, egm.name.as_str()), (Some(9518), "WGS 84 + EGM2008 height"));
    let heights = crs(&[(1024, S(2)), (2048, S(4326)), (4096, S(4979))], 1);
    assert_eq!((heights.epsg, heights.kind), (Some(4979), CrsKind::Geographic3D));
}

#[test]
fn codes_and_what_is_around_them() {
    let of = |list: &[(u16, Key)]| {
        let mut warnings = Warnings::new();
        let crs = keys_of(list, 0).crs(&mut warnings);
        (crs.as_ref().and_then(|c| c.epsg), crs.map(|c| c.kind), warnings.len())
    };
    assert_eq!(of(&[(1024, S(1)), (3072, S(32631))]), (Some(32631), Some(CrsKind::Projected), 0));
    // A datum alone identifies its geographic system.
    assert_eq!(of(&[(1024, S(2)), (2048, S(32767)), (2050, S(6742))]).0, Some(4742));
    // Three axes are dropped like in GDAL, and kept for ensembles.
    assert_eq!(of(&[(1024, S(2)), (2048, S(4959))]), (Some(4167), Some(CrsKind::Geographic), 1));
    assert_eq!(of(&[(1024, S(2)), (2048, S(4937))]), (Some(4937), Some(CrsKind::Geographic3D), 0));
    // Private codes name nothing.
    assert_eq!(of(&[(1024, S(1)), (3072, S(64999))]), (None, None, 2));
    assert_eq!(of(&[(1026, T("Cartesian")), (3076, S(9001))]), (None, Some(CrsKind::Local), 0));
    assert_eq!(of(&[]), (None, None, 0));
}

#[test]
fn wkt_in_a_citation_is_kept_as_it_is() {
    let text = "PROJCS[\"x\",GEOGCS[\"g\",UNIT[\"Degree\",0.0174532925199433]],UNIT[\"Meter\",1.0]]";
    let citation: &'static str = Box::leak(format!("ESRI PE String = {text}").into_boxed_str());
    let crs = keys_of(&[(1024, S(32767)), (3073, T(citation))], 0).crs(&mut Warnings::new()).unwrap();
    assert_eq!((crs.wkt.as_deref(), crs.name.as_str()), (Some(text), "x"));
}

/// These used to have no code, so that readers took that of their geographic base.
#[test]
fn web_mercator_of_esri_is_epsg_3857() {
    let mercator = [
        (2048, S(4326)),
        (3072, S(32767)),
        (3074, S(32767)),
        (3075, S(7)),
        (3076, S(9001)),
        (3080, D(0.0)),
        (3081, D(0.0)),
        (3082, D(0.0)),
        (3083, D(0.0)),
        (3092, D(1.0)),
    ];
    let crs = |more: &[(u16, Key)]| {
        let mut keys = mercator.to_vec();
        keys.extend_from_slice(more);
        keys.sort_by_key(|(id, _)| *id);
        keys_of(&keys, 0).crs(&mut crate::Warnings::default()).unwrap()
    };
    const NAME: &str = "WGS_1984_Web_Mercator_Auxiliary_Sphere";
    const CITED: &str = "PCS Name = WGS_1984_Web_Mercator_Auxiliary_Sphere";
    const TEXT: &str = r#"ESRI PE String = PROJCS["WGS_1984_Web_Mercator_Auxiliary_Sphere",GEOGCS["GCS_WGS_1984",DATUM["D_WGS_1984",SPHEROID["WGS_1984",6378137.0,298.257223563]],PRIMEM["Greenwich",0.0],UNIT["Degree",0.0174532925199433]],PROJECTION["Mercator_Auxiliary_Sphere"],PARAMETER["False_Easting",0.0],PARAMETER["False_Northing",0.0],PARAMETER["Central_Meridian",0.0],PARAMETER["Standard_Parallel_1",0.0],PARAMETER["Auxiliary_Sphere_Type",0.0],UNIT["Meter",1.0]]"#;
    let registered = Crs::from_epsg(3857).unwrap();
    assert_eq!(crs(&[(1024, S(1)), (1026, T(CITED))]), registered);
    assert_eq!(crs(&[(1024, S(1)), (3073, T(NAME))]), registered);
    assert_eq!(crs(&[(1024, S(32767)), (3073, T(TEXT))]), registered);
    // Neither the name alone nor the parameters alone make it a sphere.
    assert_eq!(crs(&[(1024, S(1)), (1026, T("sea chart"))]).epsg, Some(3395));
    assert_eq!(crs(&[(1024, S(1)), (1026, T(NAME)), (3084, D(0.0)), (3080, D(9.0))]).epsg, None);
}

/// Systems of ESRI's registry with the numbers of one of EPSG's: the name decides, as in GDAL.
#[test]
fn the_name_decides_the_code_of_an_esri_string() {
    const ALBERS: &str = r#"GEOGCS["GCS_North_American_1983",DATUM["D_North_American_1983",SPHEROID["GRS_1980",6378137.0,298.257222101]],PRIMEM["Greenwich",0.0],UNIT["Degree",0.0174532925199433]],PROJECTION["Albers"],PARAMETER["False_Easting",0.0],PARAMETER["False_Northing",0.0],PARAMETER["Central_Meridian",-96.0],PARAMETER["Standard_Parallel_1",29.5],PARAMETER["Standard_Parallel_2",45.5],PARAMETER["Latitude_Of_Origin",23.0],UNIT["Meter",1.0]]"#;
    const UTM: &str = r#"GEOGCS["GCS_WGS_1984",DATUM["D_WGS_1984",SPHEROID["WGS_1984",6378137.0,298.257223563]],PRIMEM["Greenwich",0.0],UNIT["Degree",0.0174532925199433]],PROJECTION["Transverse_Mercator"],PARAMETER["False_Easting",500000.0],PARAMETER["False_Northing",0.0],PARAMETER["Central_Meridian",3.0],PARAMETER["Scale_Factor",0.9996],PARAMETER["Latitude_Of_Origin",0.0],UNIT["Meter",1.0]]"#;
    const PARIS: &str = r#"GEOGCS["GCS_NTF_Paris",DATUM["Nouvelle_Triangulation_Francaise_(Paris)",SPHEROID["Clarke_1880_IGN",6378249.2,293.466021293627]],PRIMEM["Paris",2.33722916999999],UNIT["Grad",0.0157079632679489]]"#;
    let code = |text: String| {
        let citation: &'static str = Box::leak(format!("ESRI PE String = {text}").into_boxed_str());
        keys_of(&[(1024, S(32767)), (3073, T(citation))], 0).crs(&mut Warnings::new()).unwrap().epsg
    };
    let of_usgs = format!(r#"PROJCS["USA_Contiguous_Albers_Equal_Area_Conic_USGS_version",{ALBERS}"#);
    assert_eq!(code(of_usgs), None);
    assert_eq!(code(format!(r#"PROJCS["WGS_1984_UTM_Zone_31N",{UTM}"#)), Some(32631));
    assert_eq!(code(PARIS.to_owned()), None);
}

#[test]
fn geocentric_systems_have_codes() {
    let crs = |list: &[(u16, Key)]| keys_of(list, 0).crs(&mut crate::Warnings::default()).unwrap();
    // As GDAL writes EPSG:4978 and EPSG:4936.
    for (datum, code) in [(6326, 4978), (6258, 4936)] {
        let found = crs(&[(1024, S(3)), (2048, S(32767)), (2050, S(datum)), (2052, S(9001))]);
        assert_eq!((found.epsg, found.kind), (Some(code), CrsKind::Geocentric));
    }
    assert_eq!(crs(&[(1024, S(3)), (2048, S(4326))]).epsg, Some(4978));
    assert_eq!(crs(&[(1024, S(3)), (2048, S(4326)), (3076, S(9036))]).epsg, None);
}

#[test]
fn a_citation_that_is_wkt_is_the_system_where_keys_say_nothing_else() {
    let wkt = Crs::from_epsg(7405).unwrap().wkt.unwrap();
    let text: &'static str = Box::leak(wkt.clone().into_boxed_str());
    for id in [1026, 3073] {
        let keys = keys_of(&[(1024, S(1)), (id, T(text)), (3072, S(32767))], 1);
        let crs = keys.crs(&mut crate::Warnings::default()).unwrap();
        assert_eq!((crs.epsg, crs.kind, crs.wkt.as_deref()), (Some(7405), CrsKind::Compound, Some(text)));
    }
    let keys = keys_of(&[(1024, S(1)), (1026, T(text)), (3072, S(32631))], 1);
    assert_eq!(keys.crs(&mut crate::Warnings::default()).unwrap().epsg, Some(32631));
}

#[test]
fn northings_first_are_found_by_name_or_where_nothing_else_fits() {
    let laea = |name: &'static str| {
        let list = [
            (1024, S(1)),
            (1026, T(name)),
            (2048, S(4258)),
            (3072, S(32767)),
            (3074, S(32767)),
            (3075, S(10)),
            (3076, S(9001)),
            (3082, D(4321000.0)),
            (3083, D(3210000.0)),
            (3088, D(10.0)),
            (3089, D(52.0)),
        ];
        keys_of(&list, 0).crs(&mut crate::Warnings::default()).unwrap().epsg
    };
    assert_eq!(laea("ETRS89-extended / LAEA Europe"), Some(3035));
    assert_eq!(laea("Europe"), Some(3035));
}

#[test]
fn control_points_take_the_system_with_them() {
    let tags = GeoTags {
        key_directory: Some(&[1, 1, 0, 3, 1024, 0, 1, 1, 1025, 0, 1, 1, 3072, 0, 1, 3035]),
        tiepoints: Some(&[
            124.0, 126.0, 0.0, 4426000.0, 2685000.0, 0.0, 338.0, 5.0, 0.0, 4640000.0, 2806000.0, 0.0,
        ]),
        ..Default::default()
    };
    let geo = Georeference::from_tags(&tags, &mut Warnings::new());
    assert_eq!((geo.gcps.len(), geo.crs, geo.transform), (2, None, None));
    assert_eq!(geo.gcp_crs.unwrap().epsg, Some(3035));
    assert_eq!(geo.area_or_point, Some(AreaOrPoint::Area));
}

#[test]
fn a_unit_of_heights_comes_from_its_key_alone_too() {
    let tags = GeoTags {
        key_directory: Some(&[1, 1, 0, 3, 1024, 0, 1, 1, 3072, 0, 1, 27563, 4099, 0, 1, 9001]),
        ..Default::default()
    };
    let geo = Georeference::from_tags(&tags, &mut Warnings::new());
    assert_eq!(geo.height_unit.unwrap().name, "metre");
}

/// A fixed sequence of numbers (xorshift), so that a failure is reproducible.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below
    }
}

#[test]
fn no_directory_of_keys_makes_a_panic() {
    let ids =
        [1024, 1025, 1026, 2048, 2049, 2050, 2051, 2054, 2056, 2057, 2059, 2061, 3072, 3073, 3074, 3075];
    let more = [3076, 3078, 3079, 3080, 3081, 3082, 3083, 3088, 3089, 3092, 3094, 4096, 4099];
    let values = [0, 1, 2, 3, 7, 8, 11, 15, 17, 24, 4326, 4979, 9001, 9102, 9105, 16031, 32631, 32767, 65535];
    let doubles = [0.0, -0.0, f64::NAN, f64::INFINITY, 1e308, -1e-308, 6378137.0, 298.25];
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    for _ in 0..1500 {
        let count = u16::try_from(numbers.next(24)).unwrap();
        let mut directory = vec![1, 1, u16::try_from(numbers.next(2)).unwrap(), count];
        for _ in 0..count {
            let mut pick = |list: &[u16]| list[usize::try_from(numbers.next(list.len() as u64)).unwrap()];
            let id = if pick(&[0, 1]) == 0 { pick(&ids) } else { pick(&more) };
            let location = pick(&[0, 0, 0, 34736, 34736, 34737, 34735, 9]);
            let value = if location == 0 { pick(&values) } else { pick(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 60000]) };
            directory.extend([id, location, pick(&[1, 1, 1, 5, 65535]), value]);
        }
        let at = |n: u64| doubles[usize::try_from(n).unwrap()];
        let six: Vec<f64> = (0..numbers.next(14)).map(|_| at(numbers.next(8))).collect();
        let tags = GeoTags {
            key_directory: Some(&directory),
            double_params: Some(&doubles),
            ascii_params: Some(b"ESRI PE String = A[|GCS Name = x|\xff\0"),
            pixel_scale: Some(&six),
            tiepoints: Some(&six),
            transformation: Some(&six),
            rpc: Some(&six),
        };
        let geo = Georeference::from_tags(&tags, &mut Warnings::new());
        // The resulting WKT can be parsed again.
        if let Some(wkt) = geo.crs.and_then(|crs| crs.wkt) {
            WktNode::parse(&wkt).unwrap();
        }
    }
}
