//! Checks of a job against its outputs: that they exist, have the right type, lie in memory that the engine writes, and
//! are free.

use crate::{Claim, Convert, DecodeJob, EngineError, Location, Output};
use std::collections::BTreeMap;
use strile_tiff::DataType;

/// Claims the boxes that a job writes, by output index. `writable` lists the memory that the engine writes.
pub fn claim_outputs(
    job: &DecodeJob,
    outputs: &[Output],
    writable: &[Location],
) -> Result<BTreeMap<u32, Claim>, EngineError> {
    let mismatch =
        |found: String, expected: String| EngineError::Mismatch { what: "outputs", found, expected };
    // Outputs in the same memory are claimed together, others separately.
    let mut domains: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
    for (&index, wanted) in job.boxes() {
        let output = outputs
            .get(index as usize)
            .ok_or_else(|| mismatch(format!("{} outputs", outputs.len()), format!("output {index}")))?;
        let location = output.location();
        if !writable.contains(&location) {
            let expected: Vec<_> = writable.iter().map(Location::to_string).collect();
            return Err(mismatch(location.to_string(), expected.join(" or ")));
        }
        let spec = output.spec();
        if wanted.bands.1 > spec.bands || wanted.rows.1 > spec.rows || wanted.columns.1 > spec.columns {
            return Err(mismatch(
                format!("{} × {} × {} samples in output {index}", spec.bands, spec.rows, spec.columns),
                format!("{} × {} × {} or more", wanted.bands.1, wanted.rows.1, wanted.columns.1),
            ));
        }
        domains.entry(output.domain()).or_default().push(index);
    }
    let mut claims = BTreeMap::new();
    for shared in domains.into_values() {
        if shared.len() > 1 {
            job.check_together(&shared).map_err(|error| {
                mismatch(
                    format!("outputs {shared:?} in the same memory, where {error}"),
                    "disjoint tasks".into(),
                )
            })?;
        }
        let wanted = |index: &u32| Some((outputs.get(*index as usize)?, *job.boxes().get(index)?));
        let wanted: Vec<_> = shared.iter().filter_map(wanted).collect();
        let busy = EngineError::Busy { output: shared.first().copied().unwrap_or_default() };
        claims.extend(shared.into_iter().zip(Output::claim_together(&wanted).ok_or(busy)?));
    }
    let mut nodata_types: BTreeMap<u32, DataType> = BTreeMap::new();
    // Tasks in a row with the same layout and output are checked together.
    for alike in job.tasks().chunk_by(|a, b| (a.layout, a.output) == (b.layout, b.output)) {
        let Some(task) = alike.first() else { continue };
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BlockAddress, BlockLayout, BlockTask, OutputBox, OutputSpec, Placement};
    use std::sync::Arc;

    /// Returns a job that fills `columns` of a row of eight samples in each of its outputs.
    fn filling(parts: &[(u32, u32, u32)]) -> DecodeJob {
        let layout = Arc::new(BlockLayout::stored(DataType::U8, (8, 1), 1));
        let task = |&(output, start, end): &(u32, u32, u32)| BlockTask {
            source: 0,
            layout: 0,
            selection: 0,
            output,
            span: None,
            address: BlockAddress::default(),
            placement: Placement {
                rows: 1,
                image_rows: 1,
                block_x: 0,
                block_y: 0,
                width: end - start,
                height: 1,
                out_x: start,
                out_y: 0,
                first_band: 0,
            },
        };
        DecodeJob::new(vec![layout], vec![vec![0]], parts.iter().map(task).collect()).unwrap()
    }

    /// Bug: tasks were compared only within an output, although several outputs can be delegates of one claim.
    #[test]
    fn tasks_in_delegates_of_one_claim_do_not_overlap() {
        let output = Output::new(OutputSpec::band_first(DataType::U8, 1, 1, 8).unwrap()).unwrap();
        let all = OutputBox { bands: (0, 1), rows: (0, 1), columns: (0, 8) };
        let claim = Arc::new(output.claim(all).unwrap());
        let outputs = [claim.delegate(), claim.delegate()];
        let claimed = |parts: &[(u32, u32, u32)]| claim_outputs(&filling(parts), &outputs, &[Location::Host]);
        // The bounding boxes of the outputs overlap, their tasks do not.
        let held = claimed(&[(0, 0, 2), (1, 2, 4), (0, 4, 6)]).unwrap();
        assert_eq!(held.len(), 2);
        assert_eq!(claimed(&[(1, 5, 7)]).err(), Some(EngineError::Busy { output: 1 }));
        drop(held);
        let refused = claimed(&[(0, 0, 3), (1, 2, 4)]).err().unwrap().to_string();
        assert!(refused.contains("tasks 0 and 1 write the same samples"), "{refused}");
        assert!(claimed(&[(1, 5, 7)]).is_ok(), "what was refused holds nothing");
    }
}
