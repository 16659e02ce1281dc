//! Files from afar: many are waited for at once, and the failure that is told is that of the first file.

use crate::made::{UINT16, bytes_of, spec};
use std::io;
use std::sync::{Arc, Condvar, Mutex, mpsc};
use std::time::Duration;
use strile::batch::BatchWindow;
use strile::io::{ReadDone, ReadOp, Source, Version};
use strile::tiff::ByteOrder;
use strile::{BatchOptions, Context, Dataset, OpenOptions, read_batch};
use strile_engine::ReadAt;
use testkit::{Codec, Grid, ImageSpec, Pattern, Pixels};

/// Where those who read meet: none is answered before so many ask at once.
#[derive(Default)]
struct Meeting {
    count: Mutex<Count>,
    changed: Condvar,
}

#[derive(Default)]
struct Count {
    wanted: usize,
    here: usize,
    most: usize,
    /// They did not come.
    missed: bool,
}

impl Meeting {
    /// From now on.
    fn want(&self, wanted: usize) {
        *self.count.lock().unwrap() = Count { wanted, ..Count::default() };
    }

    fn come(&self) {
        let mut count = self.count.lock().unwrap();
        count.here += 1;
        count.most = count.most.max(count.here);
        self.changed.notify_all();
        let waits = |count: &mut Count| count.most < count.wanted && !count.missed;
        let (mut count, waited) =
            self.changed.wait_timeout_while(count, Duration::from_secs(20), waits).unwrap();
        count.missed |= waited.timed_out();
        count.here -= 1;
    }

    /// The most that were there at once.
    fn most(&self) -> usize {
        let count = self.count.lock().unwrap();
        assert!(!count.missed, "{} of {} came", count.most, count.wanted);
        count.most
    }
}

/// A source that answers on the thread that asks.
struct Asked {
    name: String,
    bytes: Vec<u8>,
    meeting: Arc<Meeting>,
    /// Its answer is a failure, after so long.
    fails: Mutex<Option<Duration>>,
}

impl Source for Asked {
    fn name(&self) -> &str {
        &self.name
    }

    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn version(&self) -> Version {
        Version { len: self.len(), mark: String::new() }
    }

    fn submit(&self, ops: Vec<ReadOp>, done: &mpsc::Sender<ReadDone>, _cancel: &strile::Cancel) {
        self.meeting.come();
        let fails = *self.fails.lock().unwrap();
        std::thread::sleep(fails.unwrap_or_default());
        for ReadOp { id, offset, mut into } in ops {
            let result = match fails {
                None => {
                    let len = into.len();
                    into.copy_from_slice(&self.bytes[offset as usize..][..len]);
                    Ok(())
                }
                Some(_) => Err(io::Error::new(io::ErrorKind::ConnectionReset, "connection reset")),
            };
            done.send(ReadDone { id, into, result }).unwrap();
        }
    }

    fn local(&self) -> Option<Arc<dyn ReadAt>> {
        None
    }
}

fn files(count: usize, bytes: &[u8]) -> (Arc<Meeting>, Vec<Arc<Asked>>, Vec<Dataset>) {
    let meeting = Arc::new(Meeting::default());
    let source = |number: usize| {
        let (name, meeting) = (format!("far/{number}.tif"), Arc::clone(&meeting));
        Arc::new(Asked { name, bytes: bytes.to_vec(), meeting, fails: Mutex::default() })
    };
    let sources: Vec<_> = (0..count).map(source).collect();
    let open = |source: &Arc<Asked>| {
        Dataset::from_source(Arc::clone(source) as Arc<dyn Source>, &OpenOptions::default()).unwrap()
    };
    let files = sources.iter().map(open).collect();
    (meeting, sources, files)
}

fn windows(count: usize) -> Vec<BatchWindow> {
    (0..count).map(|file| BatchWindow::of_pixels(file, 10, 20, (30, 30))).collect()
}

#[test]
fn blocks_of_many_files_are_waited_for_at_once() {
    let (meeting, _, files) = files(40, &bytes_of(&spec(Codec::Deflate), 1));
    let context = Context::default();
    meeting.want(32);
    let batch = read_batch(&files, &windows(40), &BatchOptions::default(), &context).unwrap();
    assert_eq!(meeting.most(), 32, "as many as are allowed");
    let pixels: Vec<u8> = batch.into_host(&context).unwrap().into_bytes().unwrap();
    let each = pixels.len() / 40;
    assert!(pixels.chunks(each).all(|window| window == &pixels[..each]));
}

#[test]
fn tables_of_many_files_are_waited_for_at_once() {
    // Tables as large as these are left in the file.
    let spec = ImageSpec::new(UINT16).grid(Grid::Strips(1));
    let pixels = Pixels::generate(Pattern::Noise, UINT16, [1, 70_000, 1], 3);
    let (meeting, _, files) = files(8, &spec.build(&pixels, ByteOrder::Little, false).bytes);
    let window = |file| BatchWindow::of_pixels(file, 0, 60_000, (1, 5));
    let windows: Vec<_> = (0..8).map(window).collect();
    meeting.want(8);
    strile::batch::plan_batch(
        strile::Location::Host,
        &files,
        &windows,
        &BatchOptions::default(),
        &Context::default(),
    )
    .unwrap();
    assert_eq!(meeting.most(), 8);
}

#[test]
fn the_first_file_that_fails_is_told_whichever_is_answered_first() {
    let (_, sources, files) = files(40, &bytes_of(&spec(Codec::Deflate), 1));
    for (file, millis) in [(5, 200), (6, 0), (20, 100), (39, 0)] {
        *sources[file].fails.lock().unwrap() = Some(Duration::from_millis(millis));
    }
    for _ in 0..3 {
        let found = read_batch(&files, &windows(40), &BatchOptions::default(), &Context::default());
        assert_eq!(found.err().unwrap().to_string(), "far/5.tif: connection reset");
    }
}

#[test]
fn answers_under_way_are_counted_as_memory() {
    let (_, _, files) = files(4, &bytes_of(&spec(Codec::None), 2));
    let read = |memory: u64| {
        let context = Context { budget: Arc::new(strile::engine::Budget::new(memory)), ..Context::default() };
        read_batch(&files, &windows(4), &BatchOptions::default(), &context)
            .err()
            .map(|error| error.to_string())
    };
    // In each file two tiles of 64 × 48, one below the other, are asked for with the two between them.
    let tiles = 4 * 4 * 64 * 48 * 3 * 2;
    let problem = read(tiles + 100_000).unwrap();
    assert!(problem.contains("answers of remote files"), "{problem}");
    assert_eq!(read(3 * tiles), None);
}
