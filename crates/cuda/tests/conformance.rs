//! What every engine must do, done by the CUDA engine: on a device where one is asked for (`STRILE_REQUIRE_GPU=1`),
//! else on the stand-in driver, which runs the same kernels on the CPU.

mod on_any;

use on_any::engine;

strile_conformance::for_each_engine! { cuda: engine().map(|engine| Box::new(engine) as Box<dyn strile_engine::Engine>) }
