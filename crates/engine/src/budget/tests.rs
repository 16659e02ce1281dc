use super::*;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{scope, sleep};

const SOON: Duration = Duration::from_millis(60);

fn working(budget: &Budget, need: u64) -> Result<Lease, EngineError> {
    budget.wait((need, 1), Hold::Working, "pixels", &Cancel::default()).map(|(_, lease)| lease)
}

fn brief(budget: &Budget, need: u64) -> Result<Lease, EngineError> {
    budget.wait((need, 1), Hold::Brief, "a decoder", &Cancel::default()).map(|(_, lease)| lease)
}

fn pool(limit: u64) -> Arc<Pool> {
    Arc::new(Pool::new(limit))
}

#[test]
fn lends_up_to_the_limit_and_takes_back() {
    let budget = Budget::new(100);
    let first = budget.take(60, "pixels").unwrap();
    let refused = budget.take(50, "staging").unwrap_err();
    assert_eq!(refused, BudgetError { need: 50, free: 40, limit: 100, purpose: "staging" });
    assert!(budget.fits(41, "pixels").is_err() && budget.fits(40, "pixels").is_ok());
    drop(first);
    drop(budget.take(100, "pixels").unwrap());
    assert_eq!(budget.peak(), 100);
    assert!(budget.take(u64::MAX, "pixels").is_err() && budget.fits(u64::MAX, "pixels").is_err());
}

/// A call with its own limit is refused at once.
#[test]
fn alone_it_is_refused_at_once() {
    let budget = Budget::new(100);
    let first = working(&budget, 60).unwrap();
    let refused = BudgetError { need: 50, free: 40, limit: 100, purpose: "pixels" };
    assert_eq!(working(&budget, 50).unwrap_err(), refused.into());
    drop(first);
    drop(working(&budget, 100).unwrap());
    assert!(working(&budget, 101).is_err());
}

/// Bug: sixteen threads each got three quarters of the memory.
#[test]
fn calls_of_a_process_share_one_limit() {
    let (one, other) = (Budget::of_process(), Budget::of_process());
    assert!(Arc::ptr_eq(&one.pool, &other.pool) && one.call != other.call);
    let limit = one.limit();
    let held = one.take(limit / 2, "pixels").unwrap();
    assert!(other.take(limit / 2 + 2, "pixels").is_err());
    drop(held);
    drop(other.take(limit / 2 + 2, "pixels").unwrap());
}

#[test]
fn waits_for_another_call_and_not_for_what_is_kept() {
    let pool = pool(100);
    let (one, other) = (Budget::in_pool(&pool), Budget::in_pool(&pool));
    let lease = working(&one, 80).unwrap();
    scope(|scope| {
        let waits = scope.spawn(|| working(&other, 50).map(drop));
        sleep(SOON);
        assert!(!waits.is_finished());
        drop(lease);
        waits.join().unwrap().unwrap();
    });
    let kept = one.take(80, "cells").unwrap();
    assert!(working(&other, 50).is_err(), "the writer may never come back");
    drop(kept);
    assert!(pool.lock().calls.is_empty());
}

#[test]
fn what_can_never_fit_does_not_wait() {
    let pool = pool(100);
    let (one, other) = (Budget::in_pool(&pool), Budget::in_pool(&pool));
    let _lease = working(&one, 10).unwrap();
    assert!(working(&other, 101).is_err());
    let _own = working(&other, 50).unwrap();
    assert!(working(&other, 60).is_err(), "more than the limit with what it has");
}

/// Two calls hold memory and both want more: the second request is refused, and the first call continues.
#[test]
fn the_request_that_would_close_a_circle_is_refused() {
    let pool = pool(100);
    let (one, other) = (Budget::in_pool(&pool), Budget::in_pool(&pool));
    let first = working(&one, 35).unwrap();
    let second = working(&other, 35).unwrap();
    scope(|scope| {
        let waits = scope.spawn(|| working(&one, 40).map(drop));
        sleep(SOON);
        assert!(!waits.is_finished());
        assert!(working(&other, 40).is_err());
        drop(second);
        waits.join().unwrap().unwrap();
    });
    drop(first);
}

/// Both wait for a third call, which ends: one is refused, the other is served once that one is gone.
#[test]
fn of_two_that_are_left_waiting_one_is_refused() {
    let pool = pool(100);
    let [one, two, third] = [(); 3].map(|()| Budget::in_pool(&pool));
    let held = working(&third, 10).unwrap();
    let refusals = AtomicU64::new(0);
    let call = |budget: &Budget| {
        let _held = working(budget, 30).unwrap();
        sleep(SOON);
        if working(budget, 60).is_err() {
            refusals.fetch_add(1, Ordering::Relaxed);
        }
    };
    scope(|scope| {
        scope.spawn(|| call(&one));
        scope.spawn(|| call(&two));
        sleep(SOON * 3);
        drop(held);
    });
    assert_eq!(refusals.into_inner(), 1);
}

/// A quarter is reserved for calls in progress; a large call waits until it is alone and does not starve.
#[test]
fn newcomers_are_admitted_in_order_and_leave_room() {
    let pool = pool(100);
    let [one, two, large, small] = [(); 4].map(|()| Budget::in_pool(&pool));
    let first = working(&one, 70).unwrap();
    scope(|scope| {
        let second = scope.spawn(|| working(&two, 10).map(drop));
        sleep(SOON);
        assert!(!second.is_finished(), "80 are more than three quarters");
        drop(working(&one, 20).unwrap());
        drop(first);
        second.join().unwrap().unwrap();
    });
    let held = working(&one, 30).unwrap();
    scope(|scope| {
        let all = scope.spawn(|| working(&large, 100));
        sleep(SOON);
        let little = scope.spawn(|| working(&small, 1));
        sleep(SOON);
        assert!(!all.is_finished() && !little.is_finished(), "after the large one");
        drop(held);
        drop(all.join().unwrap().unwrap());
        drop(little.join().unwrap().unwrap());
    });
    let state = pool.lock();
    assert_eq!((state.used, state.calls.len(), state.queue.len()), (0, 0, 0));
}

#[test]
fn fewer_workers_where_there_is_less_room() {
    let budget = Budget::new(100);
    let ask = |each, wanted| budget.wait((each, wanted), Hold::Working, "scratch", &Cancel::default());
    assert_eq!(ask(10, 4).unwrap().0, 4);
    assert_eq!(ask(30, 16).unwrap().0, 3);
    assert_eq!(ask(0, 16).unwrap().0, 16);
    assert!(ask(101, 16).is_err());
}

#[test]
fn brief_memory_waits_for_brief_memory_alone() {
    let pool = pool(100);
    let (one, other) = (Budget::in_pool(&pool), Budget::in_pool(&pool));
    let lease = working(&one, 60).unwrap();
    assert!(brief(&other, 50).is_err(), "the other call may need the thread that would wait");
    let first = brief(&one, 30).unwrap();
    scope(|scope| {
        let waits = scope.spawn(|| brief(&one, 40).map(drop));
        sleep(SOON);
        assert!(!waits.is_finished());
        drop(first);
        waits.join().unwrap().unwrap();
    });
    drop(lease);
}

#[test]
fn a_stop_is_seen_while_it_waits() {
    let pool = pool(100);
    let (one, other) = (Budget::in_pool(&pool), Budget::in_pool(&pool));
    let _lease = working(&one, 100).unwrap();
    let cancel = Cancel::default();
    scope(|scope| {
        let waits = scope.spawn(|| other.wait((1, 1), Hold::Working, "pixels", &cancel).map(drop));
        sleep(SOON);
        cancel.cancel();
        assert_eq!(waits.join().unwrap().unwrap_err(), EngineError::Cancelled);
    });
}

/// Simulates reads: pixels first, then scratch for as many workers as fit. None fails.
#[test]
fn many_reads_at_once_all_end() {
    let pool = pool(1000);
    scope(|scope| {
        for _ in 0..32 {
            scope.spawn(|| {
                for _ in 0..40 {
                    let call = Budget::in_pool(&pool);
                    let _pixels = working(&call, 100).unwrap();
                    let scratch = call.wait((10, 8), Hold::Working, "scratch", &Cancel::default()).unwrap();
                    std::thread::yield_now();
                    drop(scratch);
                }
            });
        }
    });
    let state = pool.lock();
    assert!(state.used == 0 && state.peak <= 1000 && state.calls.is_empty());
}

/// Memory of caches is counted, and no call fails or waits because of it.
#[test]
fn caches_give_back_what_calls_need() {
    static HELD: Mutex<Vec<Spare>> = Mutex::new(Vec::new());
    fn reclaim(mut bytes: u64) {
        let mut held = HELD.lock().unwrap();
        while bytes > 0 {
            let Some(spare) = held.pop() else { return };
            bytes = bytes.saturating_sub(spare.bytes());
        }
    }
    let budget = Budget::new(100);
    for _ in 0..4 {
        HELD.lock().unwrap().push(budget.spare(20, reclaim).unwrap());
    }
    assert!(budget.spare(21, reclaim).is_none());
    assert!(budget.fits(100, "pixels").is_ok());
    let first = working(&budget, 20).unwrap();
    assert_eq!(HELD.lock().unwrap().len(), 4);
    let second = budget.take(30, "pixels").unwrap();
    assert_eq!(HELD.lock().unwrap().len(), 2);
    assert!(budget.spare(11, reclaim).is_none());
    let third = budget.now(12).unwrap();
    assert!(budget.now(10).is_none());
    let fourth = budget.take(38, "pixels").unwrap();
    assert!(HELD.lock().unwrap().is_empty() && budget.now(1).is_none());
    drop((first, second, third, fourth));
    assert_eq!((budget.peak(), budget.pool.lock().spare), (100, 0));
    assert!(budget.spare(100, reclaim).is_some());
}
