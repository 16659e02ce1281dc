//! `Plan`: what a read would do.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use strile::device::Decode;
use strile::read::{Fetch, ReadPlan};

/// What a read would do.
#[pyclass(frozen, module = "strile._core")]
pub(crate) struct Plan {
    explained: String,
    engine: String,
    reason: String,
    fallback: Option<String>,
    figures: Figures,
}

/// Numbers of a plan.
struct Figures {
    bands: u32,
    rows: u32,
    columns: u32,
    dtype: &'static str,
    output_bytes: u64,
    mosaic: Option<strile::read::MosaicFigures>,
    counts: strile::read::PlanFigures,
    fetch: &'static str,
    staging_bytes: u64,
    scratch_bytes_per_thread: u64,
    host_bytes: u64,
    device_bytes: u64,
}

impl Plan {
    /// The plan of a read; whether it asks for a GPU, to decode or to hold the result.
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
            figures: Figures {
                bands: plan.output.bands,
                rows: plan.output.rows,
                columns: plan.output.columns,
                dtype: plan.output.data_type.name(),
                output_bytes: plan.memory.output,
                mosaic: plan.mosaics,
                counts: plan.figures(),
                fetch,
                staging_bytes: plan.memory.staging,
                scratch_bytes_per_thread: plan.memory.scratch_per_thread,
                host_bytes: plan.memory.host,
                device_bytes: plan.memory.device,
            },
        }
    }
}

/// Why not all of it is done on a GPU.
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
    /// It all, in words.
    fn explain(&self) -> &str {
        &self.explained
    }

    /// Which engine decodes: "cpu" or "cuda:N".
    #[getter]
    fn engine(&self) -> &str {
        &self.engine
    }

    /// Why that one.
    #[getter]
    fn reason(&self) -> &str {
        &self.reason
    }

    /// Why some or all of it is not done on the GPU that was asked for; None where all is.
    #[getter]
    fn fallback(&self) -> Option<&str> {
        self.fallback.as_deref()
    }

    /// Numbers: shape and type of the result, blocks, bytes and memory.
    #[getter]
    fn figures<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        let figures = &self.figures;
        dict.set_item("bands", figures.bands)?;
        dict.set_item("rows", figures.rows)?;
        dict.set_item("columns", figures.columns)?;
        dict.set_item("dtype", figures.dtype)?;
        dict.set_item("output_bytes", figures.output_bytes)?;
        dict.set_item("blocks", figures.counts.blocks)?;
        dict.set_item("sparse", figures.counts.sparse)?;
        dict.set_item("cached", figures.counts.cached)?;
        dict.set_item("cached_bytes", figures.counts.cached_bytes)?;
        dict.set_item("encoded_bytes", figures.counts.encoded_bytes)?;
        dict.set_item("ranges", figures.counts.ranges)?;
        dict.set_item("range_bytes", figures.counts.range_bytes)?;
        dict.set_item("batches", figures.counts.batches)?;
        dict.set_item("engine_batches", figures.counts.engine_batches)?;
        dict.set_item("fetch", figures.fetch)?;
        dict.set_item("staging_bytes", figures.staging_bytes)?;
        dict.set_item("scratch_bytes_per_thread", figures.scratch_bytes_per_thread)?;
        dict.set_item("host_bytes", figures.host_bytes)?;
        dict.set_item("device_bytes", figures.device_bytes)?;
        if let Some(strile::read::MosaicFigures { tiles, gaps, blended, blended_on_host, .. }) =
            figures.mosaic
        {
            dict.set_item("tiles", tiles)?;
            dict.set_item("gaps", gaps)?;
            dict.set_item("blended", blended)?;
            dict.set_item("blended_on_host", blended_on_host)?;
        }
        Ok(dict)
    }

    fn __repr__(&self) -> String {
        format!("<strile.Plan on {}>\n{}", self.engine, self.explained)
    }
}
