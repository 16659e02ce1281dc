//! Names in PROJ strings: ellipsoids, datums, units of length, prime meridians. Only tables.
//!
//! Facts from PROJ's documentation (`proj -le`, `-ld`, `-lu`); ellipsoids of EPSG have its name and code.

/// An ellipsoid: PROJ's name, EPSG's or PROJ's long name, semi-major axis, inverse flattening, EPSG code.
pub(crate) struct ProjEllipsoid(pub &'static str, pub &'static str, pub f64, pub f64, pub Option<u32>);

#[rustfmt::skip]
pub(crate) const ELLIPSOIDS: &[ProjEllipsoid] = &[
    ProjEllipsoid("MERIT", "MERIT 1983", 6378137.0, 298.257, None),
    ProjEllipsoid("SGS85", "Soviet Geodetic System 85", 6378136.0, 298.257, None),
    ProjEllipsoid("GRS80", "GRS 1980", 6378137.0, 298.257222101, Some(7019)),
    ProjEllipsoid("IAU76", "IAU 1976", 6378140.0, 298.257, None),
    ProjEllipsoid("airy", "Airy 1830", 6377563.396, 299.3249646, None),
    ProjEllipsoid("APL4.9", "Appl. Physics. 1965", 6378137.0, 298.25, None),
    ProjEllipsoid("NWL9D", "Naval Weapons Lab., 1965", 6378145.0, 298.25, None),
    ProjEllipsoid("mod_airy", "Modified Airy", 6377340.189, 299.3249373654824, None),
    ProjEllipsoid("andrae", "Andrae 1876 (Den., Iclnd.)", 6377104.43, 300.0, None),
    ProjEllipsoid("danish", "Andrae 1876 (Denmark, Iceland)", 6377019.2563, 300.0, None),
    ProjEllipsoid("aust_SA", "Australian Natl & S. Amer. 1969", 6378160.0, 298.25, None),
    ProjEllipsoid("GRS67", "GRS 67(IUGG 1967)", 6378160.0, 298.247167427, None),
    ProjEllipsoid("GSK2011", "GSK-2011", 6378136.5, 298.2564151, None),
    ProjEllipsoid("bessel", "Bessel 1841", 6377397.155, 299.1528128, None),
    ProjEllipsoid("bess_nam", "Bessel 1841 (Namibia)", 6377483.865, 299.1528128, None),
    ProjEllipsoid("clrk66", "Clarke 1866", 6378206.4, 294.9786982138982, None),
    ProjEllipsoid("clrk80", "Clarke 1880 mod.", 6378249.145, 293.4663, None),
    ProjEllipsoid("clrk80ign", "Clarke 1880 (IGN).", 6378249.2, 293.4660212936269, None),
    ProjEllipsoid("CPM", "Comm. des Poids et Mesures 1799", 6375738.7, 334.29, None),
    ProjEllipsoid("delmbr", "Delambre 1810 (Belgium)", 6376428.0, 311.5, None),
    ProjEllipsoid("engelis", "Engelis 1985", 6378136.05, 298.2566, None),
    ProjEllipsoid("evrst30", "Everest 1830", 6377276.345, 300.8017, None),
    ProjEllipsoid("evrst48", "Everest 1948", 6377304.063, 300.8017, None),
    ProjEllipsoid("evrst56", "Everest 1956", 6377301.243, 300.8017, None),
    ProjEllipsoid("evrst69", "Everest 1969", 6377295.664, 300.8017, None),
    ProjEllipsoid("evrstSS", "Everest (Sabah & Sarawak)", 6377298.556, 300.8017, None),
    ProjEllipsoid("fschr60", "Fischer (Mercury Datum) 1960", 6378166.0, 298.3, None),
    ProjEllipsoid("fschr60m", "Modified Fischer 1960", 6378155.0, 298.3, None),
    ProjEllipsoid("fschr68", "Fischer 1968", 6378150.0, 298.3, None),
    ProjEllipsoid("helmert", "Helmert 1906", 6378200.0, 298.3, None),
    ProjEllipsoid("hough", "Hough", 6378270.0, 297.0, None),
    ProjEllipsoid("intl", "International 1924 (Hayford 1909, 1910)", 6378388.0, 297.0, None),
    ProjEllipsoid("krass", "Krassovsky, 1942", 6378245.0, 298.3, None),
    ProjEllipsoid("kaula", "Kaula 1961", 6378163.0, 298.24, None),
    ProjEllipsoid("lerch", "Lerch 1979", 6378139.0, 298.257, None),
    ProjEllipsoid("mprts", "Maupertius 1738", 6397300.0, 191.0, None),
    ProjEllipsoid("new_intl", "New International 1967", 6378157.5, 298.2496153900135, None),
    ProjEllipsoid("plessis", "Plessis 1817 (France)", 6376523.0, 308.64099709583735, None),
    ProjEllipsoid("PZ90", "PZ-90", 6378136.0, 298.25784, None),
    ProjEllipsoid("SEasia", "Southeast Asia", 6378155.0, 298.3000002408657, None),
    ProjEllipsoid("walbeck", "Walbeck", 6376896.0, 302.78000018165636, None),
    ProjEllipsoid("WGS60", "WGS 60", 6378165.0, 298.3, None),
    ProjEllipsoid("WGS66", "WGS 66", 6378145.0, 298.25, None),
    ProjEllipsoid("WGS72", "WGS 72", 6378135.0, 298.26, None),
    ProjEllipsoid("WGS84", "WGS 84", 6378137.0, 298.257223563, Some(7030)),
    ProjEllipsoid("sphere", "Normal Sphere (r=6370997)", 6370997.0, 0.0, None),
];

/// A datum: PROJ's name and EPSG's code.
pub(crate) struct ProjDatum(pub &'static str, pub u32);

pub(crate) const DATUMS: &[ProjDatum] = &[
    ProjDatum("WGS84", 6326),
    ProjDatum("GGRS87", 6121),
    ProjDatum("NAD83", 6269),
    ProjDatum("NAD27", 6267),
    ProjDatum("potsdam", 6314),
    ProjDatum("carthage", 6223),
    ProjDatum("hermannskogel", 6312),
    ProjDatum("ire65", 6299),
    ProjDatum("nzgd49", 6272),
    ProjDatum("OSGB36", 6277),
];

/// A unit of length: PROJ's name, EPSG's name, size in metres, EPSG code.
pub(crate) struct ProjUnit(pub &'static str, pub &'static str, pub f64, pub Option<u32>);

#[rustfmt::skip]
pub(crate) const UNITS: &[ProjUnit] = &[
    ProjUnit("m", "metre", 1.0, Some(9001)),
    ProjUnit("km", "kilometre", 1000.0, Some(9036)),
    ProjUnit("dm", "decimetre", 0.1, None),
    ProjUnit("cm", "centimetre", 0.01, Some(1033)),
    ProjUnit("mm", "millimetre", 0.001, Some(1025)),
    ProjUnit("kmi", "nautical mile", 1852.0, Some(9030)),
    ProjUnit("in", "inch", 0.0254, None),
    ProjUnit("ft", "foot", 0.3048, Some(9002)),
    ProjUnit("yd", "yard", 0.9144, Some(9096)),
    ProjUnit("mi", "Statute mile", 1609.344, Some(9093)),
    ProjUnit("fath", "fathom", 1.8288, Some(9014)),
    ProjUnit("ch", "chain", 20.1168, Some(9097)),
    ProjUnit("link", "link", 0.201168, Some(9098)),
    ProjUnit("us-in", "US survey inch", 0.025400050800101603, None),
    ProjUnit("us-ft", "US survey foot", 0.30480060960121924, Some(9003)),
    ProjUnit("us-yd", "US survey yard", 0.914401828803658, None),
    ProjUnit("us-ch", "US survey chain", 20.11684023368047, Some(9033)),
    ProjUnit("us-mi", "US survey mile", 1609.3472186944375, Some(9035)),
    ProjUnit("ind-yd", "Indian yard (1937)", 0.91439523, Some(9085)),
    ProjUnit("ind-ft", "Indian foot (1937)", 0.30479841, Some(9081)),
    ProjUnit("ind-ch", "Indian chain", 20.11669506, None),
];

/// A prime meridian: PROJ's name, its name, degrees, EPSG code. Two differ in position from EPSG's of the same name.
pub(crate) struct ProjMeridian(pub &'static str, pub &'static str, pub f64, pub Option<u32>);

#[rustfmt::skip]
pub(crate) const MERIDIANS: &[ProjMeridian] = &[
    ProjMeridian("greenwich", "Greenwich", 0.0, Some(8901)),
    ProjMeridian("lisbon", "Lisbon", -9.131906111111112, Some(8902)),
    ProjMeridian("paris", "Paris", 2.33722917, Some(8903)),
    ProjMeridian("bogota", "Bogota", -74.08091666666667, Some(8904)),
    ProjMeridian("madrid", "Madrid", -3.687938888889, None),
    ProjMeridian("rome", "Rome", 12.452333333333332, Some(8906)),
    ProjMeridian("bern", "Bern", 7.439583333333333, Some(8907)),
    ProjMeridian("jakarta", "Jakarta", 106.80771944444444, Some(8908)),
    ProjMeridian("ferro", "Ferro", -17.666666666666668, Some(8909)),
    ProjMeridian("brussels", "Brussels", 4.3679749999999995, Some(8910)),
    ProjMeridian("stockholm", "Stockholm", 18.05827777777778, Some(8911)),
    ProjMeridian("athens", "Athens", 23.716337499999998, Some(8912)),
    ProjMeridian("oslo", "Oslo", 10.722916666666666, Some(8913)),
    ProjMeridian("copenhagen", "Copenhagen", 12.577875, None),
];
