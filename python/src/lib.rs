//! The core of the Python package: converts, calls strile, converts back. What users see is made of it in Python.

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
mod given;
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

/// Text with every URL in it cut to scheme, host and path: without credentials.
#[pyfunction]
fn redacted(text: &str) -> String {
    strile::io::redacted(text)
}

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    strile::engine::share_heap_if_limited();
    module.add_class::<batch::Headers>()?;
    module.add_class::<dataset::Dataset>()?;
    module.add_class::<grid::Grid>()?;
    module.add_class::<placement::Placement>()?;
    module.add_class::<onto::Onto>()?;
    module.add_class::<plan::Plan>()?;
    module.add_class::<raster::Raster>()?;
    module.add_class::<remote::Remote>()?;
    module.add_class::<request::Execution>()?;
    module.add_class::<request::Layout>()?;
    module.add_class::<request::Meaning>()?;
    module.add_class::<request::Place>()?;
    module.add_class::<request::ReadOptions>()?;
    module.add_class::<view::Viewer>()?;
    module.add_class::<spec::RasterSpec>()?;
    module.add_class::<write_options::WriteOptions>()?;
    module.add_class::<convert::ConvertOptions>()?;
    module.add_class::<writer::Writer>()?;
    module.add_class::<parts::Parts>()?;
    module.add_class::<shared::SharedObject>()?;
    module.add_class::<parts::PartWriter>()?;
    module.add_class::<parts::Assembly>()?;
    module.add_function(wrap_pyfunction!(redacted, module)?)?;
    module.add_function(wrap_pyfunction!(remote::check_host, module)?)?;
    module.add_function(wrap_pyfunction!(attributes::check_nodata, module)?)?;
    module.add_function(wrap_pyfunction!(attributes::check_level, module)?)?;
    module.add_function(wrap_pyfunction!(attributes::placed, module)?)?;
    module.add_function(wrap_pyfunction!(attributes::placed_on, module)?)?;
    module.add_function(wrap_pyfunction!(attributes::scaling, module)?)?;
    module.add_function(wrap_pyfunction!(attributes::stated, module)?)?;
    module.add_function(wrap_pyfunction!(attributes::words, module)?)?;
    module.add_function(wrap_pyfunction!(categories::aux_xml, module)?)?;
    module.add_function(wrap_pyfunction!(categories::categories, module)?)?;
    module.add_function(wrap_pyfunction!(placement::placement, module)?)?;
    module.add_function(wrap_pyfunction!(placement::scaled, module)?)?;
    module.add_function(wrap_pyfunction!(placement::moved, module)?)?;
    module.add_function(wrap_pyfunction!(placement::extent, module)?)?;
    module.add_function(wrap_pyfunction!(placement::pixel_size, module)?)?;
    module.add_function(wrap_pyfunction!(placement::labels, module)?)?;
    module.add_function(wrap_pyfunction!(placement::placed_at, module)?)?;
    module.add_function(wrap_pyfunction!(mosaic::one_array, module)?)?;
    module.add_function(wrap_pyfunction!(reading::read_files, module)?)?;
    module.add_function(wrap_pyfunction!(reading::plan_files, module)?)?;
    module.add_function(wrap_pyfunction!(onto::files, module)?)?;
    module.add_function(wrap_pyfunction!(call::_panic, module)?)?;
    module.add_function(wrap_pyfunction!(batch::read_batch, module)?)?;
    module.add_function(wrap_pyfunction!(batch::write_header_index, module)?)?;
    module.add_function(wrap_pyfunction!(cache::cache_stats, module)?)?;
    module.add_function(wrap_pyfunction!(cache::clear_cache, module)?)?;
    module.add_function(wrap_pyfunction!(cache::set_cache_folder, module)?)?;
    module.add_function(wrap_pyfunction!(cache::set_cache_limit, module)?)?;
    module.add_function(wrap_pyfunction!(count::count_missing, module)?)?;
    module.add_function(wrap_pyfunction!(convert::convert, module)?)?;
    module.add_function(wrap_pyfunction!(convert::convert_many, module)?)?;
    module.add_function(wrap_pyfunction!(command_line::command_line, module)?)?;
    module.add_function(wrap_pyfunction!(commands::add_overviews, module)?)?;
    module.add_function(wrap_pyfunction!(commands::remove_overviews, module)?)?;
    module.add_function(wrap_pyfunction!(commands::validate_cog, module)?)?;
    module.add_function(wrap_pyfunction!(figures::measure, module)?)?;
    module.add_function(wrap_pyfunction!(figures::sample, module)?)?;
    module.add_function(wrap_pyfunction!(figures::picture, module)?)?;
    module.add_function(wrap_pyfunction!(commands::compare, module)?)?;
    module.add_function(wrap_pyfunction!(crs::crs, module)?)?;
    module.add_function(wrap_pyfunction!(dataset::same_version, module)?)?;
    module.add_function(wrap_pyfunction!(vrt_index::write_vrt, module)?)?;
    module.add_function(wrap_pyfunction!(vrt_index::write_tiles, module)?)?;
    module.add_function(wrap_pyfunction!(vrt_index::write_style, module)?)?;
    module.add_function(wrap_pyfunction!(vrt_index::color_ramps, module)?)?;
    module.add_function(wrap_pyfunction!(centres::checked_transform, module)?)?;
    module.add_function(wrap_pyfunction!(centres::place, module)?)?;
    module.add_function(wrap_pyfunction!(device::devices, module)?)
}
