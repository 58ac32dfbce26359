//! What holds for every set that is admitted, and for every object at all, whatever it looks like.
//!
//! Cases are made from a fixed seed, so a run can be repeated: `TRELLIS_SEED=<number>` chooses another one, and
//! `TRELLIS_CASES=<factor>` multiplies the number of cases. A failing case is printed as JSON, as small as it could be
//! made, and its seed is kept beside the source for the runs that follow.

mod coverage;
mod crash;
mod defaults;
mod determinism;
mod expected;
mod gangs;
mod hashes;
mod legal;
mod limits;
mod names;
mod pods;
mod spelling;
mod startup;
mod support;
mod topology;
