//! How figures are written.

use std::io::Write;
use std::time::Duration;

use anyhow::Result;

/// Prints rows under a head: words, which are first and last, to the left, numbers to the right.
pub fn table<const N: usize>(
    out: &mut impl Write,
    head: [&str; N],
    rows: impl Iterator<Item = [String; N]>,
) -> Result<()> {
    let rows: Vec<[String; N]> = std::iter::once(head.map(str::to_owned)).chain(rows).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..N).map(width).collect();
    for row in &rows {
        let cell = |(column, cell): (usize, &String)| match column == 0 || column + 1 == N {
            true => format!("{cell:width$}", width = widths[column]),
            false => format!("{cell:>width$}", width = widths[column]),
        };
        let cells: Vec<String> = row.iter().enumerate().map(cell).collect();
        writeln!(out, "{}", cells.join("  ").trim_end())?;
    }
    Ok(())
}

/// Seconds to the millisecond; more is noise.
pub fn seconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1000.0).round() / 1000.0
}

/// A count, which is never so large that it would not fit.
pub fn number(count: u64) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

pub fn megabytes(bytes: u64) -> f64 {
    number(bytes / 1000) / 1000.0
}
