//! Where in an object something is. A path is a chain on the stack and becomes text only if there is something to say.

/// One step down, and what it went down from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    step: Step<'a>,
}

#[derive(Debug, Clone, Copy)]
enum Step<'a> {
    Root,
    /// A field that is described.
    Field(&'a str),
    /// A key of a map.
    Key(&'a str),
    Index(usize),
}

impl<'a> Path<'a> {
    /// The object as a whole.
    pub(crate) const ROOT: Path<'static> = Path { parent: None, step: Step::Root };

    pub(crate) fn field(&'a self, name: &'a str) -> Path<'a> {
        Path { parent: Some(self), step: Step::Field(name) }
    }

    pub(crate) fn key(&'a self, name: &'a str) -> Path<'a> {
        Path { parent: Some(self), step: Step::Key(name) }
    }

    pub(crate) fn index(&'a self, index: usize) -> Path<'a> {
        Path { parent: Some(self), step: Step::Index(index) }
    }

    pub(crate) fn is_root(&self) -> bool {
        matches!(self.step, Step::Root)
    }

    /// `spec.map.key[0]`, as validation by schema writes it.
    pub(crate) fn dotted(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, false);
        out
    }

    /// `spec.map[key][0]`, as everything else writes it.
    pub(crate) fn bracketed(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, true);
        out
    }

    fn write(&self, out: &mut String, brackets: bool) {
        if let Some(parent) = self.parent {
            parent.write(out, brackets);
        }
        match self.step {
            Step::Root => {}
            Step::Index(index) => out.push_str(&format!("[{index}]")),
            Step::Key(name) if brackets => out.push_str(&format!("[{name}]")),
            Step::Field(name) if out.is_empty() => out.push_str(name),
            Step::Field(name) | Step::Key(name) => {
                out.push('.');
                out.push_str(name);
            }
        }
    }
}

/// The field of a fault: a real server calls the object as a whole `<nil>`.
pub(crate) fn or_nil(path: String) -> String {
    if path.is_empty() { "<nil>".to_owned() } else { path }
}

/// A field below another.
pub(crate) fn child(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}
