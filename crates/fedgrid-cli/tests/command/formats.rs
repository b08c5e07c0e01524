//! How files are written: each has its own keys, what numbers leave open is settled by the rest of the file and said, or asked;
//! and what is no table is refused in one sentence.

use std::fmt::Write;

use std::sync::Arc;

use arrow_array::{
    ArrayRef, ArrowPrimitiveType, Float16Array, Float32Array, Int64Array, ListArray, NullArray,
    RecordBatch, StringArray, Time32SecondArray, UInt8Array,
    types::{Float16Type, Int32Type},
};
use parquet::arrow::ArrowWriter;

use crate::common::{Folder, NODES};

/// A number of two bytes.
type Half = <Float16Type as ArrowPrimitiveType>::Native;

/// A table of text for the folder's experiment: two features as a function writes them.
fn write_rows(folder: &Folder, between: &str, cells: impl Fn(usize) -> [String; 3]) {
    let mut text = ["node", "x", "z", "y"].join(between) + "\n";
    for row in 0..48 {
        writeln!(text, "{}{between}{}", NODES[row / 8], cells(row).join(between)).unwrap();
    }
    folder.write("rows.csv", text);
    let experiment = folder.read("experiment.toml").replace("split = \"split\"\n", "");
    folder.write("experiment.toml", experiment);
}

/// A whole number of three digits and one of four.
fn size(row: usize) -> usize {
    if row.is_multiple_of(5) { 100 + 7 * row } else { 1000 + 37 * row }
}

fn target(row: usize) -> f64 {
    size(row) as f64 / 100.0 + (row % 8) as f64
}

/// `1234` with a character before its last three digits.
fn grouped(number: usize, between: char) -> String {
    if number < 1000 {
        return number.to_string();
    }
    format!("{}{between}{:03}", number / 1000, number % 1000)
}

const QUICK: [&str; 5] = ["--method", "shrunk", "--no-compare", "--out", "run"];

/// What a fit says, and the models.
fn fitted(folder: &Folder, more: &[&str]) -> (String, String) {
    let said = folder.done(&[&["fit", "experiment.toml", "--force"], &QUICK[..], more].concat());
    // Long lines are broken between words.
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    (said, folder.read("run/models/nodes.jsonl"))
}

#[test]
fn what_numbers_leave_open_is_settled_by_the_file_and_said() {
    let folder = Folder::new();
    write_rows(&folder, ",", |row| [size(row).to_string(), "0.5".into(), target(row).to_string()]);
    let (_, whole) = fitted(&folder, &[]);
    let cells = |between: char, decimal: &'static str| {
        move |row: usize| {
            let y = target(row).to_string().replace('.', decimal);
            [grouped(size(row), between), format!("0{decimal}5"), y]
        }
    };
    // Other columns have decimal points, so that commas part thousands; and the other way round.
    write_rows(&folder, ";", cells(',', "."));
    let (said, models) = fitted(&folder, &[]);
    let line = "rows.csv: semicolons between cells, commas between thousands, '1,037' in 'x' is 1037 because other \
                columns have decimal points";
    assert!(said.contains(line), "{said}");
    assert!(models == whole);
    let notes = folder.json("run/result.json")["notes"].to_string();
    assert!(notes.contains("commas between thousands"), "{notes}");
    write_rows(&folder, ";", cells('.', ","));
    let (said, models) = fitted(&folder, &[]);
    assert!(
        said.contains("decimal commas, points between thousands, '1.037' in 'x' is 1037"),
        "{said}"
    );
    assert!(models == whole);
    let checked = folder.done(&["check", "experiment.toml"]);
    assert!(checked.contains("decimal commas, points between thousands"), "{checked}");
    // Spaces and apostrophes leave nothing open.
    for between in [' ', '\'', '\u{a0}', '\u{202f}'] {
        write_rows(&folder, ",", cells(between, "."));
        let (said, models) = fitted(&folder, &[]);
        assert!(said.contains("between thousands") && models == whole, "{between:?}: {said}");
    }
}

#[test]
fn what_nothing_settles_is_asked_and_a_key_settles_it() {
    let folder = Folder::new();
    let write = |between: &str, x: &dyn Fn(usize) -> String| {
        write_rows(&folder, between, |row| [x(row), "5".into(), (row * row % 97).to_string()]);
    };
    write(",", &|row| size(row).to_string());
    let (_, as_thousands) = fitted(&folder, &[]);
    write(",", &|row| grouped(size(row), '.'));
    let (said, as_decimals) = fitted(&folder, &[]);
    // A point in plain CSV is a decimal point.
    assert!(!said.contains("rows.csv:") && as_decimals != as_thousands, "{said}");
    let refusal = |folder: &Folder| {
        std::fs::remove_dir_all(folder.path("run")).unwrap();
        folder.fit_refusal(&["--method", "shrunk", "--no-compare"])
    };
    for (between, other) in [(',', '.'), ('.', ',')] {
        write(";", &|row| grouped(size(row), between));
        assert_eq!(
            refusal(&folder),
            format!(
                "rows.csv: row 2, column 'x' is '1{between}037', and '1{between}037' may be 1.037 or 1037; set \
                 data.format.decimal or data.format.thousands to '{between}' (and 37 more cells of this column)"
            )
        );
        let [one, two] = [between, other].map(String::from);
        assert!(fitted(&folder, &["--decimal", &one]).1 == as_decimals);
        assert!(fitted(&folder, &["--decimal", &two]).1 == as_thousands);
        assert!(fitted(&folder, &["--thousands", &one]).1 == as_thousands);
        // New rows are read like those of the training, unless a flag says otherwise.
        let predict = ["predict", "run", "--data", "rows.csv"];
        let answer = folder.run(&predict);
        assert!(
            answer.err.contains("' in 'x' is 1037 because the training rows have"),
            "{}",
            answer.err
        );
        assert_eq!(answer.out, folder.done(&[&predict[..], &["--thousands", &one]].concat()));
        assert_ne!(answer.out, folder.done(&[&predict[..], &["--decimal", &one]].concat()));
    }
    // Where it is not used, nothing is asked.
    folder.done(&[&["fit", "experiment.toml", "--force", "--exclude", "x"], &QUICK[..]].concat());
}

#[test]
fn new_rows_that_leave_it_open_are_read_as_in_training() {
    let folder = Folder::new();
    write_rows(&folder, ";", |row| {
        let decimal = |value: f64| value.to_string().replace('.', ",");
        [decimal(row as f64 / 8.0), "0,5".into(), decimal(target(row))]
    });
    fitted(&folder, &[]);
    folder.write("one.csv", "node;x;z\na;1,125;2\n");
    let answer = folder.run(&["predict", "run", "--data", "one.csv"]);
    let said = "one.csv: semicolons between cells, decimal commas, '1,125' in 'x' is 1.125 because the training rows \
                have decimal commas\n";
    assert!(answer.err.starts_with(said), "{}", answer.err);
    folder.write("two.csv", "node,x,z\na,1.125,2\n");
    assert_eq!(answer.out, folder.done(&["predict", "run", "--data", "two.csv"]));
}

#[test]
fn two_ways_of_writing_decimals_in_a_column_are_refused() {
    let folder = Folder::new();
    write_rows(&folder, ";", |row| {
        [["1,5", "2.25"][row % 2].into(), "5".into(), (row * row % 97).to_string()]
    });
    assert_eq!(
        folder.fit_refusal(&[]),
        "rows.csv: row 1, column 'x' is '1,5', and the column has both '2.25' and '1,5'; set data.format.decimal \
         (and 47 more cells of this column)"
    );
    assert_eq!(
        folder.fit_refusal(&["--decimal", "."]),
        "rows.csv: row 1, column 'x' is '1,5', and data.format.decimal is '.' (and 47 more cells of this column)"
    );
}

#[test]
fn each_file_is_written_in_its_own_way() {
    let folder = Folder::new();
    let (_, expected) = fitted(&folder, &[]);
    folder.write("rows.csv", folder.read("rows.csv").replace(',', ";").replace('.', ","));
    folder.write("edges.csv", folder.read("edges.csv").replace(',', "\t"));
    let (said, models) = fitted(&folder, &[]);
    let line = "rows.csv: semicolons between cells, decimal commas edges.csv: tabs between cells";
    assert!(said.contains(line) && models == expected, "{said}");
    let keys = [
        "--set",
        "data.format={delimiter=';',decimal=','}",
        "--set",
        "network.format.delimiter=','",
    ];
    let tab = ["--set", "network.edges_format.delimiter=\\t"];
    assert!(fitted(&folder, &[&keys[..], &tab].concat()).1 == expected);
    assert!(fitted(&folder, &["--delimiter", ";", "--decimal", ","]).1 == expected);
    assert!(fitted(&folder, &["--set", "data.delimiter=;"]).1 == expected);
    // A tab, however it is written.
    folder.write("rows.csv", folder.read("rows.csv").replace(';', "\t"));
    for tab in
        ["data.delimiter=\\t", "data.delimiter=\t", "data.delimiter=\"\\t\"", "data.delimiter=tab"]
    {
        assert!(fitted(&folder, &["--set", tab]).1 == expected, "{tab:?}");
    }
    assert!(fitted(&folder, &["--delimiter", "\\t"]).1 == expected);
    // Stored experiments of earlier versions have the old name.
    folder.edit("experiment.toml", "[data]\n", "[data]\ndelimiter = \"\\t\"\n");
    assert!(fitted(&folder, &[]).1 == expected);
    folder.edit("experiment.toml", "[data]\n", "[data]\nformat = { delimiter = \";\" }\n");
    assert_eq!(
        folder.refusal(&["fit", "experiment.toml"]),
        "experiment.toml: data.delimiter is data.format.delimiter now, which is given, too"
    );
}

#[test]
fn keys_of_formats_are_checked() {
    let folder = Folder::new();
    let cases = [
        ("data.format.decimal=;", "data.format.decimal is ';', expected \".\" or \",\""),
        (
            "network.format.thousands=x",
            "network.format.thousands is 'x', expected \",\", \".\", a space or an apostrophe",
        ),
        (
            "public.format.encoding=koi8",
            "public.format.encoding is \"koi8\", expected utf-8, utf-16 or latin-1",
        ),
        (
            "network.edges_format.delimiter=é",
            "network.edges_format.delimiter is 'é', expected one plain character",
        ),
        (
            "data.format={decimal=',', thousands=','}",
            "data.format.decimal and data.format.thousands are both ','",
        ),
        (
            "data.format.sep=;",
            "unknown key 'data.format.sep'; known are data.format.delimiter, data.format.decimal, \
             data.format.thousands, data.format.quote, data.format.encoding",
        ),
    ];
    for (assignment, sentence) in cases {
        assert_eq!(folder.fit_refusal(&["--set", assignment]), sentence);
    }
    fitted(&folder, &[]);
    let predict = ["predict", "run", "--data", "rows.csv"];
    for (flags, sentence) in [
        (["--delimiter", "ab"], "--delimiter is \"ab\", expected one character"),
        (["--decimal", ";"], "--decimal is ';', expected \".\" or \",\""),
        (["--encoding", "koi8"], "--encoding is \"koi8\", expected utf-8, utf-16 or latin-1"),
    ] {
        assert_eq!(folder.refusal(&[&predict[..], &flags].concat()), sentence);
    }
}

#[test]
fn what_is_no_table_is_refused_in_a_sentence() {
    let folder = Folder::new();
    let text = folder.read("rows.csv");
    let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut writer, text.as_bytes()).unwrap();
    let packed = writer.finish().unwrap();
    let cases: [(&str, Vec<u8>, &str); 8] = [
        (
            "cut.csv.gz",
            packed[..packed.len() / 2].to_vec(),
            "cut.csv.gz is not a whole gzip file: ",
        ),
        ("cut.zst", b"\x28\xb5\x2f\xfd\x00\x00".to_vec(), "cut.zst is not a whole zstd file: "),
        (
            "book.xlsx",
            b"PK\x03\x04rest".to_vec(),
            "book.xlsx is a workbook or a zip archive, expected a table; save it as CSV",
        ),
        (
            "a.csv.xz",
            b"\xfd7zXZ\0rest".to_vec(),
            "a.csv.xz is compressed with bzip2 or xz, expected gzip or zstd",
        ),
        (
            "old.feather",
            b"FEA1rest".to_vec(),
            "old.feather is a Feather file of version 1, expected version 2",
        ),
        ("text.arrow", text.clone().into(), "text.arrow is not an Arrow file (IPC)"),
        ("cut.arrow", b"ARROW1\0\0".to_vec(), "cut.arrow is not a whole Arrow file: "),
        (
            "odd.csv",
            b"\xff\xfen\0o".to_vec(),
            "odd.csv is not a text file (UTF-8, UTF-16 or Latin-1)",
        ),
    ];
    for (name, bytes, sentence) in cases {
        folder.write(name, bytes);
        let refused = folder.fit_refusal(&["--data", name]);
        assert!(refused.starts_with(sentence), "{refused}");
    }
    folder.write("köln.csv", [text.as_bytes(), b"K\xf6ln,1,2,3,train\n"].concat());
    assert_eq!(
        folder.fit_refusal(&["--data", "köln.csv", "--encoding", "utf-8"]),
        "köln.csv is not a text file in UTF-8; leave out data.format.encoding, or set it to \"latin-1\""
    );
    folder.write("both.csv", "node;a,y;b\nx;1,5;2\ny;2,5;3\n");
    assert_eq!(
        folder.fit_refusal(&["--data", "both.csv"]),
        "both.csv: commas or semicolons may stand between cells; set data.format.delimiter"
    );
}

#[test]
fn nested_columns_are_left_out_by_name_or_refused_where_they_are_asked_for() {
    let folder = Folder::new();
    let text = folder.read("rows.csv");
    let column = |name: &str| -> Vec<String> {
        let place = text.lines().next().unwrap().split(',').position(|one| one == name).unwrap();
        text.lines().skip(1).map(|line| line.split(',').nth(place).unwrap().into()).collect()
    };
    let words = |name: &str| -> ArrayRef { Arc::new(StringArray::from(column(name))) };
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>(
        (0..48).map(|row| Some(vec![Some(row), None])),
    );
    let times: Time32SecondArray = (0..48).map(|row| Some(1800 * (row % 3))).collect();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("node", words("node")),
        // Numbers that are written as text are numbers, as in a file of text.
        ("x", words("x")),
        (
            "half",
            Arc::new(
                (0..48).map(|row| Some(Half::from_f32(row as f32 / 8.0))).collect::<Float16Array>(),
            ),
        ),
        (
            "single",
            Arc::new((0..48).map(|row| Some((row as f32).sqrt())).collect::<Float32Array>()),
        ),
        ("small", Arc::new((0..48).map(|row| Some(row % 7)).collect::<UInt8Array>())),
        ("code", Arc::new((0..48).map(|row| (row % 9 > 0).then_some(row)).collect::<Int64Array>())),
        ("time", Arc::new(times)),
        ("tags", Arc::new(lists)),
        ("gone", Arc::new(NullArray::new(48))),
        ("y", words("y")),
        ("split", words("split")),
    ];
    let columns = columns.into_iter().map(|(name, column)| (name, column, true));
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    folder.write("rows.parquet", writer.into_inner().unwrap());
    let (said, _) = fitted(&folder, &["--data", "rows.parquet", "--missing", "mean"]);
    let features = "features: x, half, single, small, code, time (3 levels)";
    assert!(said.contains(features), "{said}");
    assert!(said.contains("left out: tags (lists or records), gone (nothing)"), "{said}");
    assert!(said.contains("Missing cells that were filled: 6 of 'code'."), "{said}");
    std::fs::remove_dir_all(folder.path("run")).unwrap();
    let asked = ["--data", "rows.parquet", "--features", "x,tags"];
    assert_eq!(
        folder.fit_refusal(&asked),
        "rows.parquet: column 'tags' holds lists or records, expected values, or another list of features"
    );
}
