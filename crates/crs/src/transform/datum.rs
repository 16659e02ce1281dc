//! Datums, and the operation from one to another in an area.
//!
//! The operations are those of the EPSG Dataset, as in proj-core; the choice is made here. Deprecated and approximate
//! operations and those with a grid are excluded, and the stated area must contain the whole area of the coordinates.
//! Then preferred are, in this order: operations that are not superseded, the better accuracy, an operation that moves
//! nothing, the smaller area. An operation is derived in one direction and inverted for the other, so that both
//! directions agree. Without a direct operation two are combined, via WGS 84 or ETRS89.

use proj_core::{
    AreaOfUse, Coord, CoordinateOperation, CoordinateOperationId, CrsDef, GeographicCrsDef, HelmertParams,
    OperationMethod, SelectionOptions, Transform, lookup_epsg, lookup_operation,
    operation_candidates_between,
};

use crate::registry;
use crate::wkt::Node;

use super::area::Area;
use super::definition::Ellipsoid;
use super::operation::{Operation, OperationStep};

/// The datum of a system.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Datum {
    pub name: String,
    pub ellipsoid: Ellipsoid,
    pub kind: DatumKind,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum DatumKind {
    /// The code of the geographic system with the datum and longitudes from Greenwich.
    Registered(u32),
    /// Seven numbers to WGS 84, position vector: metres, arc-seconds, parts per million.
    Shifted([f64; 7]),
    /// A sphere. It has no datum; its latitudes are used for any datum.
    Sphere,
    /// Only an ellipsoid.
    Unknown,
}

/// Codes of datums that EPSG calls unknown or unspecified, with only an ellipsoid.
const UNSPECIFIED: std::ops::RangeInclusive<u32> = 6001..=6054;
const HUBS: [u32; 2] = [4326, 4258];

impl Datum {
    /// Returns the datum of a `GEOGCS` node made by `dialect`.
    pub fn of(geographic: &Node, datum: &Node, ellipsoid: Ellipsoid) -> Self {
        let name = datum.name().unwrap_or("unknown").to_owned();
        let base = datum.epsg_code().filter(|code| !UNSPECIFIED.contains(code)).and_then(|code| {
            // The stated system, if its datum is this one, else the first with this datum.
            let stated = geographic.epsg_code().and_then(registry::lookup);
            let has_datum =
                |n: &Node| n.is(&["GEOGCS"]) && n.child(&["DATUM"]).and_then(Node::epsg_code) == Some(code);
            from_greenwich(&stated.filter(has_datum).or_else(|| registry::geographic_by_datum(code))?)
        });
        let shift = datum.child(&["TOWGS84"]).map(|n| std::array::from_fn(|i| n.f64(i).unwrap_or(0.0)));
        let kind = match (base, shift) {
            (Some(base), _) => DatumKind::Registered(base),
            (None, Some(shift)) => DatumKind::Shifted(shift),
            (None, None) if ellipsoid.is_sphere() => DatumKind::Sphere,
            (None, None) => DatumKind::Unknown,
        };
        Self { name, ellipsoid, kind }
    }
}

/// Returns the code of the same geographic system with longitudes from Greenwich: `NTF` for `NTF (Paris)`.
fn from_greenwich(node: &Node) -> Option<u32> {
    let meridian = node.child(&["PRIMEM"])?;
    if meridian.f64(1)? == 0.0 {
        return node.epsg_code();
    }
    if node.epsg_code() == Some(4801) {
        // Bern 1898 (Bern) is CH1903.
        return Some(4149);
    }
    let (name, _) = node.name()?.rsplit_once(" (")?;
    registry::geographic_by_name(name)?.epsg_code()
}

/// The operations between two datums, in both directions.
#[derive(Debug, Clone)]
pub(super) struct Shift {
    pub there: Vec<Transform>,
    pub back: Vec<Transform>,
}

/// Returns whether longitudes and latitudes of the two are the same.
pub(super) fn is_same(from: &Datum, to: &Datum) -> bool {
    match (&from.kind, &to.kind) {
        (DatumKind::Registered(a), DatumKind::Registered(b)) => a == b,
        (DatumKind::Unknown | DatumKind::Sphere, DatumKind::Unknown | DatumKind::Sphere) => {
            from.name == to.name && from.ellipsoid == to.ellipsoid
        }
        (DatumKind::Shifted(a), DatumKind::Shifted(b)) => a == b && from.ellipsoid == to.ellipsoid,
        _ => false,
    }
}

/// Finds the operations from one datum to another for an area (`None`: the whole Earth). `refuse` is off if the caller
/// accepts unchanged longitudes and latitudes.
pub(super) fn shift(
    from: &Datum,
    to: &Datum,
    area: Option<Area>,
    refuse: bool,
) -> Result<(Shift, Operation), String> {
    let unchanged = |name: String, accuracy| {
        let shift = Shift { there: Vec::new(), back: Vec::new() };
        Ok((shift, Operation { name, accuracy, steps: Vec::new(), heights_unchanged: false }))
    };
    if is_same(from, to) {
        return unchanged("same datum".to_owned(), Some(0.0));
    }
    if from.kind == DatumKind::Sphere || to.kind == DatumKind::Sphere {
        return unchanged("longitudes and latitudes of a sphere, taken unchanged".to_owned(), None);
    }
    match ways(from, to, area) {
        Ok(found) => Ok(joined(found)),
        Err(_) if !refuse => {
            let name = format!("no datum shift from `{}` to `{}`", from.name, to.name);
            unchanged(name, None)
        }
        Err(reason) => Err(format!(
            "no operation from the datum `{}` to `{}` {}: {reason}; set `datum_shift` to none to take longitudes and \
             latitudes unchanged",
            from.name.escape_debug(),
            to.name.escape_debug(),
            area.map_or_else(|| "for the whole Earth".to_owned(), |area| format!("for the area {area}")),
        )),
    }
}

/// One step: its transforms in both directions, and its description.
struct Way {
    there: Transform,
    back: Transform,
    step: OperationStep,
}

fn joined(ways: Vec<Way>) -> (Shift, Operation) {
    let accuracy = ways.iter().map(|way| way.step.accuracy).sum::<Option<f64>>();
    let name = ways.iter().map(|way| way.step.name.as_str()).collect::<Vec<_>>().join(" + ");
    let mut shift = Shift { there: Vec::new(), back: Vec::new() };
    let mut steps = Vec::new();
    for way in ways {
        shift.there.push(way.there);
        shift.back.insert(0, way.back);
        steps.push(way.step);
    }
    (shift, Operation { name, accuracy, steps, heights_unchanged: false })
}

fn ways(from: &Datum, to: &Datum, area: Option<Area>) -> Result<Vec<Way>, String> {
    match (&from.kind, &to.kind) {
        (DatumKind::Registered(a), DatumKind::Registered(b)) => registered(*a, *b, area),
        (DatumKind::Shifted(numbers), _) => {
            let mut ways = vec![stated(numbers, from.ellipsoid)?];
            match &to.kind {
                DatumKind::Registered(4326) => {}
                DatumKind::Registered(b) => ways.extend(registered(4326, *b, area)?),
                DatumKind::Shifted(numbers) => ways.push(reversed(stated(numbers, to.ellipsoid)?)),
                DatumKind::Unknown | DatumKind::Sphere => return Err(unknown(to)),
            }
            Ok(ways)
        }
        (DatumKind::Registered(_), DatumKind::Shifted(_)) => {
            Ok(ways(to, from, area)?.into_iter().rev().map(reversed).collect())
        }
        (DatumKind::Unknown | DatumKind::Sphere, _) => Err(unknown(from)),
        (_, DatumKind::Unknown | DatumKind::Sphere) => Err(unknown(to)),
    }
}

fn unknown(datum: &Datum) -> String {
    format!("`{}` is not a registered datum", datum.name.escape_debug())
}

fn reversed(way: Way) -> Way {
    let step = OperationStep { reversed: !way.step.reversed, ..way.step };
    Way { there: way.back, back: way.there, step }
}

fn registered(from: u32, to: u32, area: Option<Area>) -> Result<Vec<Way>, String> {
    let direct = one(from, to, area);
    let Err(reason) = direct else { return direct.map(|way| vec![way]) };
    let by_way_of = |hub: u32| -> Option<Vec<Way>> {
        if hub == from || hub == to {
            return None;
        }
        Some(vec![one(from, hub, area).ok()?, one(hub, to, area).ok()?])
    };
    HUBS.into_iter().find_map(by_way_of).ok_or(reason)
}

/// Returns one operation between two geographic systems. It is derived from the lower code to the higher.
fn one(from: u32, to: u32, area: Option<Area>) -> Result<Way, String> {
    if from > to {
        return one(to, from, area).map(reversed);
    }
    let system = |code: u32| {
        let found = lookup_epsg(code).filter(CrsDef::is_geographic);
        let found = found.map(|crs| crs.with_axis_order(proj_core::AxisOrder::EastNorth));
        found.ok_or_else(|| format!("operations of EPSG:{code} are not known"))
    };
    let (source, target) = (system(from)?, system(to)?);
    let candidates = operation_candidates_between(&source, &target).map_err(|e| e.to_string())?;
    let mut ranked: Vec<Ranked> = candidates
        .iter()
        .filter_map(|candidate| candidate.id)
        .filter_map(lookup_operation)
        .filter_map(|operation| Ranked::new(operation, area))
        .collect();
    ranked.sort_by(Ranked::order);
    for candidate in ranked {
        let options = SelectionOptions::new().with_operation(candidate.id);
        let Ok(there) = Transform::from_crs_defs_with_selection_options(&source, &target, options) else {
            continue;
        };
        let Ok(back) = there.inverse() else { continue };
        let answers = |t: &Transform| probes(area).all(|(x, y)| t.convert(Coord::new(x, y)).is_ok());
        if answers(&there) && answers(&back) {
            let used = there.selected_operation();
            let reversed = used.direction == proj_core::OperationStepDirection::Reverse;
            let accuracy = used.accuracy.map(|accuracy| accuracy.meters);
            let step =
                OperationStep { code: Some(candidate.id.0), name: used.name.clone(), accuracy, reversed };
            return Ok(Way { there, back, step });
        }
    }
    Err(match candidates.len() {
        0 => "none is registered".to_owned(),
        n => format!("none of the {n} that are registered is valid there without a grid file"),
    })
}

/// A usable operation, with its ranking criteria.
struct Ranked {
    id: CoordinateOperationId,
    superseded: bool,
    accuracy: f64,
    moves: bool,
    size: f64,
}

impl Ranked {
    fn new(operation: CoordinateOperation, area: Option<Area>) -> Option<Self> {
        if operation.deprecated || operation.approximate || operation.uses_grids() {
            return None;
        }
        let sizes = operation.areas_of_use.iter().map(area_of).filter(|stated| stated.holds(area));
        let size = sizes.map(|stated| stated.size()).min_by(f64::total_cmp)?;
        let stays = matches!(&operation.method, OperationMethod::Helmert { params } if is_zero(params))
            || matches!(operation.method, OperationMethod::Identity);
        Some(Self {
            id: operation.id?,
            superseded: operation.superseded,
            accuracy: operation.accuracy.map_or(f64::MAX, |accuracy| accuracy.meters),
            moves: !stays,
            size,
        })
    }

    fn order(a: &Self, b: &Self) -> std::cmp::Ordering {
        a.superseded
            .cmp(&b.superseded)
            .then(a.accuracy.total_cmp(&b.accuracy))
            .then(a.moves.cmp(&b.moves))
            .then(a.size.total_cmp(&b.size))
            .then(a.id.0.cmp(&b.id.0))
    }
}

fn area_of(stated: &AreaOfUse) -> Area {
    Area { west: stated.west, south: stated.south, east: stated.east, north: stated.north }
}

fn is_zero(p: &HelmertParams) -> bool {
    [p.dx(), p.dy(), p.dz(), p.rx(), p.ry(), p.rz(), p.ds()] == [0.0; 7]
}

fn probes(area: Option<Area>) -> impl Iterator<Item = (f64, f64)> {
    let area = area.unwrap_or(Area { west: -180.0, south: -80.0, east: 180.0, north: 80.0 });
    [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (0.5, 0.5)].into_iter().map(move |(u, v)| area.at(u, v))
}

/// Returns the operation to WGS 84 whose numbers the text of a system states.
fn stated([dx, dy, dz, rx, ry, rz, ds]: &[f64; 7], ellipsoid: Ellipsoid) -> Result<Way, String> {
    let failed = |e: proj_core::Error| format!("the stated shift to WGS 84 cannot be used: {e}");
    let shape = match ellipsoid.is_sphere() {
        true => proj_core::Ellipsoid::sphere(ellipsoid.major),
        false => proj_core::Ellipsoid::from_a_rf(ellipsoid.major, ellipsoid.inverse_flattening),
    }
    .map_err(failed)?;
    let params = HelmertParams::new(*dx, *dy, *dz, *rx, *ry, *rz, *ds).map_err(failed)?;
    let datum = proj_core::Datum::new(shape, proj_core::DatumToWgs84::Unknown).map_err(failed)?;
    let source = CrsDef::Geographic(GeographicCrsDef::new(0, datum, "stated"));
    let target = lookup_epsg(4326).ok_or("no EPSG:4326")?.with_axis_order(proj_core::AxisOrder::EastNorth);
    let name = "shift to WGS 84 that the system states".to_owned();
    let operation = CoordinateOperation {
        id: None,
        name: name.clone(),
        source_crs_epsg: None,
        target_crs_epsg: None,
        source_datum_epsg: None,
        target_datum_epsg: None,
        accuracy: None,
        areas_of_use: Default::default(),
        deprecated: false,
        preferred: true,
        approximate: false,
        superseded: false,
        domain: proj_core::OperationDomain::HorizontalOnly,
        method: OperationMethod::Helmert { params },
    };
    let options = SelectionOptions::new().with_coordinate_operation(operation);
    let there = Transform::from_crs_defs_with_selection_options(&source, &target, options).map_err(failed)?;
    let back = there.inverse().map_err(failed)?;
    Ok(Way { there, back, step: OperationStep { code: None, name, accuracy: None, reversed: false } })
}
