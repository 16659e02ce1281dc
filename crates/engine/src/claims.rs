//! A job held against what it is given: outputs that are there, of the right type, in memory the engine writes, and free.

use crate::{Claim, DecodeJob, EngineError, Location, Output};
use std::collections::BTreeMap;

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
    for task in job.tasks() {
        let stored = job.layouts().get(task.layout as usize).map(|layout| layout.data_type);
        let wanted = claims.get(&task.output).map(|claim| claim.spec().data_type);
        if let (Some(stored), Some(wanted)) = (stored, wanted)
            && stored != wanted
        {
            return Err(mismatch(format!("{wanted} in output {}", task.output), stored.to_string()));
        }
    }
    Ok(claims)
}
