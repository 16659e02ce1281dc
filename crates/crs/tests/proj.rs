//! Coordinates against PROJ: 1,117 codes, ten points in a small window from EPSG:4326, and ten in the whole area of use
//! from the system's own base. `xtask/python/make_crs_points.py` makes the table and says how it is written.
#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a wrong fixture should stop the test"
)]

use strile_crs::{Area, Crs, TransformOptions, Transformer};

const TABLE: &str = include_str!("data/points.txt");
/// Two systems or operations agree where they are this near, in metres.
const NEAR: f64 = 0.01;

/// Systems whose operation turns by many arc-seconds: PROJ inverts it approximately, so that there and back is up to
/// 8 cm off; strile inverts it exactly.
const LARGE_ROTATIONS: [u32; 4] = [4643, 4660, 6316, 8679];

/// The table is rounded to thousandths of the system's unit, which may be a chain.
fn near(crs: &Crs) -> f64 {
    NEAR + crs.unit.as_ref().map_or(0.0, |unit| unit.size * 1e-3)
}

/// Ten points spread over an area.
fn places(west: f64, south: f64, east: f64, north: f64) -> Vec<(f64, f64)> {
    let width = if east > west { east - west } else { east - west + 360.0 };
    let (u, v) = (0.7548776662466927, 0.5698402909980532);
    (0..10)
        .map(f64::from)
        .map(|i| {
            let longitude = west + width * ((0.5 + i * u) % 1.0);
            let longitude = if longitude > 180.0 { longitude - 360.0 } else { longitude };
            (longitude, south + (north - south) * ((0.5 + i * v) % 1.0))
        })
        .collect()
}

fn coordinates(text: &str, size: f64) -> Vec<Option<(f64, f64)>> {
    let mut last = (0.0, 0.0);
    text.split(' ')
        .filter(|word| !word.is_empty())
        .map(|word| {
            let (x, y) = word.split_once(',')?;
            last = (last.0 + x.parse::<f64>().unwrap(), last.1 + y.parse::<f64>().unwrap());
            Some((last.0 / size, last.1 / size))
        })
        .collect()
}

struct Row {
    code: u32,
    crs: Crs,
    window: Area,
    area: Area,
    base: u32,
    operation: &'static str,
    near: Vec<Option<(f64, f64)>>,
    far: Vec<Option<(f64, f64)>>,
}

fn rows() -> impl Iterator<Item = Row> {
    TABLE.lines().filter(|line| !line.starts_with('#')).map(|line| {
        let [code, place, base, operation, near, far] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        let numbers: Vec<f64> = place.split(' ').map(|v| v.parse().unwrap()).collect();
        let area = |at: usize| Area {
            west: numbers[at],
            south: numbers[at + 1],
            east: numbers[at + 2],
            north: numbers[at + 3],
        };
        let code = code.parse().unwrap();
        let crs = Crs::from_epsg(code).unwrap_or_else(|| panic!("EPSG:{code} is not known"));
        let size = if crs.kind == strile_crs::CrsKind::Projected { 1e3 } else { 1e9 };
        Row {
            code,
            crs,
            window: area(0),
            area: area(4),
            base: base.parse().unwrap(),
            operation,
            near: coordinates(near, size),
            far: coordinates(far, size),
        }
    })
}

/// Metres between two points of a system.
fn distance(crs: &Crs, a: (f64, f64), b: (f64, f64)) -> f64 {
    let size = crs.unit.as_ref().map_or(1.0, |unit| unit.size);
    let (x, y) = ((a.0 - b.0) * size, (a.1 - b.1) * size);
    if crs.kind == strile_crs::CrsKind::Projected {
        return x.hypot(y);
    }
    let turn = std::f64::consts::TAU;
    let x = (x + turn / 2.0).rem_euclid(turn) - turn / 2.0;
    (x * (a.1 * size).cos()).hypot(y) * 6_371_000.0
}

#[test]
fn codes_agree_with_proj_or_name_another_operation_or_are_refused() {
    let wgs84 = Crs::from_epsg(4326).unwrap();
    let (mut agree, mut other, mut refused, mut refused_ballpark) = (0, Vec::new(), Vec::new(), 0);
    let (mut wrong, mut turned) = (Vec::new(), 0);
    for row in rows() {
        let ballpark = row.operation.contains("Ballpark");
        let transformer =
            match Transformer::new(&wgs84, &row.crs, &TransformOptions::default().area(row.window)) {
                Ok(transformer) => transformer,
                Err(_) if ballpark => {
                    refused_ballpark += 1;
                    continue;
                }
                Err(reason) => {
                    refused.push(format!("{} PROJ: {} | {reason}", row.code, row.operation));
                    continue;
                }
            };
        let back = transformer.inverse();
        let w = row.window;
        let mut worst = 0.0_f64;
        for ((x, y), wanted) in places(w.west, w.south, w.east, w.north).into_iter().zip(&row.near) {
            let Some(wanted) = *wanted else { continue };
            let Some(found) = transformer.transform(x, y) else {
                wrong.push(format!("{}: no coordinates at {x} {y}", row.code));
                continue;
            };
            worst = worst.max(distance(&row.crs, found, wanted));
            let again = back.transform(found.0, found.1).unwrap_or((f64::NAN, f64::NAN));
            let round = distance(&wgs84, again, (x, y));
            // Two-dimensional operations drop the height that a datum shift brings.
            if round.is_nan() || round > 0.05 {
                wrong.push(format!("{}: {round} m there and back", row.code));
            }
        }
        let operation = transformer.operation();
        let steps: Vec<&str> = operation.steps.iter().map(|step| step.name.as_str()).collect();
        // PROJ chooses for every point; the table names every operation it took.
        let mut taken = row.operation.split(" | ");
        let same =
            taken.all(|taken| steps.iter().all(|name| taken.contains(name))) && ballpark == steps.is_empty();
        if worst <= near(&row.crs) {
            agree += 1;
        } else if same && LARGE_ROTATIONS.contains(&row.code) && worst < 0.1 {
            turned += 1;
        } else if same {
            wrong.push(format!("{}: {worst:.3} m from PROJ ({}), {operation}", row.code, row.operation));
        } else if worst > 20.0 {
            wrong.push(format!("{}: {worst:.3} m by {operation}, PROJ: {}", row.code, row.operation));
        } else {
            other.push(format!("{} {worst:.2} m PROJ: {} | {operation}", row.code, row.operation));
        }
    }
    println!(
        "{agree} agree, {turned} by large rotations, {} by another operation, {} refused, {refused_ballpark} refused where PROJ has none either",
        other.len(),
        refused.len()
    );
    println!("{}\n\n{}", other.join("\n"), refused.join("\n"));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!((agree, turned, other.len(), refused.len(), refused_ballpark), (908, 4, 23, 47, 135));
}

#[test]
fn projections_agree_with_proj_in_their_whole_area() {
    let (mut agree, mut points, mut refused) = (0, 0, Vec::new());
    let mut wrong = Vec::new();
    for row in rows().filter(|row| row.base != 0) {
        let base = Crs::from_epsg(row.base).unwrap();
        let transformer = match Transformer::new(&base, &row.crs, &TransformOptions::default()) {
            Ok(transformer) => transformer,
            Err(reason) => {
                refused.push(format!("{} {reason}", row.code));
                continue;
            }
        };
        let back = transformer.inverse();
        let mut worst = 0.0_f64;
        let a = row.area;
        for ((x, y), wanted) in places(a.west, a.south, a.east, a.north).into_iter().zip(&row.far) {
            match (transformer.transform(x, y), wanted) {
                (Some(found), Some(wanted)) => {
                    worst = worst.max(distance(&row.crs, found, *wanted));
                    let again = back.transform(found.0, found.1).unwrap_or((f64::NAN, f64::NAN));
                    let round = distance(&base, again, (x, y));
                    if round.is_nan() || round > 1e-3 {
                        wrong.push(format!("{}: {again:?} back from {x} {y}", row.code));
                    }
                    points += 1;
                }
                (None, None) => {}
                (found, wanted) => {
                    wrong.push(format!("{}: at {x} {y} {found:?}, PROJ {wanted:?}", row.code));
                }
            }
        }
        if worst <= near(&row.crs) {
            agree += 1;
        } else {
            wrong.push(format!("{}: {worst:.3} m from PROJ", row.code));
        }
    }
    println!("{agree} systems, {points} points, {} refused", refused.len());
    println!("{}", refused.join("\n"));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!((agree, points, refused.len()), (989, 9890, 8));
}
