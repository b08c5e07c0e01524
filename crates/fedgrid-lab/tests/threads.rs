//! A file that is read in parallel is the same table on any number of threads.

use std::fmt::Write;

use fedgrid_lab::{
    Result,
    source::{Column, FileFormat, Table},
};

/// More than are read at once: several batches of blocks.
const ROWS: usize = 300_000;

/// Numbers written in several ways, gaps, text, quoted line breaks in the middle of the file, truths and dates.
fn text() -> String {
    let mut text = String::from("node,short,fixed,whole,late,note,open,day\n");
    for row in 0..ROWS {
        let x = (1.0 + row as f64).sin();
        let gap = if row % 97 == 5 { String::new() } else { format!("{x:.6}") };
        // The first cell that is no number comes when most of the column was read.
        let late = if row == ROWS - 9 { "n/m".into() } else { (row % 1000).to_string() };
        let note = match row % 5 {
            0 if (150_000..150_400).contains(&row) => "\"two\nlines, \"\"quoted\"\"\"",
            1 => "é",
            2 => "",
            _ => "plain",
        };
        let day = format!("2024-{:02}-{:02}", 1 + row % 12, 1 + row % 28);
        let whole = row * 7;
        writeln!(text, "{},{x},{gap},{whole},{late},{note},{},{day}", row % 50, row % 3 == 0)
            .unwrap();
    }
    text
}

fn read_on(threads: usize, path: &std::path::Path) -> Result<Table> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| Table::from_file(path, FileFormat::from(',')))
}

fn assert_same(found: &Column, expected: &Column) {
    assert_eq!((found.name(), found.holds()), (expected.name(), expected.holds()));
    assert_eq!(found.rows(), expected.rows());
    for row in 0..found.rows() {
        let name = found.name();
        assert_eq!(found.cell(row), expected.cell(row), "row {row} of {name}");
        let bits = |column: &Column| column.number(row).map(f64::to_bits);
        assert_eq!(bits(found), bits(expected), "row {row} of {name}");
        assert_eq!(found.is_gap(row), expected.is_gap(row), "row {row} of {name}");
    }
}

#[test]
fn a_large_file_is_the_same_table_on_one_two_and_eight_threads() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.csv");
    let text = text();
    assert!(text.len() > 17 << 20, "{} bytes are read in one go", text.len());
    std::fs::write(&path, &text).unwrap();
    let one = read_on(1, &path).unwrap();
    assert_eq!(one.rows(), ROWS);
    assert_eq!(one.column("note").unwrap().cell(150_000), "two\nlines, \"quoted\"");
    for threads in [2, 8] {
        let table = read_on(threads, &path).unwrap();
        assert_eq!(table.fingerprint, one.fingerprint);
        assert_eq!(table.described, one.described);
        assert_eq!(table.columns().len(), one.columns().len());
        for (found, expected) in table.columns().iter().zip(one.columns()) {
            assert_same(found, expected);
        }
    }
    // So is what is wrong with it: of two lines the first is named.
    let mut lines: Vec<&str> = text.lines().collect();
    let last = lines.len() - 1;
    lines[last - 10] = "1,2,3";
    lines[last] = "1,2";
    std::fs::write(&path, lines.join("\n")).unwrap();
    let said = [1, 2, 8].map(|threads| read_on(threads, &path).unwrap_err().to_string());
    let expected = format!("row {} has 3 cells, expected 8 as in the header", ROWS - 10);
    assert!(said.iter().all(|said| said.contains(&expected)), "{said:?}");
}
