//! Which inference engine a component runs: what its command line says, else what the deployment says.

use super::Graph;
use super::command::engine;
use crate::kinds::dynamo::{Backend, Component};

impl Component {
    /// The engine that the command line starts, as in `python3 -m dynamo.vllm`.
    pub fn started_backend(&self) -> Option<Backend> {
        engine(&self.command_line().join(" ")).map(|(backend, _)| backend)
    }

    /// Whether it is looked at for an engine: one that runs a model, or that spans nodes and does not say what it is for.
    pub fn may_run_engine(&self) -> bool {
        self.is_worker() || (self.type_.is_none() && self.is_multinode())
    }
}

impl Graph {
    /// The engine of a component. The deployment's word counts for those that are known to run a model.
    pub fn backend(&self, component: &Component) -> Option<Backend> {
        let named = || self.object.spec.backend_framework.filter(|_| component.is_worker());
        component.may_run_engine().then(|| component.started_backend().or_else(named))?
    }
}

/// The engine of a module, such as `dynamo.vllm` or `components.dynamo.vllm.main`.
pub(super) fn backend_of(module: &str) -> Option<Backend> {
    let parts = module.split('.');
    let mut engines = parts.clone().zip(parts.skip(1)).filter(|(package, _)| *package == "dynamo");
    engines.find_map(|(_, engine)| Backend::ALL.into_iter().find(|backend| backend.as_str() == engine))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_name_engines() {
        let check = |module: &str, expected: Option<&str>| {
            assert_eq!(backend_of(module).map(Backend::as_str), expected, "{module}");
        };
        check("dynamo.vllm", Some("vllm"));
        check("dynamo.sglang", Some("sglang"));
        check("dynamo.trtllm.main", Some("trtllm"));
        check("components.dynamo.vllm", Some("vllm"));
        check("dynamo.frontend", None);
        check("dynamo.dynamo.vllm", Some("vllm"));
        check("mydynamo.vllm", None);
        check("dynamo.vllmx", None);
        check("", None);
    }
}
