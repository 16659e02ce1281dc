//! Units, ellipsoids and prime meridians by EPSG code. Only tables.
//!
//! Facts from the EPSG Geodetic Parameter Dataset of IOGP, with its names.

/// Size of a degree in radians, with the digits written in WKT.
pub const DEGREE: f64 = 0.0174532925199433;

/// A unit: its code, name and size in metres or radians.
pub struct UnitRow(pub u16, pub &'static str, pub f64);

/// Lengths, sizes in metres.
#[rustfmt::skip]
pub const LENGTHS: &[UnitRow] = &[
    UnitRow(1025, "millimetre", 0.001),
    UnitRow(1033, "centimetre", 0.01),
    UnitRow(9001, "metre", 1.0),
    UnitRow(9002, "foot", 0.3048),
    UnitRow(9003, "US survey foot", 0.30480060960121924),
    UnitRow(9005, "Clarke's foot", 0.3047972654),
    UnitRow(9014, "fathom", 1.8288),
    UnitRow(9030, "nautical mile", 1852.0),
    UnitRow(9031, "German legal metre", 1.0000135965),
    UnitRow(9033, "US survey chain", 20.11684023368047),
    UnitRow(9034, "US survey link", 0.2011684023368047),
    UnitRow(9035, "US survey mile", 1609.3472186944375),
    UnitRow(9036, "kilometre", 1000.0),
    UnitRow(9037, "Clarke's yard", 0.9143917962),
    UnitRow(9038, "Clarke's chain", 20.1166195164),
    UnitRow(9039, "Clarke's link", 0.201166195164),
    UnitRow(9040, "British yard (Sears 1922)", 0.9143984146160287),
    UnitRow(9041, "British foot (Sears 1922)", 0.3047994715386762),
    UnitRow(9042, "British chain (Sears 1922)", 20.116765121552632),
    UnitRow(9043, "British link (Sears 1922)", 0.2011676512155263),
    UnitRow(9050, "British yard (Benoit 1895 A)", 0.9143992),
    UnitRow(9051, "British foot (Benoit 1895 A)", 0.3047997333333333),
    UnitRow(9052, "British chain (Benoit 1895 A)", 20.1167824),
    UnitRow(9053, "British link (Benoit 1895 A)", 0.201167824),
    UnitRow(9060, "British yard (Benoit 1895 B)", 0.9143992042898124),
    UnitRow(9061, "British foot (Benoit 1895 B)", 0.30479973476327077),
    UnitRow(9062, "British chain (Benoit 1895 B)", 20.116782494375872),
    UnitRow(9063, "British link (Benoit 1895 B)", 0.2011678249437587),
    UnitRow(9070, "British foot (1865)", 0.30480083333333335),
    UnitRow(9080, "Indian foot", 0.30479951024814694),
    UnitRow(9081, "Indian foot (1937)", 0.30479841),
    UnitRow(9082, "Indian foot (1962)", 0.3047996),
    UnitRow(9083, "Indian foot (1975)", 0.3047995),
    UnitRow(9084, "Indian yard", 0.9143985307444408),
    UnitRow(9085, "Indian yard (1937)", 0.91439523),
    UnitRow(9086, "Indian yard (1962)", 0.9143988),
    UnitRow(9087, "Indian yard (1975)", 0.9143985),
    UnitRow(9093, "Statute mile", 1609.344),
    UnitRow(9094, "Gold Coast foot", 0.3047997101815088),
    UnitRow(9095, "British foot (1936)", 0.3048007491),
    UnitRow(9096, "yard", 0.9144),
    UnitRow(9097, "chain", 20.1168),
    UnitRow(9098, "link", 0.201168),
    UnitRow(9099, "British yard (Sears 1922 truncated)", 0.914398),
    UnitRow(9204, "Bin width 330 US survey feet", 100.58420116840234),
    UnitRow(9205, "Bin width 165 US survey feet", 50.29210058420117),
    UnitRow(9206, "Bin width 82.5 US survey feet", 25.146050292100586),
    UnitRow(9207, "Bin width 37.5 metres", 37.5),
    UnitRow(9208, "Bin width 25 metres", 25.0),
    UnitRow(9209, "Bin width 12.5 metres", 12.5),
    UnitRow(9210, "Bin width 6.25 metres", 6.25),
    UnitRow(9211, "Bin width 3.125 metres", 3.125),
    UnitRow(9300, "British foot (Sears 1922 truncated)", 0.30479933333333337),
    UnitRow(9301, "British chain (Sears 1922 truncated)", 20.116756),
    UnitRow(9302, "British link (Sears 1922 truncated)", 0.20116756),
];

/// Angles, sizes in radians.
#[rustfmt::skip]
pub const ANGLES: &[UnitRow] = &[
    UnitRow(1031, "milliarc-second", 4.84813681109536e-09),
    UnitRow(9101, "radian", 1.0),
    UnitRow(9102, "degree", 0.0174532925199433),
    UnitRow(9103, "arc-minute", 0.000290888208665721),
    UnitRow(9104, "arc-second", 4.84813681109535e-06),
    UnitRow(9105, "grad", 0.0157079632679489),
    UnitRow(9106, "gon", 0.0157079632679489),
    UnitRow(9109, "microradian", 1e-06),
    UnitRow(9112, "centesimal minute", 0.000157079632679489),
    UnitRow(9113, "centesimal second", 1.57079632679489e-06),
    UnitRow(9114, "mil_6400", 0.000981747704246809),
    UnitRow(9122, "degree", 0.0174532925199433),
];

/// An ellipsoid: code, name, semi-major axis in metres, inverse flattening (0 for a sphere).
pub struct EllipsoidRow(pub u16, pub &'static str, pub f64, pub f64);

/// Ellipsoids.
#[rustfmt::skip]
pub const ELLIPSOIDS: &[EllipsoidRow] = &[
    EllipsoidRow(1024, "CGCS2000", 6378137.0, 298.257222101),
    EllipsoidRow(1025, "GSK-2011", 6378136.5, 298.2564151),
    EllipsoidRow(1026, "Zach 1812", 6376045.0, 310.0),
    EllipsoidRow(7001, "Airy 1830", 6377563.396, 299.3249646),
    EllipsoidRow(7002, "Airy Modified 1849", 6377340.189, 299.3249646),
    EllipsoidRow(7003, "Australian National Spheroid", 6378160.0, 298.25),
    EllipsoidRow(7004, "Bessel 1841", 6377397.155, 299.1528128),
    EllipsoidRow(7005, "Bessel Modified", 6377492.018, 299.1528128),
    EllipsoidRow(7006, "Bessel Namibia", 6377483.865, 299.1528128),
    EllipsoidRow(7007, "Clarke 1858", 6378293.645208759, 294.26067636926103),
    EllipsoidRow(7008, "Clarke 1866", 6378206.4, 294.9786982138982),
    EllipsoidRow(7009, "Clarke 1866 Michigan", 6378450.047548896, 294.978697164674),
    EllipsoidRow(7010, "Clarke 1880 (Benoit)", 6378300.789, 293.4663155389811),
    EllipsoidRow(7011, "Clarke 1880 (IGN)", 6378249.2, 293.4660212936269),
    EllipsoidRow(7012, "Clarke 1880 (RGS)", 6378249.145, 293.465),
    EllipsoidRow(7013, "Clarke 1880 (Arc)", 6378249.145, 293.4663077),
    EllipsoidRow(7014, "Clarke 1880 (SGA 1922)", 6378249.2, 293.46598),
    EllipsoidRow(7015, "Everest 1830 (1937 Adjustment)", 6377276.345, 300.8017),
    EllipsoidRow(7016, "Everest 1830 (1967 Definition)", 6377298.556, 300.8017),
    EllipsoidRow(7018, "Everest 1830 Modified", 6377304.063, 300.8017),
    EllipsoidRow(7019, "GRS 1980", 6378137.0, 298.257222101),
    EllipsoidRow(7020, "Helmert 1906", 6378200.0, 298.3),
    EllipsoidRow(7021, "Indonesian National Spheroid", 6378160.0, 298.247),
    EllipsoidRow(7022, "International 1924", 6378388.0, 297.0),
    EllipsoidRow(7024, "Krassowsky 1940", 6378245.0, 298.3),
    EllipsoidRow(7025, "NWL 9D", 6378145.0, 298.25),
    EllipsoidRow(7027, "Plessis 1817", 6376523.0, 308.64),
    EllipsoidRow(7028, "Struve 1860", 6378298.3, 294.73),
    EllipsoidRow(7029, "War Office", 6378300.0, 296.0),
    EllipsoidRow(7030, "WGS 84", 6378137.0, 298.257223563),
    EllipsoidRow(7031, "GEM 10C", 6378137.0, 298.257223563),
    EllipsoidRow(7032, "OSU86F", 6378136.2, 298.257223563),
    EllipsoidRow(7033, "OSU91A", 6378136.3, 298.257223563),
    EllipsoidRow(7034, "Clarke 1880", 6378249.144808011, 293.46630765562986),
    EllipsoidRow(7035, "Sphere", 6371000.0, 0.0),
    EllipsoidRow(7036, "GRS 1967", 6378160.0, 298.247167427),
    EllipsoidRow(7041, "Average Terrestrial System 1977", 6378135.0, 298.257),
    EllipsoidRow(7042, "Everest (1830 Definition)", 6377299.36559538, 300.80172554336184),
    EllipsoidRow(7043, "WGS 72", 6378135.0, 298.26),
    EllipsoidRow(7044, "Everest 1830 (1962 Definition)", 6377301.243, 300.8017255),
    EllipsoidRow(7045, "Everest 1830 (1975 Definition)", 6377299.151, 300.8017255),
    EllipsoidRow(7046, "Bessel Namibia (GLM)", 6377483.865280419, 299.1528128),
    EllipsoidRow(7047, "GRS 1980 Authalic Sphere", 6370997.0, 0.0),
    EllipsoidRow(7048, "GRS 1980 Authalic Sphere", 6371007.0, 0.0),
    EllipsoidRow(7049, "IAG 1975", 6378140.0, 298.257),
    EllipsoidRow(7050, "GRS 1967 Modified", 6378160.0, 298.25),
    EllipsoidRow(7051, "Danish 1876", 6377019.27, 300.0),
    EllipsoidRow(7052, "Clarke 1866 Authalic Sphere", 6370997.0, 0.0),
    EllipsoidRow(7053, "Hough 1960", 6378270.0, 297.0),
    EllipsoidRow(7054, "PZ-90", 6378136.0, 298.257839303),
    EllipsoidRow(7055, "Clarke 1880 (international foot)", 6378306.3696, 293.46630765562986),
    EllipsoidRow(7056, "Everest 1830 (RSO 1969)", 6377295.664, 300.8017),
    EllipsoidRow(7057, "International 1924 Authalic Sphere", 6371228.0, 0.0),
    EllipsoidRow(7058, "Hughes 1980", 6378273.0, 298.279411123064),
    EllipsoidRow(7059, "Popular Visualisation Sphere", 6378137.0, 0.0),
];

/// A prime meridian: code, name, degrees east of Greenwich.
pub struct MeridianRow(pub u16, pub &'static str, pub f64);

/// Prime meridians.
#[rustfmt::skip]
pub const MERIDIANS: &[MeridianRow] = &[
    MeridianRow(1026, "Copenhagen", 12.57775),
    MeridianRow(8901, "Greenwich", 0.0),
    MeridianRow(8902, "Lisbon", -9.131906111111112),
    MeridianRow(8903, "Paris", 2.33722917),
    MeridianRow(8904, "Bogota", -74.08091666666667),
    MeridianRow(8905, "Madrid", -3.6873750000000003),
    MeridianRow(8906, "Rome", 12.452333333333332),
    MeridianRow(8907, "Bern", 7.439583333333333),
    MeridianRow(8908, "Jakarta", 106.80771944444444),
    MeridianRow(8909, "Ferro", -17.666666666666668),
    MeridianRow(8910, "Brussels", 4.3679749999999995),
    MeridianRow(8911, "Stockholm", 18.05827777777778),
    MeridianRow(8912, "Athens", 23.716337499999998),
    MeridianRow(8913, "Oslo", 10.722916666666666),
    MeridianRow(8914, "Paris RGS", 2.3372083333333333),
];
