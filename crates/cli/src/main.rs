//! strile
fn main() {}
