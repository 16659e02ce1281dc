//! The reference system that a file states, if its keys agree.

use super::misstated;
use crate::error::{Misstated, Result};
use strile_tiff::geo::{Crs, CrsKind, GeoKeys, Georeference, key};

/// The reference system of a file, for display.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StatedCrs {
    /// The EPSG code of the whole system.
    pub epsg: Option<u32>,
    /// Its WKT, or a text intended as a definition.
    pub wkt: Option<String>,
}

impl StatedCrs {
    /// Returns the system of the georeferencing of the file `name`. Fails if keys contradict each other, and if a text
    /// intended as a definition cannot be parsed, unless `allow_unparseable`.
    pub fn of(georeference: &Georeference, allow_unparseable: bool, name: &str) -> Result<Self> {
        let keys = &georeference.keys;
        check_consistent(keys, name)?;
        let crs = georeference.crs.as_ref().or(georeference.gcp_crs.as_ref());
        let code = keys.code(key::PROJECTED_CRS).or(keys.code(key::GEODETIC_CRS));
        if crs.is_none_or(|crs| crs.kind == CrsKind::Local)
            && code.is_none()
            && let Some(text) = citation(keys)
        {
            if let Err(problem) = Crs::from_user_input(text)
                && !allow_unparseable
            {
                let shown: String = text.chars().take(60).collect();
                let problem = format!(
                    "the reference system {shown:?} cannot be understood ({problem}): pass \
                     `allow_unparseable_crs` to keep the text"
                );
                return Err(misstated(name, Misstated::CrsText, problem));
            }
            return Ok(Self { epsg: None, wkt: Some(text.to_owned()) });
        }
        Ok(crs.map_or_else(Self::default, |crs| Self { epsg: crs.epsg, wkt: crs.wkt.clone() }))
    }

    /// Returns whether no system is stated.
    pub fn is_empty(&self) -> bool {
        self.epsg.is_none() && self.wkt.is_none()
    }
}

/// Returns the text of a citation that is a definition rather than a name.
fn citation(keys: &GeoKeys) -> Option<&str> {
    const WKT: [&str; 14] = [
        "PROJCS",
        "PROJCRS",
        "GEOGCS",
        "GEOGCRS",
        "GEODCRS",
        "GEODETICCRS",
        "GEOCCS",
        "COMPD_CS",
        "COMPOUNDCRS",
        "LOCAL_CS",
        "ENGCRS",
        "BOUNDCRS",
        "VERT_CS",
        "VERTCRS",
    ];
    let places = [key::PROJECTED_CITATION, key::CITATION, key::GEODETIC_CITATION];
    places.into_iter().filter_map(|place| keys.text(place)).find_map(|text| {
        let text = text.trim().trim_matches(['|', '\0']).trim();
        let starts = |word: &&str| text.get(..word.len()).is_some_and(|head| head.eq_ignore_ascii_case(word));
        (WKT.iter().any(starts) && text.contains('[')).then_some(text)
    })
}

fn check_consistent(keys: &GeoKeys, name: &str) -> Result<()> {
    let (projected, geographic) = (keys.code(key::PROJECTED_CRS), keys.code(key::GEODETIC_CRS));
    let problem = match (keys.short(key::MODEL_TYPE), projected, geographic) {
        (Some(2), Some(code), _) => {
            format!("the model is geographic and a projected system is stated (EPSG:{code})")
        }
        (Some(1), _, Some(code))
            if !keys.values.contains_key(&key::PROJECTED_CRS) && citation(keys).is_none() =>
        {
            format!("the model is projected and only a geographic system is stated (EPSG:{code})")
        }
        _ => return Ok(()),
    };
    Err(misstated(name, Misstated::GeoKeys, problem))
}
