//! One batch is one job: one allocation, and for each codec one copy of tables, one launch and one wait, however many
//! windows and files.

use crate::made::{bytes_of, device, spec};
use crate::sources::open;
use std::sync::Arc;
use strile::batch::{BatchWindow, Sampling, plan_batch, read_batch_on_device};
use strile::{BatchOptions, Context, Dataset, Location, Processor};
use strile_emulate::{Call, StandIn};
use testkit::{Codec, Random};

fn count(calls: &[Call], name: &str) -> usize {
    calls.iter().filter(|call| call.name == name).count()
}

/// The calls of a read once pinned memory is at hand: how many pieces are in use at once is a matter of time, so that the
/// first reads may pin one more.
fn settled(standin: &StandIn, read: impl Fn()) -> Vec<Call> {
    for _ in 0..10 {
        standin.calls();
        read();
        let calls = standin.calls();
        assert_eq!(count(&calls, "!"), 0, "misuse");
        if count(&calls, "cuMemHostAlloc") == 0 {
            return calls;
        }
    }
    panic!("every read pins memory");
}

/// Files of three codecs, of three bands each.
fn files(count: u64) -> Vec<Arc<Dataset>> {
    let codecs = [Codec::Deflate, Codec::Zstd, Codec::Lzw];
    let file = |seed: u64| {
        let spec = spec(codecs[seed as usize % 3].clone());
        Arc::new(open(&bytes_of(&spec, 2 * seed)))
    };
    (0..count).map(file).collect()
}

#[test]
fn one_arena_and_a_codec_one_upload_of_tables_and_one_launch() {
    let device = device();
    if std::env::var_os("STRILE_REQUIRE_GPU").is_some_and(|value| value == "1") {
        eprintln!("skipped: a device is required, and this looks at the calls of the stand-in");
        return;
    }
    let standin = StandIn::load().unwrap().alone();
    let mut random = Random::new(2);
    let mut launches = Vec::new();
    for (many, windows) in [(3, 6), (12, 60)] {
        let files = files(many);
        let mut window = || {
            // All in the first tile of their file, so that what is read stays below a slab.
            let (x, y) = (random.below(60) as i64 - 20, random.below(44) as i64 - 20);
            BatchWindow::of_pixels(random.below(files.len()), x, y, (24, 24))
        };
        let mut windows: Vec<_> = (0..windows).map(|_| window()).collect();
        // At least one window of each codec, and one over the edge.
        for (file, window) in windows.iter_mut().take(3).enumerate() {
            *window = BatchWindow::of_pixels(file, -5, 10, (24, 24));
        }
        let options = BatchOptions::new().decode_on(device);
        let context = Context::default();
        let calls = settled(&standin, || {
            let tensor = read_batch_on_device(0, &files, &windows, &options, &context).unwrap();
            assert_eq!(tensor.report.host_blocks, 0);
        });
        assert_eq!(count(&calls, "cuMemAllocFromPoolAsync"), 2, "the tensor and one arena");
        let up = "a slab and the tables of each codec, and the tables of what is outside";
        assert_eq!(count(&calls, "cuMemcpyHtoDAsync_v2"), 3 + 3 + 1, "{up}");
        assert_eq!(count(&calls, "cuMemcpyDtoHAsync_v2"), 3, "all statuses of a codec at once");
        launches.push(count(&calls, "cuLaunchKernel"));
    }
    assert_eq!(launches[0], launches[1], "launches do not grow with windows or files");
}

/// Windows of training overlap: what each of them shows of a block is placed, the block is read and decoded once.
#[test]
fn a_block_that_many_windows_show_is_decoded_once() {
    let files = files(3);
    let windows: Vec<_> = (0..60)
        .map(|at| BatchWindow::of_pixels(at % 3, at as i64 % 7 - 3, at as i64 % 5, (24, 24)))
        .collect();
    let context = Context::default();
    for device in [Processor::Cpu, device()] {
        let options = BatchOptions::new().decode_on(device);
        let read = |windows: &[BatchWindow]| {
            let plan = plan_batch(Location::Cuda(0), &files, windows, &options, &context).unwrap().figures();
            let report = read_batch_on_device(0, &files, windows, &options, &context).unwrap().report;
            (plan.blocks, plan.encoded_bytes, report.encoded_bytes)
        };
        let (blocks, encoded, taken) = read(&windows);
        assert_eq!((blocks, taken), (3, encoded), "{device:?}");
        assert_eq!(read(&windows[..3]), (blocks, encoded, taken), "{device:?}");
    }
}

/// Windows are resampled where they were decoded: one launch more, and nothing comes back to the host but statuses.
#[test]
fn resampling_is_one_launch_on_the_device() {
    let device = device();
    if std::env::var_os("STRILE_REQUIRE_GPU").is_some_and(|value| value == "1") {
        eprintln!("skipped: a device is required, and this looks at the calls of the stand-in");
        return;
    }
    let standin = StandIn::load().unwrap().alone();
    let files = files(6);
    let windows: Vec<_> =
        (0..30).map(|at| BatchWindow::of_pixels(at % 6, at as i64 - 5, at as i64 % 20, (20, 20))).collect();
    let context = Context::default();
    let calls = |size: Option<(u32, u32)>| {
        let mut options = BatchOptions::new().decode_on(device).sampling(Sampling::Average);
        options.size = size;
        let calls = settled(&standin, || {
            drop(read_batch_on_device(0, &files, &windows, &options, &context).unwrap())
        });
        ["cuMemAllocFromPoolAsync", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuLaunchKernel"]
            .map(|name| count(&calls, name))
    };
    let [allocations, up, down, launches] = calls(None);
    let [more, more_up, same_down, more_launches] = calls(Some((9, 7)));
    // What was decoded and the table of windows; what is outside its image is no part of it, nor are tables of that.
    assert_eq!((more, more_up, same_down), (allocations + 2, up + 1 - 1, down));
    assert!((launches..=launches + 1).contains(&more_launches), "{launches}, {more_launches}");
}
