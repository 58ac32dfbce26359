//! Logs of processes that run for long: structured, on stderr.

use std::io::IsTerminal as _;

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use trellis_api::kinds::config::{LogFormat, LogLevel};

/// Writes logs from now on. A second call changes nothing.
pub fn start(level: LogLevel, format: LogFormat) {
    let logs = tracing_subscriber::registry().with(filter(level));
    let layer = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    let colours = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let _ = match format {
        LogFormat::Json => logs.with(layer.json().flatten_event(true).with_current_span(false)).try_init(),
        LogFormat::Text => logs.with(layer.with_ansi(colours)).try_init(),
    };
}

/// What our own crates say at this level; of what libraries say, only what goes wrong.
fn filter(level: LogLevel) -> Targets {
    let ours = match level {
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Error => LevelFilter::ERROR,
    };
    Targets::new().with_default(ours.min(LevelFilter::WARN)).with_target("trellis", ours)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracing::Level;

    #[test]
    fn libraries_are_heard_only_when_something_is_wrong() {
        for (level, target, said, expected) in [
            (LogLevel::Debug, "trellis_operator::work", Level::DEBUG, true),
            (LogLevel::Debug, "trellis_operator::work", Level::TRACE, false),
            (LogLevel::Debug, "hyper::client", Level::DEBUG, false),
            (LogLevel::Debug, "hyper::client", Level::WARN, true),
            (LogLevel::Info, "trellis::operator", Level::INFO, true),
            (LogLevel::Info, "trellis_operator", Level::DEBUG, false),
            (LogLevel::Info, "kube_client", Level::INFO, false),
            (LogLevel::Error, "trellis_operator", Level::WARN, false),
            (LogLevel::Error, "kube_client", Level::WARN, false),
            (LogLevel::Error, "kube_client", Level::ERROR, true),
        ] {
            assert_eq!(filter(level).would_enable(target, &said), expected, "{level:?} {target} {said}");
        }
    }
}
