//! Judging: evidence in, assessment out. Pure: no I/O, no async, no clock.

pub mod profile;
