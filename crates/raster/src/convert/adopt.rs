//! Copies blocks without decoding them if the input stores them like the output.

use super::reads::Requests;
use crate::error::{Error, Result};
use crate::file::dataset::{Dataset, Target};
use crate::file::open::io_error;
use crate::options::ReadOptions;
use crate::read::{Fetched, coalesce, is_turned, layout_of, locate, requests_of};
use crate::source::Source;
use crate::window::Window;
use crate::write::{PredictorChoice, RasterSpec, WriteOptions, Writer, chosen_layout};
use std::ops::Range;
use std::sync::Arc;
use strile_engine::{BlockAddress, BlockLayout, Context, Fill, Span};
use strile_tiff::gdal::NoData;
use strile_tiff::{BlockKind, Compression};

/// Bytes of blocks that are read at once.
const READ_BYTES: u64 = 16 << 20;

/// Blocks that are read at once.
type Batch = [(BlockAddress, Option<Span>)];

/// The blocks of an image that can be copied.
pub(crate) struct Adopted<'a> {
    target: Target<'a>,
    layout: Arc<BlockLayout>,
}

impl<'a> Adopted<'a> {
    /// Returns the blocks, if the whole image is converted and nothing about their storage changes.
    pub(crate) fn find(
        input: &'a Dataset,
        read: &ReadOptions,
        spec: &RasterSpec,
        write: &WriteOptions,
    ) -> Result<Option<Self>> {
        let target = input.target(&read.place)?;
        let image = &*target.image;
        let whole = read.place.reduce == 0
            && target.window == Window::full(image.width, image.height)
            && target.bands.iter().copied().eq(1..=image.samples)
            && !is_turned(image, read.layout)
            && !read.meaning.invert_min_is_white;
        // A requested level, quality or encoder applies to every block; NaN and sparse blocks need pixels.
        let as_is = write.level.is_none()
            && write.quality.is_none()
            && write.nvcomp_effort.is_none()
            && !write.nvjpeg2000
            && write.lossless.is_none()
            && write.max_error == 0.0
            && !write.nan_to_nodata
            && !write.sparse;
        let Some(mut own) = layout_of(image, Fill::default()) else { return Ok(None) };
        // A sparse block holds nodata: with another nodata value it would hold other pixels.
        let fill = |nodata: Option<NoData>| nodata.and_then(|value| value.to_sample(spec.data_type));
        let same_nodata = fill(spec.metadata.nodata) == fill(input.metadata().nodata);
        if !whole || !as_is || !same_nodata || own.mixed_bits.is_some() || own.reverse_bits {
            return Ok(None);
        }
        // The writer reports what cannot be written, with the name of its file.
        let Ok(wanted) = chosen_layout(spec, write) else { return Ok(None) };
        let same = own.width == wanted.width
            && own.height == wanted.height
            && own.is_strip == wanted.is_strip
            && own.samples == wanted.samples
            && own.sample == wanted.sample
            && own.byte_order == wanted.byte_order
            && own.compression == wanted.compression
            && (own.predictor == wanted.predictor || write.predictor == PredictorChoice::Auto)
            && own.extras.lerc == wanted.extras.lerc
            && same_colours(&own, &wanted);
        // A grid that ends elsewhere (a strip with more rows than the image) is another grid.
        let same_grid = image.grid.kind == BlockKind::Tile || own.height <= image.height;
        // The options may declare another meaning of the same samples.
        own.extras.photometric = wanted.extras.photometric;
        Ok((same && same_grid).then(|| Self { target, layout: Arc::new(own) }))
    }

    /// Returns the layout of the stored blocks.
    pub(crate) fn layout(&self) -> Arc<BlockLayout> {
        Arc::clone(&self.layout)
    }

    /// Copies all blocks, in the order of the output.
    pub(crate) fn copy(self, writer: &mut Writer, context: &Context) -> Result<()> {
        self.batches(context, |batch| self.copy_batch(batch, writer, context))?;
        let source = self.target.file.source.as_ref();
        source.check_unchanged().map_err(|error| io_error(source, error))
    }

    /// Counts the requests that copying sends.
    pub(super) fn count(&self, requests: &mut Requests, context: &Context) -> Result<()> {
        let source = self.target.file.source.as_ref();
        self.batches(context, |batch| {
            for range in coalesce(&ranges_of(batch), gap_of(source)) {
                let (count, bytes) = requests_of(&range, source);
                requests.add(count, bytes);
            }
            Ok(())
        })
    }

    /// Passes the blocks to `give` in batches that are read at once, in the order of the output.
    fn batches(&self, context: &Context, mut give: impl FnMut(&Batch) -> Result<()>) -> Result<()> {
        let Target { file, image, .. } = &self.target;
        let grid = &image.grid;
        let decoded = self.layout.decoded_len(self.layout.height).ok_or(Error::Cancelled)?;
        let mut batch = Vec::new();
        let mut bytes = 0;
        for row in 0..grid.down {
            if context.cancel.is_cancelled() {
                return Err(Error::Cancelled);
            }
            // A row of blocks of every plane at a time, so that tables of any size are read in pieces.
            let runs: Vec<_> = (0..grid.planes)
                .map(|plane| {
                    let first = grid.index(0, row, plane);
                    first..first + u64::from(grid.across)
                })
                .collect();
            let spans = locate(file.source.as_ref(), image, decoded, &runs, &context.cancel)?;
            for column in 0..grid.across {
                for plane in 0..u32::from(grid.planes) {
                    let at = plane as usize * grid.across as usize + column as usize;
                    let span = spans.get(at).copied().flatten();
                    bytes += span.map_or(0, |span| span.len);
                    batch.push((BlockAddress { level: 0, row, column, plane }, span));
                    if bytes >= READ_BYTES {
                        give(&std::mem::take(&mut batch))?;
                        bytes = 0;
                    }
                }
            }
        }
        give(&batch)
    }

    fn copy_batch(&self, batch: &Batch, writer: &mut Writer, context: &Context) -> Result<()> {
        if context.cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        let source = self.target.file.source.as_ref();
        let fetched = Fetched::fetch(source, &ranges_of(batch), gap_of(source), &context.cancel)?;
        for (address, span) in batch {
            let range = span.map(|span| span.offset..span.offset + span.len);
            writer.adopt(*address, range.and_then(|range| fetched.bytes(&range)))?;
        }
        if let Some(progress) = &context.progress {
            progress.advance(batch.len() as u64);
        }
        Ok(())
    }
}

/// Returns the distance up to which blocks of a remote file are fetched by one request.
fn gap_of(source: &dyn Source) -> u64 {
    if source.local().is_some() { 0 } else { source.merge_gap() }
}

fn ranges_of(batch: &Batch) -> Vec<Range<u64>> {
    batch.iter().filter_map(|(_, span)| *span).map(|span| span.offset..span.offset + span.len).collect()
}

/// Returns whether samples are stored as the same colours. The photometric interpretation only matters to picture
/// codecs.
fn same_colours(own: &BlockLayout, wanted: &BlockLayout) -> bool {
    use Compression as C;
    let knows = matches!(own.compression, C::Jpeg | C::WebP | C::Jpeg2000);
    let subsampling = |layout: &BlockLayout| layout.extras.ycbcr.map(|ycbcr| ycbcr.subsampling);
    subsampling(own) == subsampling(wanted) && (own.extras.photometric == wanted.extras.photometric || !knows)
}
