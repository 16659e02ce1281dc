//! A plan for callers: batches, byte ranges, memory, and the decoder of each block.

use crate::decode::batch::{Route, Why, aligned};
use crate::decode::codec;
use crate::decode::picture::ranges;
use crate::decode::plan::{Chosen, Libraries, Plan, crop_len, is_host, landing_len};
use std::sync::Arc;
use strile_engine::{
    BlockLayout, BlockTask, Context, DecodeJob, Decoder, Engine, EngineError, EngineMemory, EnginePlan, Held,
    Location, OutputKind, Placement, Routes, Span, Submission, Supply,
};

/// A plan and the job it was made for.
pub(crate) struct Explained<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) job: &'a DecodeJob,
    pub(crate) submission: &'a Submission<'a>,
    pub(crate) host: &'a dyn Engine,
    pub(crate) context: &'a Context,
}

impl Explained<'_> {
    pub(crate) fn explain(&self, libraries: Libraries<'_>) -> Result<EnginePlan, EngineError> {
        let Self { plan, job, submission, .. } = self;
        let left = self.left()?;
        let pictures = plan.pictures.iter().map(|pictures| pictures.batches(|count| plan.tables_len(count)));
        let batches = plan.batches.len() + pictures.sum::<usize>();
        let (mut count, mut bytes) = (0, 0u64);
        if submission.supply == Supply::Pulled {
            let mut read = |len: u64| {
                count += 1;
                bytes = bytes.saturating_add(len);
            };
            plan.batches.iter().flat_map(|batch| &batch.reads).for_each(|range| read(range.len));
            for pictures in &plan.pictures {
                let wanted = pictures.wanted(job);
                let threads = self.context.threads.get().min(wanted.len());
                ranges(&wanted, threads).iter().for_each(|range| read(range.len));
            }
            (count, bytes) = (count + left.ranges, bytes.saturating_add(left.range_bytes));
        }
        // Pixels that come back from the device are placed before the host decodes the remaining blocks.
        let place = self.placing()?;
        let host = plan.host().saturating_add(place.host.max(left.memory.host));
        let per_worker = place.per_worker.max(left.memory.per_worker);
        let memory = EngineMemory { host, per_worker, device: plan.memory };
        Ok(EnginePlan { batches, ranges: count, range_bytes: bytes, memory, routes: self.routes(libraries) })
    }

    fn routes(&self, libraries: Libraries<'_>) -> Vec<strile_engine::Route> {
        let how: Vec<_> = self.job.layouts().iter().map(|layout| libraries.how(layout)).collect();
        let mut routes = Routes::default();
        let mut before: Option<&BlockTask> = None;
        for (task, route) in self.job.tasks().iter().zip(&self.plan.routes) {
            let again = before.is_some_and(|before| task.is_of_same_block(before));
            before = Some(task);
            let (Some(how), Some(_)) = (how.get(task.layout as usize), task.span) else { continue };
            let Chosen { library, declined } =
                how.as_ref().map(|(_, chosen)| chosen.clone()).unwrap_or_default();
            let (decoder, reason) = match (route, library) {
                (Route::Host(why), _) => (Decoder::Host, Some(why.words(how.as_ref().err()))),
                (_, Some((name, why))) => (Decoder::Library(name), Some(why)),
                (Route::Device(Some(kernel)), None) if codec::is_split(kernel) => {
                    (Decoder::Kernels, Some("too few to fill the device one by one".to_owned()))
                }
                (_, None) => (Decoder::Kernels, None),
            };
            let (layout, blocks) = (task.layout, usize::from(!again));
            routes.add(strile_engine::Route { layout, decoder, reason, declined, blocks });
        }
        routes.into_routes()
    }

    /// Returns the plan of the host engine for the blocks left to it.
    fn left(&self) -> Result<EnginePlan, EngineError> {
        let Self { plan, job, submission, .. } = self;
        let tasks = job.tasks().iter().zip(&plan.routes);
        let tasks: Vec<BlockTask> = tasks
            .filter(|(_, route)| matches!(route, Route::Host(_)))
            .map(|(task, _)| task.clone())
            .collect();
        if tasks.is_empty() {
            return Ok(EnginePlan::default());
        }
        // For outputs on the device they are decoded into pinned memory, as many at once as one upload holds.
        let up = tasks.iter().filter(|task| !is_host(submission.outputs, task));
        let up =
            up.fold(0u64, |sum, task| sum.saturating_add(aligned(crop_len(job, submission.outputs, task))));
        let up = up.min(plan.memory);
        let there = |output: &OutputKind| OutputKind { location: Location::Host, ..*output };
        let outputs: Vec<OutputKind> = submission.outputs.iter().map(there).collect();
        let held =
            Held { host: submission.held.host.saturating_add(plan.host()).saturating_add(up), device: 0 };
        let job = DecodeJob::new(job.layouts().to_vec(), job.selections().to_vec(), tasks);
        let job = job.map_err(|_| EngineError::Abandoned)?;
        let submission = Submission { outputs: &outputs, held, ..**submission };
        let mut left = self.host.plan(&job, &submission, self.context)?;
        left.memory.host = left.memory.host.saturating_add(up);
        Ok(left)
    }

    /// Returns the host memory for placing pixels that come back from the device: at most the largest of them per
    /// worker.
    fn placing(&self) -> Result<EngineMemory, EngineError> {
        let Self { plan, job, submission, .. } = self;
        let outputs = submission.outputs;
        let landing = |task: &BlockTask| landing_len(job, outputs, task);
        let back = job.tasks().iter().zip(&plan.routes).filter(|(_, route)| !matches!(route, Route::Host(_)));
        let back = back.map(|(task, _)| task).filter(|task| landing(task) > 0);
        let (count, largest) = back.fold((0usize, None::<&BlockTask>), |(count, largest), task| {
            let larger = largest.is_none_or(|known| landing(known) < landing(task));
            (count + 1, if larger { Some(task) } else { largest })
        });
        let Some((task, output)) =
            largest.and_then(|task| Some((task, outputs.get(task.output as usize).copied()?)))
        else {
            return Ok(EngineMemory::default());
        };
        let bands = job.selections().get(task.selection as usize).map_or(1, Vec::len);
        let samples = u16::try_from(bands).unwrap_or(u16::MAX);
        let Placement { width, height, .. } = task.placement;
        let span = Some(Span { offset: 0, len: landing(task).max(1) });
        let (out_x, out_y, first_band) = (0, 0, 0);
        let (block_x, block_y, rows, image_rows) = (0, 0, height, height);
        let placement =
            Placement { rows, image_rows, block_x, block_y, width, height, out_x, out_y, first_band };
        let placed =
            BlockTask { source: 0, layout: 0, selection: 0, output: 0, span, placement, ..task.clone() };
        let layout = Arc::new(BlockLayout::stored(output.data_type, (width, height), samples));
        let one = DecodeJob::new(vec![layout], vec![(0..samples).collect()], vec![placed]);
        let one = one.map_err(|_| EngineError::Abandoned)?;
        let outputs = [OutputKind { converts: false, ..output }];
        let submission = Submission { supply: Supply::Pulled, outputs: &outputs, held: submission.held };
        let memory = self.host.plan(&one, &submission, self.context)?.memory;
        let tasks = count.saturating_mul(bands.max(1));
        let held = submission.held.host.saturating_add(plan.host());
        let wanted = self.context.threads.get().min(tasks);
        let workers = self.context.budget.workers(memory.per_worker, wanted, held) as u64;
        Ok(EngineMemory { host: memory.per_worker.saturating_mul(workers), ..memory })
    }
}

impl Why {
    /// Returns why the host decodes a block; `no_kernel` is the reason of its layout.
    fn words(self, no_kernel: Option<&String>) -> String {
        match self {
            Self::NoKernel => no_kernel.cloned().unwrap_or_default(),
            Self::Size => "kernels do not take blocks of this size".to_owned(),
            Self::Long(longest) => {
                format!("longer than {} MiB, each would hold the device for long", longest >> 20)
            }
            Self::Memory => "larger than the memory of the device".to_owned(),
        }
    }
}
