//! Names as DNS has them, and what is said of those that are not.

/// What is said of a name that is no DNS label.
pub(crate) const DNS_1123: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an \
     alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";

/// What is said of a name that is no DNS label starting with a letter.
pub(crate) const DNS_1035: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an \
     alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";

/// What is said of a name that is no DNS subdomain.
pub(crate) const DNS_SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an \
     alphanumeric character (e.g. 'example.com', regex used for validation is \
     '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

/// A DNS label that may start with a digit.
pub(crate) fn is_dns1123(label: &str) -> bool {
    label.len() <= 63 && is_label(label)
}

/// A DNS label that starts with a letter.
pub(crate) fn is_dns1035(label: &str) -> bool {
    is_dns1123(label) && label.as_bytes().first().is_some_and(u8::is_ascii_lowercase)
}

/// DNS labels with points between them.
pub(crate) fn is_subdomain(name: &str) -> bool {
    name.len() <= 253 && name.split('.').all(is_label)
}

fn is_label(label: &str) -> bool {
    let inside = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = label.as_bytes();
    bytes.first().is_some_and(inside)
        && bytes.last().is_some_and(inside)
        && bytes.iter().all(|byte| inside(byte) || *byte == b'-')
}
