//! Values worked out by hand.
