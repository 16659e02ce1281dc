//! What every engine must do, done by the CPU engine.

use strile_conformance::run_or_skip;
use strile_cpu::CpuEngine;

strile_conformance::for_each_engine! { cpu: Ok(Box::new(CpuEngine::new())) }

#[test]
fn without_a_device_a_test_is_skipped() {
    let skipped = run_or_skip("two_tickets_in_flight", Err("no driver".into()), false);
    assert_eq!(skipped.as_deref(), Some("no driver"));
}

#[test]
#[should_panic(expected = "STRILE_REQUIRE_GPU is 1 and there is no device: no driver")]
fn without_a_device_that_is_required_a_test_fails() {
    run_or_skip("two_tickets_in_flight", Err("no driver".into()), true);
}
