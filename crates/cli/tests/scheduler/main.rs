//! The scheduler as a process, on a real Kubernetes API.

mod cluster;
mod kill;
mod live;
mod rights;
