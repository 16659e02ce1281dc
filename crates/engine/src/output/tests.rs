use super::*;

fn spec() -> OutputSpec {
    OutputSpec::band_first(DataType::U16, 2, 4, 8).unwrap()
}

#[test]
fn overlapping_claims_are_refused_until_dropped() {
    let output = Output::new(spec()).unwrap();
    let left = OutputBox { bands: (0, 2), rows: (0, 4), columns: (0, 4) };
    let middle = OutputBox { columns: (3, 6), ..left };
    let held = output.claim(left).unwrap();
    assert!(output.claim(middle).is_none());
    assert!(output.claim(OutputBox { columns: (4, 8), ..left }).is_some());
    drop(held);
    assert!(output.claim(middle).is_some());
    assert!(output.claim(OutputBox { rows: (0, 5), ..left }).is_none(), "leaves the output");
}

#[test]
fn strides_that_alias_are_refused() {
    let mut aliased = spec();
    aliased.strides.band = 2;
    assert_eq!(aliased.len(), Err(OutputError::Overlapping));
    assert_eq!(spec().len(), Ok(2 * 4 * 8 * 2));
    assert!(matches!(
        OutputSpec::band_first(DataType::C128, u32::MAX, u32::MAX, u32::MAX),
        Err(OutputError::TooLarge { .. })
    ));
    assert!(matches!(
        Output::from_vec(spec(), vec![0; 127]),
        Err(OutputError::TooSmall { need: 128, have: 127 })
    ));
}

#[test]
fn a_delegate_is_no_larger_than_its_claim() {
    let output = Output::new(spec()).unwrap();
    let left = OutputBox { bands: (0, 2), rows: (0, 4), columns: (0, 4) };
    let claim = Arc::new(output.claim(left).unwrap());
    let delegate = claim.delegate();
    assert!(delegate.claim(OutputBox { columns: (0, 5), ..left }).is_none(), "leaves the claim");
    let held = delegate.claim(OutputBox { columns: (1, 4), ..left }).unwrap();
    assert!(delegate.claim(OutputBox { columns: (3, 4), ..left }).is_none(), "is taken");
    drop((claim, delegate));
    assert!(output.claim(left).is_none(), "the delegate's claim holds the claim it came from");
    drop(held);
    assert!(output.claim(left).is_some());
}

/// Bug: delegates of one claim had separate lists of claims, so safe code could write one sample from two threads.
#[test]
fn delegates_of_one_claim_exclude_each_other() {
    let output = Output::new(spec()).unwrap();
    let all = OutputBox { bands: (0, 2), rows: (0, 4), columns: (0, 8) };
    let claim = Arc::new(output.claim(all).unwrap());
    let (one, other) = (claim.delegate(), claim.delegate_converted());
    let left = OutputBox { columns: (0, 5), ..all };
    let held = one.claim(left).unwrap();
    assert!(other.claim(OutputBox { columns: (4, 8), ..all }).is_none(), "another delegate has it");
    let right = Arc::new(other.claim(OutputBox { columns: (5, 8), ..all }).unwrap());
    assert!(claim.delegate().claim(all).is_none(), "nor can a new delegate have it");
    let below = right.delegate();
    assert!(below.claim(left).is_none(), "a delegate's delegate stays in its box");
    assert!(below.claim(OutputBox { columns: (6, 8), ..all }).is_some());
    drop((held, right, below));
    assert!(other.claim(all).is_some());
}

#[test]
fn boxes_that_are_claimed_together_are_free_together() {
    let output = Output::new(spec()).unwrap();
    let all = OutputBox { bands: (0, 2), rows: (0, 4), columns: (0, 8) };
    let claim = Arc::new(output.claim(all).unwrap());
    let (one, other) = (claim.delegate(), claim.delegate_converted());
    let left = OutputBox { columns: (0, 5), ..all };
    let right_box = OutputBox { columns: (4, 8), ..all };
    assert!(Output::claim_together(&[(&one, left), (&output, right_box)]).is_none(), "not of one list");
    let mut both = Output::claim_together(&[(&one, left), (&other, right_box)]).unwrap();
    assert!(one.claim(OutputBox { columns: (7, 8), ..all }).is_none());
    let (right, left) = (Arc::new(both.pop().unwrap()), Arc::new(both.pop().unwrap()));
    let part = OutputBox { columns: (4, 5), ..all };
    let held = left.delegate().claim(part).unwrap();
    assert!(right.delegate().claim(part).is_none(), "delegates of claims taken together exclude each other");
    drop(right);
    assert!(one.claim(OutputBox { columns: (7, 8), ..all }).is_none(), "one of them is still held");
    drop((left, held));
    assert!(one.claim(all).is_some());

    // Delegates of claims taken together can be claimed together again, each in its own box.
    let both = Output::claim_together(&[(&one, OutputBox { columns: (0, 4), ..all }), (&other, right_box)]);
    let lent: Vec<Output> = both.unwrap().into_iter().map(|claim| Arc::new(claim).delegate()).collect();
    let (start, end) = (OutputBox { columns: (0, 1), ..all }, OutputBox { columns: (7, 8), ..all });
    assert!(Output::claim_together(&[(&lent[0], end), (&lent[1], start)]).is_none(), "not in their boxes");
    assert!(Output::claim_together(&[(&lent[0], start), (&lent[1], end)]).is_some());
}

#[test]
fn a_conversion_is_set_once_and_before_all_else() {
    let convert = Convert::masking(None);
    let refused = Output::new(spec()).unwrap().converting(convert).err().unwrap();
    assert_eq!(
        refused.to_string(),
        "an output of uint16 cannot convert: only float16, float32 and float64 ones do"
    );
    let spec = OutputSpec::band_first(DataType::F32, 1, 1, 2).unwrap();
    let output = Output::new(spec).unwrap().converting(convert).unwrap();
    let all = OutputBox { bands: (0, 1), rows: (0, 1), columns: (0, 2) };
    let claim = Arc::new(output.claim(all).unwrap());
    assert_eq!(claim.delegate().convert(), Some(&convert));
    assert_eq!(claim.delegate_converted().convert(), None);
    let other = Convert { scale: 2.0, ..convert };
    assert_eq!(claim.delegate_converting(other).unwrap().convert(), Some(&other));
    assert_eq!(output.converting(convert).err(), Some(OutputError::InUse));
}

#[test]
fn memory_comes_back_when_nobody_holds_it() {
    let output = Output::new(spec()).unwrap();
    let clone = output.clone();
    assert!(output.into_vec().is_none());
    assert_eq!(clone.into_vec().unwrap().len(), 128);
}
