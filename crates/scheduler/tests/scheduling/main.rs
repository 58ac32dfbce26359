//! The scheduler's decisions, carried out in a tiny world until nothing is left to do.

#![allow(clippy::pedantic, reason = "toy worlds are written for readers")]

mod crashes;
mod facts;
mod large;
mod life;
mod preemption;
mod server;
mod shapes;
mod world;
