//! A job held against what it is given: outputs that are there, of the right type, in memory the engine writes, and free.

use crate::{Claim, Convert, DecodeJob, EngineError, Location, Output};
use std::collections::BTreeMap;
use strile_tiff::DataType;

/// Claims the boxes a job writes, by index of the output; `writes` says which memory the engine can write.
pub fn claim_outputs(
    job: &DecodeJob,
    outputs: &[Output],
    writes: impl Fn(Location) -> Result<(), &'static str>,
) -> Result<BTreeMap<u32, Claim>, EngineError> {
    let mismatch =
        |found: String, expected: String| EngineError::Mismatch { what: "outputs", found, expected };
    let mut claims = BTreeMap::new();
    for (&index, wanted) in job.boxes() {
        let output = outputs
            .get(index as usize)
            .ok_or_else(|| mismatch(format!("{} outputs", outputs.len()), format!("output {index}")))?;
        writes(output.location())
            .map_err(|expected| mismatch(output.location().to_string(), expected.to_owned()))?;
        let spec = output.spec();
        if wanted.bands.1 > spec.bands || wanted.rows.1 > spec.rows || wanted.columns.1 > spec.columns {
            return Err(mismatch(
                format!("{} × {} × {} samples in output {index}", spec.bands, spec.rows, spec.columns),
                format!("{} × {} × {} or more", wanted.bands.1, wanted.rows.1, wanted.columns.1),
            ));
        }
        claims.insert(index, output.claim(*wanted).ok_or(EngineError::Busy { output: index })?);
    }
    let mut nodata_types: BTreeMap<u32, DataType> = BTreeMap::new();
    for task in job.tasks() {
        let stored = job.layouts().get(task.layout as usize).map(|layout| layout.data_type);
        let Some((stored, claim)) = stored.zip(claims.get(&task.output)) else { continue };
        let wanted = claim.spec().data_type;
        let found = || format!("{wanted} in output {}", task.output);
        let Some(convert) = claim.output().convert() else {
            if stored == wanted {
                continue;
            }
            let or = if Convert::takes(stored) { ", or an output of floats that converts" } else { "" };
            return Err(mismatch(found(), format!("{stored}{or}")));
        };
        if !Convert::takes(stored) {
            return Err(mismatch(
                format!("{} that converts", found()),
                format!("{stored}, which has no conversion, as it is"),
            ));
        }
        // The nodata value is a sample of the stored type.
        let first = *nodata_types.entry(task.output).or_insert(stored);
        if convert.nodata.is_some() && first != stored {
            return Err(mismatch(
                format!("{first} and {stored} for output {}, which makes one nodata value NaN", task.output),
                "blocks of one type".to_owned(),
            ));
        }
    }
    Ok(claims)
}
