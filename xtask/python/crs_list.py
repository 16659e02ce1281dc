"""Reference systems that a file must carry unchanged, as people write them.

CODES: EPSG codes, one or more for each projection method that GeoKeys have. Each is tried as a code and, without
any authority code in it, as GDAL's WKT 1, WKT 2 and ESRI's WKT.
CUSTOM: PROJ strings and WKT of systems nobody registered, each with a place (longitude, latitude) inside.
SIDECAR: systems that keys cannot describe, whose definition must come back from the .aux.xml.
"""

CODES = [
    32631,  # UTM north
    32733,  # UTM south
    27700,  # transverse Mercator, Airy
    2193,  # transverse Mercator, scale and offsets
    31467,  # Gauss-Krueger
    2263,  # Lambert 2SP, US feet
    2154,  # Lambert 2SP
    3034,  # Lambert 2SP, ETRS89
    26191,  # Lambert 1SP
    24600,  # Lambert 1SP, Clarke 1880
    27572,  # Lambert 1SP, Paris, grads
    5070,  # Albers
    3577,  # Albers, south
    3005,  # Albers, false easting
    3035,  # Lambert azimuthal
    3573,  # Lambert azimuthal at the pole
    3031,  # polar stereographic B, south
    3413,  # polar stereographic B, north
    5041,  # polar stereographic A, north
    32761,  # polar stereographic A, south
    3995,  # polar stereographic B, WGS 84
    28992,  # oblique stereographic
    3844,  # oblique stereographic, Stereo 70
    3395,  # Mercator A
    3832,  # Mercator A, another meridian
    3994,  # Mercator B
    3857,  # pseudo-Mercator
    4087,  # equidistant cylindrical
    2048,  # transverse Mercator, south orientated
    2056,  # oblique Mercator B
    29873,  # oblique Mercator B, turned
    3375,  # oblique Mercator A
    27200,  # New Zealand Map Grid
    6933,  # cylindrical equal area
    28193,  # Cassini-Soldner
    5880,  # polyconic
    2225,  # Lambert 2SP, NAD83, US feet
    2222,  # transverse Mercator, international feet
    4326,
    4269,
    4258,
    4267,
    4277,
    4807,  # Paris, grads
    4978,  # geocentric
    4979,  # three axes
    7405,  # compound
    9518,  # compound, geographic
    5498,  # compound, NAD83 + NAVD88
]

CODE_PAIRS = [("EPSG:32631+5773", (3, 45)), ("EPSG:2056+5728", (8, 47)), ("EPSG:26910+5703", (-123, 45))]

CUSTOM = [
    ("+proj=tmerc +lat_0=10 +lon_0=9 +k=0.9996 +x_0=500000 +y_0=100 +datum=WGS84", (9.5, 11)),
    ("+proj=tmerc +lat_0=0 +lon_0=9 +k_0=1 +x_0=3500000 +y_0=0 +ellps=bessel +units=m", (9.5, 50)),
    ("+proj=tmerc +lat_0=0 +lon_0=9 +k=1 +x_0=3500000 +ellps=bessel +towgs84=598.1,73.7,418.2,0.202,0.045,-2.455,6.7", (9.5, 50)),
    ("+proj=tmerc +lat_0=40 +lon_0=-75 +k=0.9999 +x_0=250000 +datum=NAD83 +units=us-ft", (-74.5, 41)),
    ("+proj=tmerc +lat_0=40 +lon_0=-75 +x_0=1000 +a=6378000 +rf=297.5 +units=ft", (-74.5, 41)),
    ("+proj=tmerc +lat_0=40 +lon_0=5 +ellps=clrk66 +to_meter=0.3", (5.5, 41)),
    ("+proj=tmerc +lat_0=40 +lon_0=5 +ellps=intl +units=km", (5.5, 41)),
    ("+proj=utm +zone=31 +ellps=intl +pm=madrid", (0, 45)),
    ("+proj=utm +zone=33 +south +ellps=clrk80 +towgs84=-1,2,3", (15, -20)),
    ("+proj=lcc +lat_1=49.5 +lat_0=49.5 +lon_0=0 +k_0=0.999877341 +x_0=600000 +y_0=200000 +a=6378249.2 +b=6356515 +pm=paris", (3, 49)),
    ("+proj=lcc +lat_1=31.5 +lat_2=33.5 +lat_0=31 +lon_0=-100 +x_0=600000 +y_0=1000000 +datum=NAD83", (-99, 32)),
    ("+proj=lcc +lat_1=30 +lat_2=60 +lat_0=45 +lon_0=10 +R=6371229", (11, 46)),
    ("+proj=aea +lat_1=20 +lat_2=60 +lat_0=40 +lon_0=-96 +x_0=10 +y_0=20 +ellps=GRS80", (-95, 42)),
    ("+proj=laea +lat_0=-20 +lon_0=30 +x_0=1000 +y_0=2000 +datum=WGS84", (31, -21)),
    ("+proj=laea +lat_0=45 +lon_0=-100 +a=6370997 +b=6370997 +units=m", (-99, 46)),
    ("+proj=stere +lat_0=90 +lat_ts=70 +lon_0=-45 +x_0=10 +a=6378273 +b=6356889.449", (-40, 75)),
    ("+proj=stere +lat_0=-90 +lon_0=10 +k=0.98 +x_0=1000 +datum=WGS84", (20, -80)),
    ("+proj=stere +lat_0=-90 +lat_ts=-65 +lon_0=140 +datum=WGS84", (141, -70)),
    ("+proj=stere +lat_0=40 +lon_0=10 +k=0.99 +datum=WGS84", (11, 41)),
    ("+proj=sterea +lat_0=46 +lon_0=25 +k=0.99975 +x_0=500000 +y_0=500000 +ellps=krass", (25.5, 46.5)),
    ("+proj=merc +lon_0=100 +k=0.997 +x_0=3900000 +y_0=900000 +ellps=bessel", (101, 3)),
    ("+proj=merc +lat_ts=42 +lon_0=51 +ellps=krass", (52, 42)),
    ("+proj=merc +lon_0=10 +R=6371000", (11, 42)),
    ("+proj=eqc +lat_ts=30 +lon_0=5 +datum=WGS84", (6, 31)),
    ("+proj=eqc +lat_ts=0 +lat_0=0 +lon_0=0 +R=1737400", (6, 31)),
    ("+proj=sinu +lon_0=0 +x_0=0 +y_0=0 +R=6371007.181", (6, 31)),
    ("+proj=sinu +lon_0=20 +x_0=5 +y_0=6 +datum=WGS84", (6, 31)),
    ("+proj=cea +lat_ts=30 +lon_0=5 +datum=WGS84", (6, 31)),
    ("+proj=aeqd +lat_0=53 +lon_0=24 +x_0=5837287.82 +y_0=2121415.7 +datum=WGS84", (25, 54)),
    ("+proj=robin +lon_0=5 +datum=WGS84", (6, 31)),
    ("+proj=cass +lat_0=31 +lon_0=35 +x_0=1 +y_0=2 +ellps=clrk80", (35.1, 31.1)),
    ("+proj=poly +lat_0=0 +lon_0=-54 +x_0=5000000 +y_0=10000000 +ellps=aust_SA", (-53, -10)),
    ("+proj=omerc +lat_0=4 +lonc=115 +alpha=53 +gamma=52 +k=0.99984 +x_0=5 +y_0=6 +ellps=evrstSS", (115.5, 4.5)),
    ("+proj=omerc +lat_0=4 +lonc=102 +alpha=323 +gamma=323.1 +k=0.99984 +x_0=804671 +no_uoff +datum=WGS84", (102.5, 4.5)),
    ("+proj=longlat +ellps=bessel", (9, 50)),
    ("+proj=longlat +a=6377000 +rf=300 +pm=12.5", (9, 50)),
    ("+proj=longlat +ellps=intl +towgs84=-87,-98,-121", (9, 50)),
    ("+proj=longlat +datum=NAD27", (-99, 40)),
    ("+proj=longlat +R=3396190", (9, 50)),
    ('PROJCS["m",GEOGCS["g",DATUM["d",SPHEROID["s",6378000,297]],PRIMEM["p",5],UNIT["degree",0.0174532925199433]],PROJECTION["Transverse_Mercator"],PARAMETER["latitude_of_origin",0],PARAMETER["central_meridian",10],PARAMETER["scale_factor",0.9996],PARAMETER["false_easting",500000],PARAMETER["false_northing",0],UNIT["my foot",0.3]]', (15, 10)),
    ('PROJCS["grads",GEOGCS["NTF (Paris)",DATUM["Nouvelle_Triangulation_Francaise_Paris",SPHEROID["Clarke 1880 (IGN)",6378249.2,293.466021293627]],PRIMEM["Paris",2.33722917],UNIT["grad",0.01570796326794897]],PROJECTION["Lambert_Conformal_Conic_1SP"],PARAMETER["latitude_of_origin",52],PARAMETER["central_meridian",1],PARAMETER["scale_factor",0.99987742],PARAMETER["false_easting",600000],PARAMETER["false_northing",2200000],UNIT["metre",1]]', (3, 47)),
    ('PROJCS["own grads",GEOGCS["g",DATUM["d",SPHEROID["s",6378000,297]],PRIMEM["Greenwich",0],UNIT["grad",0.01570796326794897]],PROJECTION["Transverse_Mercator"],PARAMETER["latitude_of_origin",52],PARAMETER["central_meridian",4],PARAMETER["scale_factor",0.99987742],PARAMETER["false_easting",600000],PARAMETER["false_northing",2200000],UNIT["metre",1]]', (3, 47)),
    ('PROJCS["Custom_Albers",GEOGCS["GCS_North_American_1983",DATUM["D_North_American_1983",SPHEROID["GRS_1980",6378137.0,298.257222101]],PRIMEM["Greenwich",0.0],UNIT["Degree",0.0174532925199433]],PROJECTION["Albers"],PARAMETER["False_Easting",1.0],PARAMETER["False_Northing",2.0],PARAMETER["Central_Meridian",-97.0],PARAMETER["Standard_Parallel_1",29.5],PARAMETER["Standard_Parallel_2",45.5],PARAMETER["Latitude_Of_Origin",23.5],UNIT["Foot_US",0.3048006096012192]]', (-97, 40)),
    ('PROJCS["North_Pole",GEOGCS["GCS_WGS_1984",DATUM["D_WGS_1984",SPHEROID["WGS_1984",6378137.0,298.257223563]],PRIMEM["Greenwich",0.0],UNIT["Degree",0.0174532925199433]],PROJECTION["Stereographic_North_Pole"],PARAMETER["False_Easting",5.0],PARAMETER["False_Northing",0.0],PARAMETER["Central_Meridian",-40.0],PARAMETER["Standard_Parallel_1",72.0],UNIT["Meter",1.0]]', (-30, 80)),
    ('PROJCRS["own",BASEGEOGCRS["WGS 84",DATUM["World Geodetic System 1984",ELLIPSOID["WGS 84",6378137,298.257223563,LENGTHUNIT["metre",1]]],PRIMEM["Greenwich",0,ANGLEUNIT["degree",0.0174532925199433]]],CONVERSION["c",METHOD["Lambert Conic Conformal (2SP)"],PARAMETER["Latitude of false origin",44,ANGLEUNIT["grad",0.015707963267949]],PARAMETER["Longitude of false origin",3,ANGLEUNIT["degree",0.0174532925199433]],PARAMETER["Latitude of 1st standard parallel",49,ANGLEUNIT["degree",0.0174532925199433]],PARAMETER["Latitude of 2nd standard parallel",44,ANGLEUNIT["degree",0.0174532925199433]],PARAMETER["Easting at false origin",700,LENGTHUNIT["kilometre",1000]],PARAMETER["Northing at false origin",6600000,LENGTHUNIT["metre",1]]],CS[Cartesian,2],AXIS["easting (E)",east],AXIS["northing (N)",north],LENGTHUNIT["US survey foot",0.304800609601219]]', (3, 45)),
    ('COMPD_CS["both",PROJCS["p",GEOGCS["WGS 84",DATUM["WGS_1984",SPHEROID["WGS 84",6378137,298.257223563]],PRIMEM["Greenwich",0],UNIT["degree",0.0174532925199433]],PROJECTION["Transverse_Mercator"],PARAMETER["latitude_of_origin",1],PARAMETER["central_meridian",10],PARAMETER["scale_factor",0.9996],PARAMETER["false_easting",500000],PARAMETER["false_northing",0],UNIT["metre",1]],VERT_CS["EGM96 height",VERT_DATUM["EGM96 geoid",2005],UNIT["metre",1],AXIS["Gravity-related height",UP]]]', (11, 2)),
]

SIDECAR = [
    ('PROJCS["krovak",GEOGCS["S-JTSK",DATUM["System_of_the_Unified_Trigonometrical_Cadastral_Network",SPHEROID["Bessel 1841",6377397.155,299.1528128]],PRIMEM["Greenwich",0],UNIT["degree",0.0174532925199433]],PROJECTION["Krovak"],PARAMETER["latitude_of_center",49.5],PARAMETER["longitude_of_center",24.8333333333333],PARAMETER["azimuth",30.2881397527778],PARAMETER["pseudo_standard_parallel_1",78.5],PARAMETER["scale_factor",0.9998],PARAMETER["false_easting",10],PARAMETER["false_northing",0],UNIT["metre",1],AXIS["X",EAST],AXIS["Y",NORTH]]', (15, 50)),
    ('PROJCS["goode",GEOGCS["WGS 84",DATUM["WGS_1984",SPHEROID["WGS 84",6378137,298.257223563]],PRIMEM["Greenwich",0],UNIT["degree",0.0174532925199433]],PROJECTION["Mollweide"],PARAMETER["central_meridian",10],PARAMETER["false_easting",0],PARAMETER["false_northing",0],UNIT["metre",1]]', (15, 50)),
    ('PROJCS["web",GEOGCS["WGS 84",DATUM["WGS_1984",SPHEROID["WGS 84",6378137,298.257223563]],PRIMEM["Greenwich",0],UNIT["degree",0.0174532925199433]],PROJECTION["Mercator_1SP"],PARAMETER["central_meridian",10],PARAMETER["scale_factor",1],PARAMETER["false_easting",0],PARAMETER["false_northing",0],UNIT["metre",1],EXTENSION["PROJ4","+proj=merc +a=6378137 +b=6378137 +lat_ts=0 +lon_0=10 +x_0=0 +y_0=0 +k=1 +units=m +nadgrids=@null +wktext +no_defs"]]', (15, 50)),
]
