//! How results are printed. Data goes to stdout.

use crate::validate::Row;
use anyhow::Result;
use serde::Serialize;
use std::io::{BufWriter, Write as _};

/// Prints JSON.
pub fn json(value: &impl Serialize) -> Result<()> {
    let mut out = BufWriter::new(std::io::stdout().lock());
    serde_json::to_writer_pretty(&mut out, value).map_err(std::io::Error::from)?;
    writeln!(out)?;
    out.flush()?;
    Ok(())
}

/// Prints objects as documents of one YAML stream.
pub fn yaml(objects: &[serde_json::Value]) -> Result<()> {
    let mut out = BufWriter::new(std::io::stdout().lock());
    for (i, object) in objects.iter().enumerate() {
        if i > 0 {
            writeln!(out, "---")?;
        }
        out.write_all(to_yaml(object)?.as_bytes())?;
    }
    out.flush()?;
    Ok(())
}

/// An object as YAML that readers of YAML 1.1, kubectl among them, understand alike.
pub fn to_yaml(object: &impl Serialize) -> Result<String> {
    Ok(serde_saphyr::to_string(object)?)
}

/// Prints verdicts for people: a line for each object, then what is wrong with it.
pub fn verdicts(rows: &[Row<'_>]) -> Result<()> {
    let mut out = BufWriter::new(std::io::stdout().lock());
    let width = rows.iter().map(|row| row.object.title().len()).max().unwrap_or_default();
    for row in rows {
        let verdict = if row.allowed { "admitted" } else { "refused" };
        let place = row.object.place();
        writeln!(out, "{:width$}  {verdict:8}  {place}", row.object.title())?;
        for error in &row.errors {
            writeln!(out, "  error: {}: {error}", row.object.document.place(&error.field))?;
        }
        for warning in &row.warnings {
            writeln!(out, "  warning: {warning}")?;
        }
    }
    out.flush()?;
    let refused = rows.iter().filter(|row| !row.allowed).count();
    eprintln!("{} judged, {} admitted, {refused} refused", rows.len(), rows.len() - refused);
    Ok(())
}
