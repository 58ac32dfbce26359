//! The way back: from a field of one of our objects to the place where the user wrote it.

use crate::admission::Verdict;
use crate::field::FieldError;

/// Where the parts of an object stand in the file. The longest part that a path begins with decides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    places: Vec<(String, String)>,
}

impl Written {
    /// Says where a part of the object stands.
    pub fn at(mut self, path: &str, place: &str) -> Self {
        self.places.push((path.to_owned(), place.to_owned()));
        self
    }

    /// The place of a path.
    pub fn place(&self, path: &str) -> String {
        let rest = |(part, _): &&(String, String)| {
            let rest = path.strip_prefix(part.as_str())?;
            (rest.is_empty() || rest.starts_with(['.', '['])).then_some(part.len())
        };
        let found = self.places.iter().filter(|place| rest(place).is_some()).max_by_key(|(part, _)| part.len());
        match found {
            Some((part, place)) => {
                let rest = &path[part.len()..];
                let rest = if place.is_empty() { rest.trim_start_matches('.') } else { rest };
                format!("{place}{rest}")
            }
            None => path.to_owned(),
        }
    }

    /// The verdict in the user's own places.
    pub fn verdict(&self, mut verdict: Verdict) -> Verdict {
        for error in &mut verdict.errors {
            let FieldError { field, .. } = error;
            *field = self.place(field);
        }
        for warning in &mut verdict.warnings {
            if let Some((path, rest)) = warning.split_once(": ") {
                *warning = format!("{}: {rest}", self.place(path));
            }
        }
        verdict
    }
}
