//! The tests that every engine must pass: behaviours, each a function of an engine, over jobs made by hand.
//!
//! A crate with an engine has one test file that stamps them out with `for_each_engine!`. They are a crate and not a feature
//! of `strile-engine`: a feature that only tests turn on would compile everything above it twice. Blocks are stored without
//! compression, so that what is tested is the contract and not a codec; but JPEG and JPEG 2000 are decoded everywhere alike.
//! A layout that an engine does not support (`Engine::support`) is left out; what it supports must come out as on any other
//! engine.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "code of tests: it fails by panicking, and knows its numbers"
)]

mod blend;
mod convert;
mod encode;
mod find;
mod finish;
mod flight;
mod jobs;
mod kinds;
mod pictures;
mod placement;
mod plan;
mod reduce;
mod samples;
mod streams;

use strile_engine::Engine;

/// A test of an engine.
pub type Behaviour = fn(&dyn Engine);

/// Every behaviour and its name.
pub const BEHAVIOURS: &[(&str, Behaviour)] = &[
    ("any_crop_equals_the_crop_of_the_whole", placement::any_crop_equals_the_crop_of_the_whole),
    ("blocks_at_the_edges_are_cut", placement::blocks_at_the_edges_are_cut),
    ("bands_come_in_the_order_asked_for", placement::bands_come_in_the_order_asked_for),
    (
        "bands_of_wide_rows_come_in_the_order_asked_for",
        placement::bands_of_wide_rows_come_in_the_order_asked_for,
    ),
    ("planes_make_one_output", placement::planes_make_one_output),
    ("bytes_between_strides_stay", placement::bytes_between_strides_stay),
    ("one_job_over_two_files", placement::one_job_over_two_files),
    ("any_cut_into_jobs_gives_the_same_pixels", placement::any_cut_into_jobs_gives_the_same_pixels),
    ("staged_equals_pulled", placement::staged_equals_pulled),
    ("as_many_samples_as_a_layout_can_have", placement::as_many_samples_as_a_layout_can_have),
    ("sparse_blocks_get_the_fill_value", flight::sparse_blocks_get_the_fill_value),
    ("a_faulty_block_gets_the_fill_value", flight::a_faulty_block_gets_the_fill_value),
    ("faults_come_in_the_order_of_tasks", flight::faults_come_in_the_order_of_tasks),
    ("two_tickets_in_flight", flight::two_tickets_in_flight),
    ("a_small_job_is_done_by_the_thread_that_waits", flight::a_small_job_is_done_by_the_thread_that_waits),
    ("what_another_job_writes_is_busy", flight::what_another_job_writes_is_busy),
    ("cancelling_stops_a_job", flight::cancelling_stops_a_job),
    ("cancelling_stops_a_job_under_way", flight::cancelling_stops_a_job_under_way),
    ("the_budget_can_refuse", flight::the_budget_can_refuse),
    ("a_job_must_fit_what_it_is_given", flight::a_job_must_fit_what_it_is_given),
    ("progress_counts_every_block", flight::progress_counts_every_block),
    ("a_plan_says_what_is_done", plan::a_plan_says_what_is_done),
    ("a_plan_leaves_room_for_what_the_caller_holds", plan::a_plan_leaves_room_for_what_the_caller_holds),
    ("bits_reversed_in_every_byte", samples::bits_reversed_in_every_byte),
    ("byte_order_is_of_whole_bytes", samples::byte_order_is_of_whole_bytes),
    ("predictor_2_adds_up_each_sample", samples::predictor_2_adds_up_each_sample),
    ("predictor_3_does_not_depend_on_the_byte_order", samples::predictor_3_does_not_depend_on_the_byte_order),
    ("chroma_units_become_rgb", samples::chroma_units_become_rgb),
    ("jpeg2000_keeps_every_sample", streams::jpeg2000_keeps_every_sample),
    ("jpeg_has_the_pixels_of_libjpeg", streams::jpeg_has_the_pixels_of_libjpeg),
    ("a_broken_picture_leaves_others_alone", streams::a_broken_picture_leaves_others_alone),
    ("samples_become_floats", convert::samples_become_floats),
    ("only_real_samples_are_converted", convert::only_real_samples_are_converted),
    ("a_value_is_found_where_it_is_written", find::a_value_is_found_where_it_is_written),
    ("converted_samples_are_searched", find::converted_samples_are_searched),
    ("finished_pixels_are_searched", find::finished_pixels_are_searched),
    ("values_are_replaced", find::values_are_replaced),
    ("images_are_turned_every_way", finish::images_are_turned_every_way),
    ("samples_are_changed_and_turned", finish::samples_are_changed_and_turned),
    ("a_finish_job_must_fit_its_pixels", finish::a_finish_job_must_fit_its_pixels),
    ("layers_are_laid_as_gdal_does", blend::layers_are_laid_as_gdal_does),
    ("a_layer_must_fit_its_output", blend::a_layer_must_fit_its_output),
    ("encoding_keeps_every_sample", encode::encoding_keeps_every_sample),
    ("fax_keeps_every_pixel", encode::fax_keeps_every_pixel),
    ("what_cannot_be_encoded_is_said_before", encode::what_cannot_be_encoded_is_said_before),
    ("the_bound_holds_for_the_worst", encode::the_bound_holds_for_the_worst),
    ("bytes_do_not_depend_on_threads_or_jobs", encode::bytes_do_not_depend_on_threads_or_jobs),
    ("the_edge_is_repeated", encode::the_edge_is_repeated),
    ("far_padding_is_one_value", encode::far_padding_is_one_value),
    ("strides_of_pixels_are_followed", encode::strides_of_pixels_are_followed),
    ("sparse_blocks_are_left_out", encode::sparse_blocks_are_left_out),
    ("nan_becomes_the_sentinel", encode::nan_becomes_the_sentinel),
    ("values_without_a_place_are_faults", encode::values_without_a_place_are_faults),
    (
        "an_encode_job_is_held_against_what_it_is_given",
        encode::an_encode_job_is_held_against_what_it_is_given,
    ),
    ("one_job_encodes_two_layouts", encode::one_job_encodes_two_layouts),
    ("every_method_reduces_as_written", reduce::every_method_reduces_as_written),
    ("parts_of_a_reduced_image_agree_with_the_whole", reduce::parts_of_a_reduced_image_agree_with_the_whole),
    ("reducing_does_not_depend_on_threads", reduce::reducing_does_not_depend_on_threads),
    ("a_reduce_job_must_fit_its_pixels", reduce::a_reduce_job_must_fit_its_pixels),
    ("cancelling_stops_reducing", reduce::cancelling_stops_reducing),
];

/// Runs a behaviour on an engine. Without an engine it prints a line that counts the test as skipped; with
/// `STRILE_REQUIRE_GPU=1` it fails.
pub fn run(name: &str, engine: Result<Box<dyn Engine>, String>) {
    let required = std::env::var_os("STRILE_REQUIRE_GPU").is_some_and(|value| value == "1");
    if let Some(reason) = run_or_skip(name, engine, required) {
        println!("skipped: no device: {reason}");
    }
}

/// Runs a behaviour on an engine. Returns why it was skipped, where there is no engine and none is required.
pub fn run_or_skip(name: &str, engine: Result<Box<dyn Engine>, String>, required: bool) -> Option<String> {
    let (_, behaviour) = BEHAVIOURS.iter().find(|(known, _)| *known == name).unwrap();
    match engine {
        Ok(engine) => {
            behaviour(engine.as_ref());
            None
        }
        Err(reason) if required => panic!("STRILE_REQUIRE_GPU is 1 and there is no device: {reason}"),
        Err(reason) => Some(reason),
    }
}

/// A module of tests for each engine, by its name and how it is made: `Ok` of a box, or the reason why there is none.
///
/// ```ignore
/// strile_conformance::for_each_engine! { cpu: Ok(Box::new(CpuEngine::new())) }
/// ```
#[macro_export]
macro_rules! for_each_engine {
    ($($engine:ident: $make:expr),+ $(,)?) => {
        $(mod $engine {
            use super::*;
            $crate::conformance_tests! { $make;
                any_crop_equals_the_crop_of_the_whole
                blocks_at_the_edges_are_cut
                bands_come_in_the_order_asked_for
                bands_of_wide_rows_come_in_the_order_asked_for
                planes_make_one_output
                bytes_between_strides_stay
                one_job_over_two_files
                any_cut_into_jobs_gives_the_same_pixels
                staged_equals_pulled
                as_many_samples_as_a_layout_can_have
                sparse_blocks_get_the_fill_value
                a_faulty_block_gets_the_fill_value
                faults_come_in_the_order_of_tasks
                two_tickets_in_flight
                a_small_job_is_done_by_the_thread_that_waits
                what_another_job_writes_is_busy
                cancelling_stops_a_job
                cancelling_stops_a_job_under_way
                the_budget_can_refuse
                a_job_must_fit_what_it_is_given
                progress_counts_every_block
                a_plan_says_what_is_done
                a_plan_leaves_room_for_what_the_caller_holds
                bits_reversed_in_every_byte
                byte_order_is_of_whole_bytes
                predictor_2_adds_up_each_sample
                predictor_3_does_not_depend_on_the_byte_order
                chroma_units_become_rgb
                jpeg2000_keeps_every_sample
                jpeg_has_the_pixels_of_libjpeg
                a_broken_picture_leaves_others_alone
                samples_become_floats
                only_real_samples_are_converted
                a_value_is_found_where_it_is_written
                converted_samples_are_searched
                finished_pixels_are_searched
                values_are_replaced
                images_are_turned_every_way
                samples_are_changed_and_turned
                a_finish_job_must_fit_its_pixels
                layers_are_laid_as_gdal_does
                a_layer_must_fit_its_output
                encoding_keeps_every_sample
                fax_keeps_every_pixel
                what_cannot_be_encoded_is_said_before
                the_bound_holds_for_the_worst
                bytes_do_not_depend_on_threads_or_jobs
                the_edge_is_repeated
                far_padding_is_one_value
                strides_of_pixels_are_followed
                sparse_blocks_are_left_out
                nan_becomes_the_sentinel
                values_without_a_place_are_faults
                an_encode_job_is_held_against_what_it_is_given
                one_job_encodes_two_layouts
                every_method_reduces_as_written
                parts_of_a_reduced_image_agree_with_the_whole
                reducing_does_not_depend_on_threads
                a_reduce_job_must_fit_its_pixels
                cancelling_stops_reducing
            }
        })+
    };
}

/// The tests of one engine; `for_each_engine!` calls it.
#[doc(hidden)]
#[macro_export]
macro_rules! conformance_tests {
    ($make:expr; $($name:ident)+) => {
        $(#[test]
        fn $name() {
            $crate::run(stringify!($name), $make);
        })+

        #[test]
        fn no_behaviour_is_left_out() {
            let stamped = [$(stringify!($name)),+];
            let known: Vec<&str> = $crate::BEHAVIOURS.iter().map(|(name, _)| *name).collect();
            assert_eq!(known, stamped);
        }
    };
}
