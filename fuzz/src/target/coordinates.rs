//! Coordinates of points anywhere, in systems whose numbers are anything.

use super::{Outcome, Subject, sequence};
use crate::mutate::pick;
use strile_crs::{Area, Crs, DatumShift, TransformOptions, Transformer};
use testkit::{Random, mutate_bytes};

/// See the module.
pub(crate) struct CoordinateTarget {
    wgs84: Option<Crs>,
}

/// One text for each projection, and some that lead through datums.
const TEXTS: [&str; 30] = [
    "+proj=tmerc +lat_0=49 +lon_0=-2 +k=0.9996 +x_0=400000 +y_0=-100000 +ellps=airy +units=m",
    "+proj=utm +zone=31 +south +datum=WGS84",
    "+proj=lcc +lat_1=49 +lat_2=44 +lat_0=46.5 +lon_0=3 +x_0=700000 +y_0=6600000 +ellps=GRS80",
    "+proj=lcc +lat_1=49 +lat_0=49 +lon_0=3 +k_0=0.9999 +ellps=clrk80ign +pm=paris +units=us-ft",
    "+proj=aea +lat_1=29.5 +lat_2=45.5 +lat_0=23 +lon_0=-96 +datum=NAD83",
    "+proj=eqdc +lat_1=29.5 +lat_2=45.5 +lat_0=23 +lon_0=-96 +datum=NAD27",
    "+proj=laea +lat_0=52 +lon_0=10 +x_0=4321000 +y_0=3210000 +ellps=GRS80",
    "+proj=aeqd +lat_0=40 +lon_0=-100 +datum=WGS84",
    "+proj=stere +lat_0=90 +lat_ts=70 +lon_0=-45 +datum=WGS84",
    "+proj=stere +lat_0=30 +lon_0=-45 +k_0=0.9 +datum=WGS84",
    "+proj=sterea +lat_0=52.1 +lon_0=5.4 +k=0.9999079 +x_0=155000 +y_0=463000 +ellps=bessel +towgs84=565,50,465,-0.3,0.3,-1.8,4",
    "+proj=merc +lon_0=100 +k=0.997 +ellps=bessel",
    "+proj=merc +lat_ts=41 +lon_0=100 +R=6371000",
    "+proj=eqc +lat_ts=30 +lat_0=10 +lon_0=5 +datum=WGS84",
    "+proj=mill +lon_0=5 +datum=WGS84",
    "+proj=cea +lat_ts=30 +lon_0=5 +datum=WGS84",
    "+proj=sinu +lon_0=5 +R=6371007.181",
    "+proj=robin +lon_0=5 +datum=WGS84",
    "+proj=cass +lat_0=10 +lon_0=-61 +ellps=clrk80",
    "+proj=poly +lat_0=0 +lon_0=-54 +ellps=GRS80",
    "+proj=gnom +lat_0=90 +lon_0=-50 +datum=WGS84",
    "+proj=ortho +lat_0=42 +lon_0=-71 +datum=WGS84",
    "+proj=somerc +lat_0=46.95 +lon_0=7.44 +x_0=600000 +y_0=200000 +ellps=bessel",
    "+proj=omerc +lat_0=4 +lonc=102 +alpha=323 +gamma=323.13 +k=0.99984 +x_0=804671 +y_0=0 +no_uoff +ellps=GRS80",
    "+proj=omerc +lat_0=4 +lonc=102 +alpha=323 +gamma=323.13 +k=0.99984 +x_0=804671 +y_0=0 +ellps=GRS80",
    "EPSG:5513",
    "EPSG:8857",
    "EPSG:2052",
    "EPSG:27572",
    "EPSG:28355",
];

impl CoordinateTarget {
    pub(crate) fn new() -> Self {
        Self { wgs84: Crs::from_epsg(4326) }
    }
}

impl Subject for CoordinateTarget {
    fn name(&self) -> &str {
        "coordinates"
    }

    fn mutant(&self, number: u64) -> (usize, Vec<u8>) {
        let mut random = sequence(number);
        let seed = random.below(TEXTS.len());
        let mut words: Vec<String> = TEXTS[seed].split(' ').map(str::to_owned).collect();
        for _ in 0..random.below(3) {
            let at = random.below(words.len());
            let Some((name, _)) = words[at].split_once('=') else { continue };
            let values =
                ["0", "90", "-90", "89.9999999", "180", "1e-300", "1e300", "-1e18", "360", "45.5", "1", "-0"];
            words[at] = match random.below(3) {
                0 => format!("{name}={}", pick(&values, &mut random)),
                1 => format!("{name}={}", (random.below(7200) as f64 - 3600.0) / 20.0),
                _ => String::from_utf8_lossy(&mutate_bytes(words[at].as_bytes(), random.next_u64()))
                    .into_owned(),
            };
        }
        (seed, words.join(" ").into_bytes())
    }

    fn try_one(&self, _seed: usize, number: u64, bytes: &[u8]) -> Outcome {
        let text = String::from_utf8_lossy(bytes);
        let (Ok(crs), Some(wgs84)) = (Crs::from_user_input(&text), &self.wgs84) else {
            return Outcome::refused(false, "text");
        };
        let mut random = sequence(number);
        let mut options = TransformOptions::default();
        if random.below(2) == 0 {
            options = options.datum_shift(DatumShift::None);
        } else if let Ok(area) = Area::of(&crs, (0.0, 0.0), (anything(&mut random), anything(&mut random))) {
            options = options.area(area);
        }
        let Ok(there) = Transformer::new(wgs84, &crs, &options) else {
            return Outcome::refused(true, "refused");
        };
        let back = there.inverse();
        let mut outcome = Outcome::read();
        for _ in 0..20 {
            let place = match random.below(2) {
                0 => (anything(&mut random), anything(&mut random)),
                _ => (random.below(7600) as f64 / 10.0 - 380.0, random.below(1900) as f64 / 10.0 - 95.0),
            };
            if let Some(found) = there.transform(place.0, place.1) {
                let again = back.transform(found.0, found.1);
                // A datum shift near a pole or a point without an exact way back may be lost, but not moved.
                let is_wrong = !found.0.is_finite()
                    || !found.1.is_finite()
                    || again.is_some_and(|(x, y)| {
                        let turn = (x - place.0 + 180.0).rem_euclid(360.0) - 180.0;
                        !((turn * place.1.to_radians().cos()).abs() < 1e-4 && (y - place.1).abs() < 1e-4)
                    });
                if is_wrong {
                    outcome.wrong = Some(format!("{place:?} is {found:?}, and that is {again:?}"));
                }
            }
            let point = (anything(&mut random), anything(&mut random));
            if let Some((x, y)) = back.transform(point.0, point.1)
                && !((-180.0..=180.0).contains(&x) && (-90.0..=90.0).contains(&y))
            {
                outcome.wrong = Some(format!("{point:?} is at {x} {y}"));
            }
        }
        outcome
    }

    fn memory_limit(&self, _seed: usize) -> usize {
        64 << 20
    }

    fn seed_name(&self, seed: usize) -> String {
        format!("system{seed}")
    }

    fn seeds(&self) -> usize {
        TEXTS.len()
    }

    /// The registry of operations is unpacked once.
    fn prepare(&self) {
        if let (Some(wgs84), Some(crs)) = (&self.wgs84, Crs::from_epsg(27572)) {
            drop(Transformer::new(wgs84, &crs, &TransformOptions::default()));
        }
    }
}

/// A coordinate of any size.
fn anything(random: &mut Random) -> f64 {
    let edges =
        [0.0, -0.0, 90.0, 180.0, -180.0, 1e7, 2e7, -2.1e7, 1e9, 1e15, 1e300, 5e-324, f64::NAN, f64::INFINITY];
    match random.below(3) {
        0 => pick(&edges, random),
        1 => (random.below(40_000_000) as f64 - 2e7) * 1.0001,
        _ => f64::from_bits(random.next_u64()),
    }
}
