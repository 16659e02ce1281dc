//! The plan of a read onto a grid: that of all its parts, and the positions of files under the grid.

use super::ask::Brought;
use super::deliver::fill_job;
use super::onto::{FILLED_AT_ONCE, Given, MOST_BYTES, OntoRead, PIXELS};
use super::onto_cut::Seen;
use super::plan::ReadPlan;
use super::reading::{len, place_of};
use crate::error::Result;
use crate::grid::{Top, WarpFile, WarpPlan};
use crate::window::Window;
use std::sync::Arc;
use strile_engine::{Engine, EngineError, EngineMemory, Held, Location, OutputKind, Submission, Supply};

impl OntoRead<'_> {
    /// Returns the position of each file under the grid.
    pub(crate) fn files(&self) -> Vec<WarpFile> {
        self.told(&vec![Seen::default(); self.files.len()])
    }

    fn told(&self, seen: &[Seen]) -> Vec<WarpFile> {
        // A batch has a grid per window.
        let grid = match self.chips.as_slice() {
            [chip] => Some(&chip.grid),
            _ => None,
        };
        let mut files: Vec<WarpFile> = self
            .files
            .iter()
            .zip(seen)
            .map(|(file, seen)| WarpFile {
                name: file.of.name().to_owned(),
                crs: file.placed.grid.crs().clone(),
                operation: file.placed.operation(),
                placed_by: file.placed.placed_by.clone(),
                level: file.placed.level,
                level_size: (file.placed.grid.width(), file.placed.grid.height()),
                ratio: file.placed.ratio,
                points: seen.points,
                exact: seen.exact,
                windows: seen.windows,
                window: seen.under,
                is_outside: grid.is_some_and(|grid| file.placed.is_outside(grid)),
            })
            .collect();
        if self.onto.warp.top == Top::First {
            files.reverse();
        }
        files
    }

    /// Plans the read without touching a pixel.
    pub(crate) fn explained(&self, to: Location) -> Result<ReadPlan> {
        let (mosaics, quiet) = (self.mosaics(), self.quiet());
        let calls = mosaics.calls((&self.options.execution, to), &quiet);
        let given = self.given(&calls)?;
        let need = len(&given.spec);
        match to {
            Location::Host => self.context.budget.fits(need, PIXELS)?,
            Location::Cuda(_) if need > MOST_BYTES => {
                return Err(self.refuse(format!("a result of {need} bytes; read windows of the grid")));
            }
            Location::Cuda(_) => {}
        }
        let (mut plan, mut parts) = (None::<ReadPlan>, 0);
        let mut by: Option<Arc<dyn Engine>> = None;
        let cut = self.parts(to, |part, decode_on| {
            let (made, maps) = ((&given, &calls, false), part.maps);
            let ((mut part, engine), _) = self.part((part, decode_on), made, to, |reading| {
                let engine = Arc::clone(&reading.choice.engine);
                Ok((reading.explained()?, engine))
            })?;
            part.memory.host = part.memory.host.saturating_add(maps);
            match &mut plan {
                Some(plan) => plan.add(&part),
                None => plan = Some(part),
            }
            parts += 1;
            by = Some(Arc::clone(&engine));
            Ok(engine)
        })?;
        let mut plan = plan.ok_or(EngineError::Abandoned)?;
        if let Some(engine) = by {
            self.finished(&mut plan, (engine.as_ref(), to), (&given, &cut.empty))?;
        }
        let warp = &self.onto.warp;
        let first = self.chips.first().ok_or(EngineError::Abandoned)?;
        plan.onto = Some(WarpPlan {
            grid: first.grid.clone(),
            window: first.window,
            windows: self.chips.len(),
            sampling: warp.resampling,
            tolerance: warp.tolerance,
            files: self.told(&cut.seen),
            parts,
        });
        if self.is_mask {
            self.of_mask(&mut plan)?;
            plan.after.push(format!("the mask where the result has a value {}", place_of(to)));
        } else if self.options.meaning.look_for.is_some() {
            plan.after.push(format!("searched for a value {}", place_of(plan.destination)));
        }
        Ok(plan)
    }

    /// Adds the steps after all parts: parts without a file are filled, and the result is moved to its place.
    fn finished(
        &self,
        plan: &mut ReadPlan,
        (engine, to): (&dyn Engine, Location),
        (given, empty): (&Given, &[(usize, Window)]),
    ) -> Result<()> {
        let (spec, need, here) = (&given.spec, len(&given.spec), engine.location());
        let at = |place: Location, bytes: u64| match place {
            Location::Host => Held { host: bytes, device: 0 },
            Location::Cuda(_) => Held { host: 0, device: bytes },
        };
        let destination = plan.destination;
        let mut add = |held: Held, batches: usize| {
            plan.figures.engine_batches += batches;
            plan.memory.host = plan.memory.host.max(held.host);
            plan.memory.device = plan.memory.device.max(held.device);
        };
        let sum = |held: Held, (host, device): (u64, u64)| Held {
            host: held.host.saturating_add(host),
            device: held.device.saturating_add(device),
        };
        let held = at(here, need);
        let outputs = [OutputKind { data_type: spec.data_type, location: here, converts: false }];
        for boxes in empty.chunks(FILLED_AT_ONCE) {
            let job = fill_job(spec, (boxes, self.count()), given.fill)?;
            let plan = engine.plan(
                &job,
                &Submission { supply: Supply::Staged, outputs: &outputs, held },
                self.context,
            )?;
            let EngineMemory { host, device, .. } = plan.memory;
            add(sum(held, (host, device)), plan.batches);
        }
        if here != destination {
            let held = at(to, need);
            let brought = Brought::new(spec, (engine, to), held, self.context)?;
            add(sum(held, (brought.host, brought.device)), brought.batches);
        }
        Ok(())
    }

    /// Changes the plan of pixels to that of the mask that is computed from them.
    fn of_mask(&self, plan: &mut ReadPlan) -> Result<()> {
        let pixels = len(&plan.output);
        plan.output = self.mask_spec(&plan.output)?;
        plan.shape = [1, 1, plan.output.rows, plan.output.columns];
        let memory = &mut plan.memory;
        memory.output = len(&plan.output);
        let both = pixels.saturating_add(memory.output);
        match plan.destination {
            Location::Host => memory.host = memory.host.max(both),
            Location::Cuda(_) => memory.device = memory.device.max(both),
        }
        Ok(())
    }
}
