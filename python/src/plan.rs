//! Provides `Plan`, the plan of a read.

use crate::dict::dict;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use strile::device::Decode;
use strile::engine::OutputSpec;
use strile::read::{Fetch, MemoryNeed, MosaicFigures, PlanFigures, ReadPlan};

/// The plan of a read.
#[pyclass(frozen, module = "strile._core")]
pub(crate) struct Plan {
    explained: String,
    engine: String,
    reason: String,
    fallback: Option<String>,
    output: OutputSpec,
    memory: MemoryNeed,
    mosaics: Option<MosaicFigures>,
    counts: PlanFigures,
    fetch: &'static str,
}

impl Plan {
    /// Makes the plan of a read; `asks_gpu`: it asks for a GPU, to decode or to hold the result.
    pub(crate) fn new(plan: &ReadPlan, asks_gpu: bool) -> Self {
        let fetch = match plan.fetch {
            Fetch::Pulled => "pulled",
            Fetch::Direct => "direct",
            Fetch::Staged => "staged",
        };
        Self {
            explained: plan.to_string(),
            engine: plan.engine.clone(),
            reason: plan.engine_reason.clone(),
            fallback: fallback(plan).filter(|_| asks_gpu),
            output: plan.output.clone(),
            memory: plan.memory,
            mosaics: plan.mosaics,
            counts: plan.figures(),
            fetch,
        }
    }
}

/// Returns why not all work is done on a GPU.
fn fallback(plan: &ReadPlan) -> Option<String> {
    let mut reasons = Vec::new();
    match &plan.decode {
        Decode::Cpu => reasons.push(format!("the CPU decodes: {}", plan.engine_reason)),
        Decode::Host(reason) => reasons.push(format!("blocks are decoded on the host: {reason}")),
        Decode::Kernels | Decode::Library { .. } => {}
    }
    let on_host = plan.mosaics.map(|mosaics| mosaics.blended_on_host);
    if let Some(blended) = on_host.filter(|&blended| blended > 0) {
        reasons.push(format!("blended on the host: {blended} sources of the mosaic"));
    }
    let steps: Vec<&str> = plan.after.iter().filter_map(|step| step.strip_suffix(" on the host")).collect();
    if !steps.is_empty() {
        reasons.push(format!("done on the host: {}", steps.join(", ")));
    }
    (!reasons.is_empty()).then(|| reasons.join("; "))
}

#[pymethods]
impl Plan {
    /// Returns the plan as text.
    fn explain(&self) -> &str {
        &self.explained
    }

    /// Returns the engine that decodes: "cpu" or "cuda:N".
    #[getter]
    fn engine(&self) -> &str {
        &self.engine
    }

    /// Returns why that engine was chosen.
    #[getter]
    fn reason(&self) -> &str {
        &self.reason
    }

    /// Returns why some or all work is not done on the requested GPU; None if all is.
    #[getter]
    fn fallback(&self) -> Option<&str> {
        self.fallback.as_deref()
    }

    /// Returns shape and type of the result, blocks, bytes and memory.
    #[getter]
    fn figures<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let Self { output, memory, counts, .. } = self;
        let dict = dict!(
            py; output { bands, rows, columns }, "dtype" => output.data_type.name(), "output_bytes" => memory.output,
        );
        let counts = dict!(
            py; counts { blocks, sparse, cached, cached_bytes, encoded_bytes, ranges, range_bytes, batches, engine_batches },
            "fetch" => self.fetch, "staging_bytes" => memory.staging,
            "scratch_bytes_per_thread" => memory.scratch_per_thread, "host_bytes" => memory.host, "device_bytes" => memory.device,
        );
        dict.update(counts.as_mapping())?;
        if let Some(mosaics) = self.mosaics {
            dict.update(dict!(py; mosaics { tiles, gaps, blended, blended_on_host }).as_mapping())?;
        }
        Ok(dict)
    }

    fn __repr__(&self) -> String {
        format!("<strile.Plan on {}>\n{}", self.engine, self.explained)
    }
}
