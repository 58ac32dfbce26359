//! Where a path leads.

use percent_encoding::percent_decode_str;

/// Where a path leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Route {
    /// An object, or all objects of a resource.
    Resource(Target),
    /// `/api`
    CoreVersions,
    /// `/apis`
    Groups,
    /// `/apis/GROUP`
    Group(String),
    /// `/api/v1` and `/apis/GROUP/VERSION`
    Resources(String, String),
    /// `/openapi/v3`
    OpenApiIndex,
    /// `/openapi/v3/…` of a group and version
    OpenApi(String, String),
    /// `/version`
    Version,
    /// `/healthz`, `/livez`, `/readyz`
    Health,
    /// Nowhere; `/` and the group if it leads into one.
    Nowhere(String),
}

/// An object, or all objects of a resource, in a version.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Target {
    /// The group; empty for the core group.
    pub group: String,
    /// The version.
    pub version: String,
    /// The namespace, if one is in the path.
    pub namespace: Option<String>,
    /// The resource.
    pub plural: String,
    /// The object.
    pub name: Option<String>,
    /// `status` and the like.
    pub subresource: Option<String>,
    /// Whether the path says that it is to be watched.
    pub watch: bool,
}

impl Route {
    /// Reads a path.
    pub fn of(path: &str) -> Self {
        let inner = path.strip_prefix('/').unwrap_or(path);
        let inner = inner.strip_suffix('/').unwrap_or(inner);
        // Decoded before it is taken apart, as a real server does: an encoded slash is a slash.
        let Ok(inner) = percent_decode_str(inner).decode_utf8() else { return Self::Nowhere(String::new()) };
        let parts: Vec<&str> = inner.split('/').collect();
        match parts[..] {
            ["api"] => Self::CoreVersions,
            ["apis"] => Self::Groups,
            ["apis", group] => Self::Group(group.to_owned()),
            ["api", version] => Self::Resources(String::new(), version.to_owned()),
            ["apis", group, version] => Self::Resources(group.to_owned(), version.to_owned()),
            ["api", version, ref rest @ ..] => target("", version, rest),
            ["apis", "", ..] => Self::Nowhere(String::new()),
            ["apis", group, version, ref rest @ ..] => target(group, version, rest),
            ["openapi", "v3"] => Self::OpenApiIndex,
            ["openapi", "v3", "api", version] => Self::OpenApi(String::new(), version.to_owned()),
            ["openapi", "v3", "apis", group, version] => Self::OpenApi(group.to_owned(), version.to_owned()),
            ["version"] => Self::Version,
            ["healthz" | "livez" | "readyz", ..] => Self::Health,
            _ => Self::Nowhere(String::new()),
        }
    }
}

fn target(group: &str, version: &str, rest: &[&str]) -> Route {
    // The older way to say that a list is to be watched.
    let (watch, rest) = match rest {
        ["watch", rest @ ..] => (true, rest),
        _ => (false, rest),
    };
    let (namespace, rest) = match rest {
        // A namespace itself, and what belongs to it, are no path into the namespace.
        ["namespaces", _] | ["namespaces", _, "status" | "finalize"] => (None, rest),
        ["namespaces", namespace, rest @ ..] => (Some((*namespace).to_owned()), rest),
        _ => (None, rest),
    };
    let (plural, name, subresource) = match rest {
        [plural] => (plural, None, None),
        [plural, name] => (plural, Some(name), None),
        [plural, name, subresource] => (plural, Some(name), Some(subresource)),
        _ => return Route::Nowhere(format!("/{group}")),
    };
    if plural.is_empty() || name.is_some_and(|name| name.is_empty()) {
        return Route::Nowhere(format!("/{group}"));
    }
    Route::Resource(Target {
        group: group.to_owned(),
        version: version.to_owned(),
        namespace,
        plural: (*plural).to_owned(),
        name: name.map(|name| (*name).to_owned()),
        subresource: subresource.map(|subresource| (*subresource).to_owned()),
        watch,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A target as `group/version namespace resource name subresource`, with `-` for what is absent.
    fn check(path: &str, expected: &str) {
        let shown = match Route::of(path) {
            Route::Resource(target) => {
                let or = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
                let (namespace, name, sub) = (or(&target.namespace), or(&target.name), or(&target.subresource));
                format!("{}/{} {namespace} {} {name} {sub}", target.group, target.version, target.plural)
            }
            other => format!("{other:?}"),
        };
        assert_eq!(shown, expected, "{path}");
    }

    #[test]
    fn paths_lead_somewhere_or_nowhere() {
        check("/api/v1/pods", "/v1 - pods - -");
        check("/api/v1/namespaces", "/v1 - namespaces - -");
        check("/api/v1/namespaces/a", "/v1 - namespaces a -");
        check("/api/v1/namespaces/a/status", "/v1 - namespaces a status");
        check("/api/v1/namespaces/a/finalize", "/v1 - namespaces a finalize");
        check("/api/v1/namespaces/a/pods", "/v1 a pods - -");
        check("/api/v1/namespaces/a/pods/p/binding", "/v1 a pods p binding");
        check("/apis/g.io/v1/things/x%2Fy", "g.io/v1 - things x y");
        check("/api/v1/watch/namespaces/a/pods/p", "/v1 a pods p -");
        check("/apis/g.io/v1/namespaces/a/things/x/scale", "g.io/v1 a things x scale");
        check("/apis/g.io/v1/namespaces/a/things/x/scale/more", r#"Nowhere("/g.io")"#);
        check("/api", "CoreVersions");
        check("/apis/", "Groups");
        check("/apis/g", r#"Group("g")"#);
        check("/api/v1", r#"Resources("", "v1")"#);
        check("/openapi/v3/apis/g/v1", r#"OpenApi("g", "v1")"#);
        check("/readyz/ping", "Health");
        check("/", r#"Nowhere("")"#);
        check("/api/v1/namespaces//pods", "/v1  pods - -");
        check("/api/v1/%ff", r#"Nowhere("")"#);
    }
}
