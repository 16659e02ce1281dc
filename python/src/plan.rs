//! `Plan`: what a read would do.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use strile::{Decode, Fetch, Location, ReadPlan};

/// What a read would do.
#[pyclass(frozen, module = "strile._core")]
pub(crate) struct Plan {
    explained: String,
    engine: String,
    reason: String,
    fallback: Option<String>,
    figures: Figures,
}

/// Numbers of a plan; those of blocks are of a file alone.
struct Figures {
    bands: u32,
    rows: u32,
    columns: u32,
    dtype: &'static str,
    output_bytes: u64,
    of_file: Option<OfFile>,
}

struct OfFile {
    counts: strile::PlanFigures,
    fetch: &'static str,
    staging_bytes: u64,
    scratch_bytes_per_thread: u64,
    device_bytes: u64,
}

impl Plan {
    /// The plan of a read of a file; whether it asks for a GPU, to decode or to hold the result.
    pub(crate) fn of_file(plan: &ReadPlan, asks_gpu: bool) -> Self {
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
                of_file: Some(OfFile {
                    counts: plan.figures(),
                    fetch,
                    staging_bytes: plan.memory.staging,
                    scratch_bytes_per_thread: plan.memory.scratch_per_thread,
                    device_bytes: plan.memory.device,
                }),
            },
        }
    }

    /// The plan of a read of a mosaic: the CPU lays source upon source.
    pub(crate) fn of_mosaic(name: &str, pieces: &strile::Pieces, asks_gpu: bool) -> Self {
        let strile::Pieces { data_type, bands, rows, columns, blocks: sources, .. } = *pieces;
        let samples = [bands, rows, columns].iter().fold(1u64, |all, &n| all.saturating_mul(n.into()));
        let reason = "a VRT is read by the CPU, source upon source";
        Self {
            explained: format!(
                "read     {name}, {columns} × {rows} pixels\nengine   cpu ({reason})\nsources  up to {sources} a band\n\
                 output   {bands} bands × {rows} × {columns} {data_type}"
            ),
            engine: "cpu".to_owned(),
            reason: reason.to_owned(),
            fallback: asks_gpu.then(|| reason.to_owned()),
            figures: Figures {
                bands,
                rows,
                columns,
                dtype: data_type.name(),
                output_bytes: samples.saturating_mul(data_type.size() as u64),
                of_file: None,
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
        Decode::Kernels | Decode::Nvcomp(_) | Decode::Nvjpeg(_) => {}
    }
    let on_host = plan.destination == Location::Host;
    let steps: Vec<&str> =
        plan.after.iter().map(String::as_str).filter(|step| !step.starts_with("copied to")).collect();
    if on_host && !steps.is_empty() {
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
        let Figures { bands, rows, columns, dtype, output_bytes, of_file } = &self.figures;
        dict.set_item("bands", bands)?;
        dict.set_item("rows", rows)?;
        dict.set_item("columns", columns)?;
        dict.set_item("dtype", dtype)?;
        dict.set_item("output_bytes", output_bytes)?;
        if let Some(file) = of_file {
            dict.set_item("blocks", file.counts.blocks)?;
            dict.set_item("sparse", file.counts.sparse)?;
            dict.set_item("encoded_bytes", file.counts.encoded_bytes)?;
            dict.set_item("ranges", file.counts.ranges)?;
            dict.set_item("range_bytes", file.counts.range_bytes)?;
            dict.set_item("batches", file.counts.batches)?;
            dict.set_item("fetch", file.fetch)?;
            dict.set_item("staging_bytes", file.staging_bytes)?;
            dict.set_item("scratch_bytes_per_thread", file.scratch_bytes_per_thread)?;
            dict.set_item("device_bytes", file.device_bytes)?;
        }
        Ok(dict)
    }

    fn __repr__(&self) -> String {
        format!("<strile.Plan on {}>\n{}", self.engine, self.explained)
    }
}
