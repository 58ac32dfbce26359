//! What the tests of the other crates share, kept out of the product: nothing but tests depends on this crate.
//!
//! [`ControlPlane`] is a real Kubernetes API server with its etcd, and on request the controller manager, on loopback.
//! A test against it proves what Kubernetes does, where a test against an imitation proves only what we believe.

mod cache;
pub mod control_plane;
mod error;
mod guard;
pub mod kubectl;
pub mod mutate;
pub mod objects;
pub mod placement;
pub mod process;
pub mod proxy;
pub mod rights;
pub mod sets;
pub mod stage;
pub mod toolchain;

pub use control_plane::programs::{self, Program};
pub use control_plane::{ControlPlane, Options, TokenUser};
pub use error::{Error, Result};

/// Tests that use this crate have the allocator of the binary: what they play is many small objects.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
