//! Systems and pairs that projection libraries got wrong without an error. The numbers are PROJ 9.8.1's, without grids.
#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a wrong fixture should stop the test"
)]

use strile_crs::{Area, Crs, DatumShift, TransformOptions, Transformer};

fn crs(text: &str) -> Crs {
    Crs::from_user_input(text).unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn options(area: [f64; 4]) -> TransformOptions {
    let [west, south, east, north] = area;
    TransformOptions::default().area(Area { west, south, east, north })
}

fn within(area: [f64; 4], from: &str, to: &str) -> Transformer {
    Transformer::new(&crs(from), &crs(to), &options(area)).unwrap_or_else(|e| panic!("{e}"))
}

fn anywhere(from: &str, to: &str) -> Transformer {
    Transformer::new(&crs(from), &crs(to), &TransformOptions::default()).unwrap_or_else(|e| panic!("{e}"))
}

fn refusal(from: &str, to: &str, options: &TransformOptions) -> String {
    Transformer::new(&crs(from), &crs(to), options).unwrap_err().to_string()
}

/// The transformer gives `wanted` at a point to within `tolerance`, and the way back leads to the point.
fn check(transformer: &Transformer, from: (f64, f64), wanted: (f64, f64), tolerance: f64) {
    let found = transformer.transform(from.0, from.1).unwrap();
    assert!((found.0 - wanted.0).abs() <= tolerance, "{found:?} for {wanted:?}");
    assert!((found.1 - wanted.1).abs() <= tolerance, "{found:?} for {wanted:?}");
    let back = transformer.inverse().transform(found.0, found.1).unwrap();
    let near = if transformer.from_is_geographic() { 5e-8 } else { 1e-2 };
    assert!((back.0 - from.0).abs() <= near && (back.1 - from.1).abs() <= near, "{back:?} back to {from:?}");
}

const MILLIMETRE: f64 = 1e-3;
/// A hundredth of a millimetre, in degrees.
const FINE: f64 = 1e-10;
const SWITZERLAND: [f64; 4] = [7.5, 46.5, 9.0, 47.4];
const TEXAS: [f64; 4] = [-98.0, 30.0, -96.8, 31.0];
const ALBERTA: [f64; 4] = [-115.0, 51.0, -113.5, 52.2];
const VICTORIA: [f64; 4] = [146.0, -37.0, 147.5, -35.5];
const BEIJING: [f64; 4] = [115.5, 39.0, 117.0, 40.5];

/// A deprecated operation of the Swiss grid is 26 to 120 km off.
#[test]
fn swiss_grid_21781() {
    let t = within(SWITZERLAND, "EPSG:4326", "EPSG:21781");
    // PROJ takes a sibling of the operation, of the same stated accuracy of a metre.
    check(&t, (8.5, 47.0), (680_721.629, 205_983.590), 1.0);
    assert_eq!(t.operation().steps[0].code, Some(1753));
    assert_eq!(t.operation().accuracy, Some(1.0));
    assert_eq!(t.operation().to_string(), "CH1903 to WGS 84 (1) (EPSG:1753), accuracy 1 m");
}

/// WKT 2 names the parameters of an Albers otherwise: a parser that does not know them is thousands of kilometres off.
#[test]
fn california_albers_3310_by_wkt_2() {
    let text = r#"PROJCRS["unnamed",BASEGEOGCRS["NAD83",DATUM["North American Datum 1983",ELLIPSOID["GRS 1980",6378137,298.257222101,LENGTHUNIT["metre",1]]],PRIMEM["Greenwich",0,ANGLEUNIT["degree",0.0174532925199433]]],CONVERSION["unnamed",METHOD["Albers Equal Area"],PARAMETER["Latitude of false origin",0,ANGLEUNIT["degree",0.0174532925199433]],PARAMETER["Longitude of false origin",-120,ANGLEUNIT["degree",0.0174532925199433]],PARAMETER["Latitude of 1st standard parallel",34,ANGLEUNIT["degree",0.0174532925199433]],PARAMETER["Latitude of 2nd standard parallel",40.5,ANGLEUNIT["degree",0.0174532925199433]],PARAMETER["Easting at false origin",0,LENGTHUNIT["metre",1]],PARAMETER["Northing at false origin",-4000000,LENGTHUNIT["metre",1]]],CS[Cartesian,2],AXIS["easting (X)",east,ORDER[1],LENGTHUNIT["metre",1]],AXIS["northing (Y)",north,ORDER[2],LENGTHUNIT["metre",1]]]"#;
    check(&anywhere("EPSG:4269", text), (-121.5, 38.2), (-131_189.761_131, 21_451.729_339), MILLIMETRE);
    let with_another = text.replace("Latitude of 2nd standard parallel", "Latitude of 3rd standard parallel");
    let message = refusal("EPSG:4269", &with_another, &TransformOptions::default());
    assert!(message.contains("Latitude of 3rd standard parallel"), "{message}");
}

/// The two Australian datums are 1.8 m apart, in either direction.
#[test]
fn gda2020_both_ways() {
    let there = within(VICTORIA, "EPSG:4283", "EPSG:7844");
    check(&there, (146.5, -36.2), (146.500_005_858_2, -36.199_986_937_0), FINE);
    let back = within(VICTORIA, "EPSG:7844", "EPSG:4283");
    check(&back, (146.5, -36.2), (146.499_994_141_8, -36.200_013_063_0), FINE);
    assert_eq!(there.operation().steps[0].code, back.operation().steps[0].code);
    assert_ne!(there.operation().steps[0].reversed, back.operation().steps[0].reversed);
    let grids = within(VICTORIA, "EPSG:28355", "EPSG:7855");
    check(&grids, (500_000.0, 6_000_000.0), (500_000.520_325, 6_000_001.444_764), MILLIMETRE);
}

/// The operation must be the area's own: others of NAD27 are 45 to 290 m off.
#[test]
fn nad27_in_texas_and_alberta() {
    let texas = within(TEXAS, "EPSG:4267", "EPSG:4326");
    check(&texas, (-97.5, 30.5), (-97.500_298_810_1, 30.500_203_137_6), FINE);
    assert_eq!(texas.operation().name, "NAD27 to WGS 84 (6)");
    let alberta = within(ALBERTA, "EPSG:4267", "EPSG:4326");
    check(&alberta, (-114.5, 51.5), (-114.500_897_121_4, 51.499_996_130_1), FINE);
    assert_eq!(alberta.operation().name, "NAD27 to WGS 84 (13)");
    check(
        &within(TEXAS, "EPSG:4267", "EPSG:4269"),
        (-97.5, 30.5),
        (-97.500_298_810_1, 30.500_203_138_4),
        20.0 * FINE,
    );
    // No operation holds both.
    let message = refusal("EPSG:4267", "EPSG:4326", &options([-115.0, 30.0, -96.8, 52.0]));
    assert!(message.contains("no operation from the datum") && message.contains("datum_shift"), "{message}");
}

/// Beyond the antipodes a formula still gives numbers.
#[test]
fn europe_3035_outside_its_disc() {
    let t = anywhere("EPSG:3035", "EPSG:4258");
    check(&t, (4_321_000.0, 3_210_000.0), (10.0, 52.0), FINE);
    check(&t, (16_821_000.0, 3_210_000.0), (155.991_174_335_2, -46.695_566_835_6), 1e-8);
    for (x, y) in
        [(18e6, 3.21e6), (4.321e6, 2e7), (1e9, 1e9), (1e300, 0.0), (f64::NAN, 0.0), (f64::INFINITY, 0.0)]
    {
        assert_eq!(t.transform(x, y), None, "{x} {y}");
    }
    // The antipode is a circle.
    assert_eq!(t.inverse().transform(-170.0, -52.0), None);
}

#[test]
fn ease_grid_6933() {
    check(
        &anywhere("EPSG:4326", "EPSG:6933"),
        (100.0, 60.0),
        (9_648_628.025_090, 6_351_419.997_326),
        MILLIMETRE,
    );
}

/// The sphere of MODIS has no datum; its latitudes are taken for those of any.
#[test]
fn modis_sinusoidal() {
    let modis = "+proj=sinu +lon_0=0 +x_0=0 +y_0=0 +R=6371007.181 +units=m +no_defs";
    let t = anywhere("EPSG:4326", modis);
    check(&t, (-104.0, 40.0), (-8_858_756.573_580, 4_447_802.079_066), MILLIMETRE);
    assert_eq!(t.operation().accuracy, None);
    // Beyond the outline.
    assert_eq!(t.inverse().transform(-20_000_000.0, 5_000_000.0), None);
}

/// EPSG knows the ellipsoid of the old sea ice grid and no datum.
#[test]
fn sea_ice_3411_needs_consent() {
    let message = refusal("EPSG:3411", "EPSG:4326", &TransformOptions::default());
    assert!(message.contains("`Hughes_1980` to `WGS_1984`"), "{message}");
    let consent = TransformOptions::default().datum_shift(DatumShift::None);
    let t = Transformer::new(&crs("EPSG:3411"), &crs("EPSG:4326"), &consent).unwrap();
    check(&t, (1_000_000.0, -500_000.0), (18.434_948_822_9, 79.705_991_414_3), FINE);
    assert!(t.operation().name.starts_with("no datum shift from"), "{}", t.operation());
}

/// Some libraries take CGCS2000 for WGS 84 silently; no operation is registered.
#[test]
fn china_4490_needs_consent() {
    assert!(refusal("EPSG:4326", "EPSG:4490", &options(BEIJING)).contains("datum_shift"));
    let consent = options(BEIJING).datum_shift(DatumShift::None);
    let t = Transformer::new(&crs("EPSG:4326"), &crs("EPSG:4490"), &consent).unwrap();
    check(&t, (116.0, 40.0), (116.0, 40.0), 0.0);
    check(
        &anywhere("EPSG:4490", "EPSG:4527"),
        (116.5, 40.0),
        (39_457_302.976_163, 4_429_648.783_819),
        MILLIMETRE,
    );
}

/// As a sphere's, these are 25 km off.
#[test]
fn equidistant_cylindrical_and_miller_on_the_ellipsoid() {
    let t = anywhere("EPSG:4326", "EPSG:4087");
    check(&t, (10.0, 45.0), (1_113_194.907_933, 4_984_944.377_978), MILLIMETRE);
    check(&t, (-120.5, -70.0), (-13_413_998.640_589, -7_768_980.727_770), MILLIMETRE);
    let other = "+proj=eqc +lat_ts=30 +lat_0=10 +lon_0=5 +datum=WGS84";
    check(
        &anywhere("EPSG:4326", other),
        (-120.5, -70.0),
        (-12_109_028.171_488, -8_874_835.561_005),
        MILLIMETRE,
    );
    let miller = "+proj=mill +lon_0=5 +datum=WGS84";
    check(
        &anywhere("EPSG:4326", miller),
        (-120.5, -70.0),
        (-13_954_979.023_250, -9_437_458.074_063),
        MILLIMETRE,
    );
}

#[test]
fn units_meridians_and_axes() {
    // US survey feet; westings and southings; grads from Paris, and a datum whose code is Greenwich's.
    check(&anywhere("EPSG:4269", "EPSG:2263"), (-74.0, 40.7), (984_250.0, 194_305.338_941), MILLIMETRE);
    let south = within([27.0, -27.0, 28.0, -25.0], "EPSG:4326", "EPSG:2052");
    check(&south, (27.5, -26.0), (-50_059.251_320, 2_876_930.325_294), MILLIMETRE);
    check(
        &anywhere("EPSG:4807", "EPSG:27572"),
        (0.5, 52.0),
        (634_349.907_787, 2_200_098.332_139),
        MILLIMETRE,
    );
    let paris = within([2.0, 46.0, 3.4, 49.0], "EPSG:4326", "EPSG:27572");
    check(&paris, (2.5, 48.8), (612_016.939_064, 2_422_410.638_157), MILLIMETRE);
}

#[test]
fn a_shift_that_the_text_states() {
    let shifted = "+proj=longlat +ellps=bessel +towgs84=598.1,73.7,418.2,0.202,0.045,-2.455,6.7";
    check(&anywhere(shifted, "EPSG:4326"), (11.0, 48.0), (10.998_694_956_8, 47.999_090_812_9), FINE);
    let zone = "+proj=tmerc +lat_0=0 +lon_0=12 +k=1 +x_0=4500000 +y_0=0 +ellps=bessel +towgs84=598.1,73.7,418.2,0.202,0.045,-2.455,6.7";
    check(&anywhere("EPSG:4326", zone), (11.5, 48.5), (4_463_156.724_541, 5_373_703.723_827), MILLIMETRE);
}

#[test]
fn methods_that_geokeys_have_no_words_for() {
    let goes = r#"PROJCRS["unknown",BASEGEOGCRS["unknown",DATUM["unknown",ELLIPSOID["unknown",6378169,295.488065897001,LENGTHUNIT["metre",1]]],PRIMEM["Greenwich",0,ANGLEUNIT["degree",0.0174532925199433]]],CONVERSION["unknown",METHOD["Geostationary Satellite (Sweep X)"],PARAMETER["Longitude of natural origin",0,ANGLEUNIT["degree",0.0174532925199433]],PARAMETER["Satellite Height",35785831,LENGTHUNIT["metre",1]],PARAMETER["False easting",0,LENGTHUNIT["metre",1]],PARAMETER["False northing",0,LENGTHUNIT["metre",1]]],CS[Cartesian,2],AXIS["(E)",east,ORDER[1],LENGTHUNIT["metre",1]],AXIS["(N)",north,ORDER[2],LENGTHUNIT["metre",1]]]"#;
    let base = "+proj=longlat +a=6378169 +rf=295.488065897001";
    let t = anywhere(base, goes);
    check(&t, (20.0, 40.0), (1_583_778.169_717, 3_869_385.133_599), MILLIMETRE);
    assert_eq!(t.transform(100.0, 0.0), None, "behind the Earth");
    let mollweide = r#"PROJCS["World_Mollweide",GEOGCS["GCS_WGS_1984",DATUM["D_WGS_1984",SPHEROID["WGS_1984",6378137.0,298.257223563]],PRIMEM["Greenwich",0.0],UNIT["Degree",0.0174532925199433]],PROJECTION["Mollweide"],PARAMETER["False_Easting",0.0],PARAMETER["False_Northing",0.0],PARAMETER["Central_Meridian",0.0],UNIT["Meter",1.0]]"#;
    check(
        &anywhere("EPSG:4326", mollweide),
        (-100.0, 50.0),
        (-7_606_331.862_105, 5_873_471.956_211),
        MILLIMETRE,
    );
}

#[test]
fn longitudes_wrap_and_latitudes_do_not() {
    let t = anywhere("EPSG:3857", "EPSG:4326");
    check(&t.inverse(), (190.0 - 360.0, 10.0), (-18_924_313.434_857, 1_118_889.974_858), MILLIMETRE);
    let beyond = t.transform(20_038_508.342_789_244, 0.0).unwrap();
    assert!((beyond.0 + 179.991_016_847_2).abs() < FINE, "{beyond:?}");
    assert_eq!(t.inverse().transform(190.0, 10.0), t.inverse().transform(-170.0, 10.0));
    for (x, y) in
        [(0.0, 90.1), (0.0, -95.0), (1e6, 0.0), (f64::NAN, 0.0), (0.0, f64::INFINITY), (1e308, 1e308)]
    {
        assert_eq!(t.inverse().transform(x, y), None, "{x} {y}");
    }
    assert_eq!(t.target_period(), Some(360.0));
    let period = t.inverse().target_period().unwrap();
    assert!((period - 40_075_016.685_578_49).abs() < 1e-6, "{period}");
    assert_eq!(anywhere("EPSG:4326", "EPSG:32633").target_period(), None);
}

#[test]
fn heights_pass_unchanged_and_are_named() {
    let t = anywhere("EPSG:32631+5773", "EPSG:4326");
    assert!(t.operation().heights_unchanged);
    assert!(t.operation().to_string().ends_with("heights are left unchanged"), "{}", t.operation());
    assert!(!anywhere("EPSG:32631", "EPSG:4326").operation().heights_unchanged);
}

#[test]
fn what_has_no_place_on_a_map_is_refused() {
    let none = TransformOptions::default();
    assert!(refusal("EPSG:4978", "EPSG:4326", &none).contains("neither projected nor geographic"));
    assert!(refusal("EPSG:5773", "EPSG:4326", &none).contains("neither projected nor geographic"));
    assert!(
        refusal("EPSG:27200", "EPSG:4326", &none)
            .contains("unknown projection method `New_Zealand_Map_Grid`")
    );
    let flat = r#"GEOGCS["x",DATUM["x",SPHEROID["x",6000000,20]],PRIMEM["Greenwich",0],UNIT["degree",0.0174532925199433]]"#;
    assert!(refusal(flat, flat, &none).contains("inverse flattening 20"));
    for area in [[0.0, 10.0, 5.0, -10.0], [0.0, f64::NAN, 5.0, 10.0], [-200.0, 0.0, 5.0, 10.0]] {
        assert!(refusal("EPSG:4326", "EPSG:4267", &options(area)).contains("expected an area within"));
    }
}

#[test]
fn areas_of_bounds() {
    let area = |text: &str, a, b| Area::of(&crs(text), a, b).unwrap();
    let utm = area("EPSG:32633", (4e5, 5.5e6), (6e5, 5.6e6));
    assert!((utm.west - 13.589).abs() < 0.001 && (utm.east - 16.411).abs() < 0.001, "{utm}");
    assert!((utm.south - 49.644).abs() < 0.001 && (utm.north - 50.552).abs() < 0.001, "{utm}");
    let world = area("EPSG:3857", (-2.0e7, -2.0e7), (2.0e7, 2.0e7));
    assert!(world.east - world.west > 359.0 && world.north > 85.0, "{world}");
    let pole = area("EPSG:3413", (-1e6, -1e6), (1e6, 1e6));
    assert_eq!((pole.west, pole.east, pole.north), (-180.0, 180.0, 90.0));
    let fiji = area("EPSG:32760", (7e5, 8.0e6), (9e5, 8.2e6));
    assert!(fiji.west > 178.0 && fiji.east < -178.0, "{fiji}");
    assert_eq!(
        area("EPSG:4326", (170.0, -20.0), (190.0, 20.0)),
        Area { west: 170.0, south: -20.0, east: -170.0, north: 20.0 }
    );
    assert!(Area::of(&crs("EPSG:3035"), (1e9, 1e9), (2e9, 2e9)).is_err());
    assert!(Area::of(&crs("EPSG:4326"), (f64::NAN, 0.0), (1.0, 1.0)).is_err());
}

#[test]
fn transformers_are_shared_by_threads() {
    fn is_shared<T: Send + Sync + Clone + 'static>() {}
    is_shared::<Transformer>();
}

/// Coordinates that stay in their system need no projection, and pass to the last bit.
#[test]
fn a_plane_system_to_itself() {
    let local = r#"LOCAL_CS["site",UNIT["metre",1],AXIS["Easting",EAST],AXIS["Northing",NORTH]]"#;
    for text in ["EPSG:32633", "EPSG:27200", "EPSG:2052", local] {
        let t = anywhere(text, text);
        for place in [(499_999.1, 5_539_000.3), (-1e9, 0.1 + 0.2), (1e300, -0.0)] {
            assert_eq!(t.transform(place.0, place.1), Some(place), "{text}");
            assert_eq!(t.inverse().transform(place.0, place.1), Some(place), "{text}");
        }
        assert_eq!(t.transform(f64::NAN, 0.0), None);
        assert_eq!(t.transform(0.0, f64::INFINITY), None);
        assert!(t.is_same_datum() && t.operation().steps.is_empty(), "{}", t.operation());
    }
    // The same system in other words.
    let t = anywhere("EPSG:32633", "+proj=utm +zone=33 +datum=WGS84 +units=m");
    assert_eq!(t.transform(499_999.1, 5_539_000.3), Some((499_999.1, 5_539_000.3)));
    // Longitudes still wrap.
    assert_eq!(anywhere("EPSG:4326", "EPSG:4326").transform(190.0, 10.0), Some((-170.0, 10.0)));
    assert!(anywhere("EPSG:3857", "EPSG:3857").target_period().is_some());
}

/// On a sphere of 1 m every miss is below a centimetre.
#[test]
fn small_spheres_lose_no_points() {
    let wgs84 = Crs::from_epsg(4326).unwrap();
    for text in ["+proj=merc +lat_ts=41 +lon_0=-1e18 +R=1", "+proj=sinu +lon_0=1e300 +R=1e-300"] {
        let Ok(crs) = Crs::from_user_input(text) else { continue };
        let options = TransformOptions::default().datum_shift(DatumShift::None);
        let Ok(there) = Transformer::new(&wgs84, &crs, &options) else { continue };
        for (x, y) in [(-177.2, 81.5), (-120.6, -47.3), (3.0, 4.0)] {
            let Some(found) = there.transform(x, y) else { continue };
            let (back, _) = there.inverse().transform(found.0, found.1).unwrap();
            assert!((back - x).abs() < 1e-6, "{text}: {x} {y} is {found:?}, and that is {back}");
        }
    }
    let unit = Crs::from_user_input("+proj=merc +lon_0=100 +R=1").unwrap();
    let options = TransformOptions::default().datum_shift(DatumShift::None);
    let there = Transformer::new(&wgs84, &unit, &options).unwrap();
    assert!(there.transform(110.0, 10.0).is_some());
}

/// Meteosat and GOES as PROJ strings, as the WKT 1 and the Esri text that GDAL writes; coordinates are pyproj's.
#[test]
fn views_of_geostationary_satellites() {
    let base = "+proj=longlat +ellps=GRS80";
    let by_y = "+proj=geos +h=35785831 +lon_0=0 +sweep=y +ellps=GRS80";
    let by_x = "+proj=geos +h=35786023 +lon_0=-75 +sweep=x +ellps=GRS80";
    let geographic = r#"GEOGCS["unknown",DATUM["Unknown based on GRS 1980 ellipsoid",SPHEROID["GRS 1980",6378137,298.257222101,AUTHORITY["EPSG","7019"]]],PRIMEM["Greenwich",0,AUTHORITY["EPSG","8901"]],UNIT["degree",0.0174532925199433,AUTHORITY["EPSG","9122"]]]"#;
    let wkt = |extension: &str| {
        format!(
            r#"PROJCS["unknown",{geographic},PROJECTION["Geostationary_Satellite"],PARAMETER["central_meridian",-75],PARAMETER["satellite_height",35786023],PARAMETER["false_easting",0],PARAMETER["false_northing",0],UNIT["metre",1,AUTHORITY["EPSG","9001"]],AXIS["Easting",EAST],AXIS["Northing",NORTH],EXTENSION["PROJ4","{extension}"]]"#
        )
    };
    let esri = |option: u8| {
        format!(
            r#"PROJCS["unknown",GEOGCS["GCS_unknown",DATUM["D_Unknown_based_on_GRS_1980_ellipsoid",SPHEROID["GRS_1980",6378137.0,298.257222101]],PRIMEM["Greenwich",0.0],UNIT["Degree",0.0174532925199433]],PROJECTION["Geostationary_Satellite"],PARAMETER["False_Easting",0.0],PARAMETER["False_Northing",0.0],PARAMETER["Longitude_Of_Center",0.0],PARAMETER["Height",35785831.0],PARAMETER["Option",{option}.0],UNIT["Meter",1.0]]"#
        )
    };
    // Datums that are not registered have one ellipsoid and two names.
    let unchanged = TransformOptions::default().datum_shift(DatumShift::None);
    let to = |text: &str| Transformer::new(&crs(base), &crs(text), &unchanged).unwrap();
    for text in [by_y, &esri(0)] {
        check(&to(text), (20.0, 40.0), (1_593_038.651_795, 3_865_749.280_749), MILLIMETRE);
    }
    let stated = "+proj=geos +sweep=x +lon_0=-75 +h=35786023 +x_0=0 +y_0=0 +ellps=GRS80 +units=m +no_defs";
    for text in [by_x, &wkt(stated)] {
        check(&to(text), (-90.0, 35.0), (-1_298_571.096_840, 3_496_722.393_711), MILLIMETRE);
    }
    // Neither another sweep than the text says, nor numbers that contradict each other.
    let [place, figure] =
        [("-75", "-137"), ("GRS80", "bessel")].map(|(from, to)| wkt(&stated.replace(from, to)));
    for text in [place, figure, wkt("+proj=geos +lon_0=-75 +h=35786023 +ellps=GRS80")] {
        assert!(refusal(base, &text, &unchanged).contains("an extension of the projected system"));
    }
    assert!(refusal(base, &esri(1), &unchanged).contains("the option 1"));
    for (text, problem) in [
        ("+proj=geos +lon_0=0 +ellps=GRS80", "`+proj=geos` without `+h`"),
        ("+proj=geos +h=35785831 +sweep=z +ellps=GRS80", "expected x or y"),
        ("+proj=geos +h=35785831 +lat_0=3 +ellps=GRS80", "`+lat_0=3`"),
    ] {
        let error = Crs::from_user_input(text).unwrap_err().to_string();
        assert!(error.contains(problem), "{error}");
    }
}
