//! Which inference engine a component runs: what its command line says, else what the deployment says.

use super::Graph;
use crate::kinds::dynamo::{Backend, Component};

impl Component {
    /// The engine that the command line starts, as in `python3 -m dynamo.vllm`.
    pub fn started_backend(&self) -> Option<Backend> {
        let line = self.command_line();
        let words: Vec<&str> = line.iter().flat_map(|text| text.split_whitespace()).collect();
        words.windows(3).find_map(|words| match words {
            [program, "-m", module] => started(program, module),
            _ => None,
        })
    }
}

/// The engine that `<program> -m <module>` starts.
pub fn started(program: &str, module: &str) -> Option<Backend> {
    if is_python(program) { backend_of(module) } else { None }
}

impl Graph {
    /// The engine of a component: only of one that runs a model.
    pub fn backend(&self, component: &Component) -> Option<Backend> {
        component.is_worker().then(|| component.started_backend().or(self.object.spec.backend_framework))?
    }
}

/// `python3`, also with a path before it or a quote.
fn is_python(word: &str) -> bool {
    let name = word.rsplit(['/', '"', '\'', '(', ';']).next().unwrap_or_default();
    name.starts_with("python")
}

/// The engine of a module, such as `dynamo.vllm` or `components.dynamo.vllm.main`.
fn backend_of(module: &str) -> Option<Backend> {
    let module = module.trim_end_matches(['"', '\'', ';', ')']);
    Backend::ALL.into_iter().find(|backend| {
        let name = format!("dynamo.{}", backend.as_str());
        module.match_indices(&name).any(|(at, _)| {
            let (before, after) = (&module[..at], &module[at + name.len()..]);
            (before.is_empty() || before.ends_with('.')) && (after.is_empty() || after.starts_with('.'))
        })
    })
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
        check("components.dynamo.vllm\"", Some("vllm"));
        check("dynamo.frontend", None);
        check("mydynamo.vllm", None);
        check("dynamo.vllmx", None);
        check("", None);
    }
}
