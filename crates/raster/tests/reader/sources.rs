//! The sources that tests read from: memory, and one that behaves as a bucket does and keeps a list of requests.

use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, mpsc};
use strile::io::{MemorySource, ReadDone, ReadOp, Source, Version};
use strile::{Context, Dataset, OpenOptions, ReadOptions};
use strile_engine::ReadAt;
use testkit::{Pixels, Random};

/// Bytes that no thread can read at once: requests go out together and are answered from another thread, in any
/// order. What was asked for is kept.
pub struct Bucket {
    bytes: Arc<Vec<u8>>,
    trouble: Option<Trouble>,
    /// Its ETag.
    pub mark: String,
    seed: u64,
    requests: Mutex<Vec<Vec<Range<u64>>>>,
}

/// What happens to a request that touches a byte.
#[derive(Clone, Copy)]
pub enum Trouble {
    /// It fails with the words of a network.
    Refused(u64),
    /// It ends before its last byte.
    Short(u64),
}

impl Bucket {
    pub fn new(bytes: &[u8]) -> Self {
        let (bytes, mark) = (Arc::new(bytes.to_vec()), "1".to_owned());
        Self { bytes, trouble: None, mark, seed: 5, requests: Mutex::default() }
    }

    pub fn with(self, trouble: Trouble) -> Self {
        Self { trouble: Some(trouble), ..self }
    }

    /// Ranges asked for since the last time, one list for each call.
    pub fn requests(&self) -> Vec<Vec<Range<u64>>> {
        std::mem::take(&mut self.requests.lock().unwrap())
    }
}

impl Source for Bucket {
    fn name(&self) -> &str {
        "bucket"
    }

    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn version(&self) -> Version {
        Version { len: self.len(), mark: self.mark.clone() }
    }

    fn submit(&self, mut ops: Vec<ReadOp>, done: &mpsc::Sender<ReadDone>, _cancel: &strile::Cancel) {
        let ranges = ops.iter().map(|op| op.offset..op.offset + op.into.len() as u64).collect();
        self.requests.lock().unwrap().push(ranges);
        let mut random = Random::new(self.seed);
        for at in (1..ops.len()).rev() {
            ops.swap(at, random.below(at + 1));
        }
        let (bytes, trouble, done) = (Arc::clone(&self.bytes), self.trouble, done.clone());
        std::thread::spawn(move || {
            for ReadOp { id, offset, mut into } in ops {
                let range = offset as usize..offset as usize + into.len();
                let touches = |at: u64| range.contains(&(at as usize));
                let result = match (trouble, bytes.get(range.clone())) {
                    (Some(Trouble::Refused(at)), _) if touches(at) => {
                        Err(io::Error::new(io::ErrorKind::ConnectionReset, "connection reset by the bucket"))
                    }
                    (Some(Trouble::Short(at)), _) if touches(at) => Err(io::ErrorKind::UnexpectedEof.into()),
                    (_, Some(bytes)) => {
                        into.copy_from_slice(bytes);
                        Ok(())
                    }
                    (_, None) => Err(io::ErrorKind::UnexpectedEof.into()),
                };
                // A reader that gave up does not listen any more.
                let _gave_up = done.send(ReadDone { id, into, result });
            }
        });
    }

    fn local(&self) -> Option<Arc<dyn ReadAt>> {
        None
    }
}

/// A file in memory, opened.
pub fn open(bytes: &[u8]) -> Dataset {
    let source = Arc::new(MemorySource::new("made.tif", bytes.to_vec()));
    Dataset::from_source(source, &OpenOptions::default()).unwrap()
}

/// The same bytes in a bucket, opened.
pub fn open_bucket(bytes: &[u8]) -> (Arc<Bucket>, Dataset) {
    let bucket = Arc::new(Bucket::new(bytes));
    let dataset = Dataset::from_source(Arc::<Bucket>::clone(&bucket), &OpenOptions::default()).unwrap();
    (bucket, dataset)
}

/// A read that must succeed.
pub fn read(dataset: &Dataset, options: &ReadOptions) -> strile::Pixels {
    dataset.read(options, &Context::default()).unwrap()
}

/// A read that must fail, in words.
pub fn refusal(dataset: &Dataset, options: &ReadOptions) -> String {
    dataset.read(options, &Context::default()).err().unwrap().to_string()
}

/// A band-first result as the test kit's pixels.
pub fn pixels_of(raster: &strile::Pixels) -> Pixels {
    Pixels {
        bands: raster.bands as usize,
        height: raster.rows as usize,
        width: raster.columns as usize,
        data_type: raster.data_type,
        bytes: raster.bytes().unwrap().to_vec(),
    }
}
