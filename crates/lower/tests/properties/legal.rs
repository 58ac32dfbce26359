//! What Kubernetes takes as a name, a label and a label value, written down once more: these rules are not those of
//! crates/api, so that a slip there shows.

fn lower_or_digit(c: char) -> bool {
    matches!(c, 'a'..='z' | '0'..='9')
}

/// RFC 1123: what a host name may be.
pub fn dns_label(text: &str) -> bool {
    let inner = |c: char| lower_or_digit(c) || c == '-';
    (1..=63).contains(&text.len())
        && text.chars().all(inner)
        && text.starts_with(lower_or_digit)
        && text.ends_with(lower_or_digit)
}

/// RFC 1035: what a Service may be called on any version of Kubernetes.
pub fn service(text: &str) -> bool {
    dns_label(text) && text.starts_with(|c: char| c.is_ascii_lowercase())
}

/// What most objects may be called.
pub fn dns_subdomain(text: &str) -> bool {
    let part = |part: &str| {
        part.starts_with(lower_or_digit)
            && part.ends_with(lower_or_digit)
            && part.chars().all(|c| lower_or_digit(c) || c == '-')
    };
    (1..=253).contains(&text.len()) && text.split('.').all(part)
}

/// What objects of RBAC may be called.
pub fn path_segment(text: &str) -> bool {
    !text.is_empty() && text != "." && text != ".." && !text.contains(['/', '%'])
}

fn qualified(text: &str) -> bool {
    let edge = |c: char| c.is_ascii_alphanumeric();
    text.len() <= 63
        && text.starts_with(edge)
        && text.ends_with(edge)
        && text.chars().all(|c| edge(c) || c == '-' || c == '_' || c == '.')
}

pub fn label_value(text: &str) -> bool {
    text.is_empty() || qualified(text)
}

pub fn label_key(text: &str) -> bool {
    match text.split('/').collect::<Vec<_>>()[..] {
        [name] => qualified(name),
        [prefix, name] => dns_subdomain(prefix) && qualified(name),
        _ => false,
    }
}
