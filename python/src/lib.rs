//! The core of the Python package: converts arguments, calls strile, converts results. The Python modules wrap it for users.

mod arguments;
mod array;
mod attributes;
mod batch;
mod cache;
mod call;
mod categories;
mod centres;
mod command_line;
mod commands;
mod convert;
mod count;
mod crs;
mod dataset;
mod device;
mod dict;
mod dlpack;
mod error;
mod facts;
mod figures;
mod grid;
mod held;
mod mosaic;
mod onto;
mod parts;
mod piece;
mod placement;
mod plan;
mod raster;
mod reading;
mod remote;
mod request;
mod shared;
mod sink;
mod source;
mod spec;
mod tags;
mod view;
mod vrt_index;
mod write_options;
mod writer;

use pyo3::prelude::*;

/// Cuts every URL in a text to scheme, host and path, without credentials.
#[pyfunction]
fn redacted(text: &str) -> String {
    strile::io::redacted(text)
}

/// Adds classes, then functions of files.
macro_rules! add {
    ($to:expr; $($class:ty),*; $($file:ident::{$($function:ident),*}),*) => {
        $($to.add_class::<$class>()?;)*
        $($($to.add_function(wrap_pyfunction!($file::$function, $to)?)?;)*)*
    };
}

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    strile::engine::share_heap_if_limited();
    add!(
        module;
        batch::Headers, dataset::Dataset, grid::Grid, placement::Placement, onto::Onto, plan::Plan,
        raster::Raster, remote::Remote, request::Execution, request::Layout, request::Meaning,
        request::Place, request::ReadOptions, view::Viewer, spec::RasterSpec, write_options::WriteOptions,
        convert::ConvertOptions, writer::Writer, parts::Parts, shared::SharedObject, parts::PartWriter,
        parts::Assembly;
        attributes::{check_nodata, check_level, placed, placed_on, scaling, stated, words},
        batch::{read_batch, write_header_index},
        cache::{cache_stats, clear_cache, set_cache_folder, set_cache_limit}, call::{_panic},
        categories::{aux_xml, categories}, centres::{checked_transform, place},
        command_line::{command_line}, commands::{add_overviews, remove_overviews, validate_cog, compare},
        convert::{convert, convert_many}, count::{count_missing}, crs::{crs}, dataset::{same_version},
        device::{devices}, figures::{measure, sample, picture}, mosaic::{one_array}, onto::{files},
        placement::{placement, scaled, moved, extent, pixel_size, labels, placed_at, stored_window},
        reading::{read_files, plan_files}, remote::{check_host}, sink::{check_target},
        vrt_index::{write_vrt, write_tiles, write_style, color_ramps}
    );
    module.add_function(wrap_pyfunction!(redacted, module)?)
}
