//! Tables in files of all kinds: the same table has the same plan and the same models in each, what was recognised is said, and
//! what can be read in two ways is a question.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "numbers of rows are small"
)]

use std::{io::Write as _, process::Stdio, sync::Arc};

use arrow_array::{
    Array, ArrayRef, BooleanArray, Date32Array, Decimal128Array, DictionaryArray, Float64Array,
    Int16Array, LargeStringArray, RecordBatch, StringArray, StringViewArray,
    TimestampMillisecondArray, TimestampNanosecondArray, TimestampSecondArray, UInt64Array,
    types::Int8Type,
};
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use flate2::{Compression, write::GzEncoder};
use parquet::arrow::ArrowWriter;

use crate::common::{Answer, Folder, NODES};

const ROLES: [&str; 8] = ["train", "train", "val", "train", "test", "train", "val", "test"];
const TOWNS: [&str; 3] = ["Köln", "Bonn", "Zürich"];
/// Seconds from 1970 to 2024.
const START: i64 = 1_704_067_200;
const HEADER: [&str; 10] =
    ["node", "x", "price", "count", "open", "town", "day", "at", "y", "split"];

fn x(row: usize) -> f64 {
    (1.0 + row as f64).sin()
}

/// In hundredths.
fn price(row: usize) -> i64 {
    (row * 37 % 91) as i64 * 25 + 100_000 * (row % 2) as i64
}

fn count(row: usize) -> i16 {
    (row * row % 23) as i16
}

fn is_open(row: usize) -> bool {
    row.is_multiple_of(3)
}

fn day(row: usize) -> i64 {
    (row * 7 % 300) as i64
}

/// Half hours since the start.
fn half_hours(row: usize) -> i64 {
    (row * 11) as i64
}

fn y(row: usize) -> f64 {
    x(row) + (row / 8) as f64 + (row % 3) as f64 + 0.1 * (7.0 * row as f64).cos()
}

/// A day of 2024 as files write it.
fn date(day: i64) -> String {
    let mut rest = day;
    for (month, days) in [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31].into_iter().enumerate() {
        if rest < days {
            return format!("2024-{:02}-{:02}", month + 1, rest + 1);
        }
        rest -= days;
    }
    unreachable!("a year has no more days")
}

/// The lines of the table from one row to another, with a character between cells, one before decimals, and one around text.
fn lines(rows: std::ops::Range<usize>, between: &str, decimal: &str, quote: &str) -> String {
    let quoted = |text: &str| format!("{quote}{text}{quote}");
    let mut text = HEADER.map(quoted).join(between) + "\n";
    for row in rows {
        let number = |text: String| text.replace('.', decimal);
        let half = half_hours(row);
        let cells = [
            quoted(NODES[row / 8]),
            number(x(row).to_string()),
            number(format!("{}.{:02}", price(row) / 100, price(row) % 100)),
            count(row).to_string(),
            is_open(row).to_string(),
            quoted(TOWNS[row % 3]),
            date(day(row)),
            format!("{} {:02}:{:02}:00", date(half / 48), half / 2 % 24, 30 * (half % 2)),
            number(y(row).to_string()),
            quoted(ROLES[row % 8]),
        ];
        text += &(cells.join(between) + "\n");
    }
    text
}

fn plain() -> String {
    lines(0..48, ",", ".", "")
}

fn array<T, A: Array + FromIterator<T> + 'static>(cell: impl Fn(usize) -> T) -> ArrayRef {
    Arc::new((0..48).map(cell).collect::<A>())
}

fn batch(columns: [ArrayRef; 10]) -> RecordBatch {
    RecordBatch::try_from_iter(HEADER.into_iter().zip(columns)).unwrap()
}

/// The table in types that programs like: dictionaries, decimals, times in nanoseconds with a zone.
fn typed() -> RecordBatch {
    let prices = Decimal128Array::from_iter_values((0..48).map(|row| i128::from(price(row))));
    let at = TimestampNanosecondArray::from_iter_values(
        (0..48).map(|row| (START + 1800 * half_hours(row)) * 1_000_000_000),
    );
    let towns: DictionaryArray<Int8Type> = (0..48).map(|row| TOWNS[row % 3]).collect();
    batch([
        array::<_, StringArray>(|row| Some(NODES[row / 8])),
        array::<_, Float64Array>(|row| Some(x(row))),
        Arc::new(prices.with_precision_and_scale(12, 2).unwrap()),
        array::<_, Int16Array>(|row| Some(count(row))),
        array::<_, BooleanArray>(|row| Some(is_open(row))),
        Arc::new(towns),
        array::<_, Date32Array>(|row| Some((START / 86_400 + day(row)) as i32)),
        Arc::new(at.with_timezone("Europe/Berlin")),
        array::<_, Float64Array>(|row| Some(y(row))),
        array::<_, LargeStringArray>(|row| Some(ROLES[row % 8])),
    ])
}

/// The same in others.
fn typed_otherwise() -> RecordBatch {
    batch([
        array::<_, StringViewArray>(|row| Some(NODES[row / 8])),
        array::<_, Float64Array>(|row| Some(x(row))),
        array::<_, Float64Array>(|row| Some(price(row) as f64 / 100.0)),
        array::<_, UInt64Array>(|row| Some(count(row) as u64)),
        array::<_, StringArray>(|row| Some(if is_open(row) { "True" } else { "False" })),
        array::<_, StringArray>(|row| Some(TOWNS[row % 3])),
        array::<_, TimestampSecondArray>(|row| Some(START + 86_400 * day(row))),
        array::<_, TimestampMillisecondArray>(|row| Some((START + 1800 * half_hours(row)) * 1000)),
        array::<_, Float64Array>(|row| Some(y(row))),
        array::<_, StringArray>(|row| Some(ROLES[row % 8])),
    ])
}

fn parquet_file(batch: &RecordBatch) -> Vec<u8> {
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap()
}

fn arrow_file(batch: &RecordBatch, options: IpcWriteOptions) -> Vec<u8> {
    let mut writer =
        FileWriter::try_new_with_options(Vec::new(), &batch.schema(), options).unwrap();
    // In two pieces, as large tables are.
    writer.write(&batch.slice(0, 30)).unwrap();
    writer.write(&batch.slice(30, 18)).unwrap();
    writer.finish().unwrap();
    writer.into_inner().unwrap()
}

fn arrow_stream(batch: &RecordBatch) -> Vec<u8> {
    let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(batch).unwrap();
    writer.finish().unwrap();
    writer.into_inner().unwrap()
}

fn gzip(bytes: impl AsRef<[u8]>) -> Vec<u8> {
    let mut writer = GzEncoder::new(Vec::new(), Compression::fast());
    writer.write_all(bytes.as_ref()).unwrap();
    writer.finish().unwrap()
}

fn utf16(text: &str, is_big: bool, mark: &str) -> Vec<u8> {
    let bytes = |unit: u16| if is_big { unit.to_be_bytes() } else { unit.to_le_bytes() };
    format!("{mark}{text}").encode_utf16().flat_map(bytes).collect()
}

fn latin1(text: &str) -> Vec<u8> {
    text.chars().map(|letter| u8::try_from(u32::from(letter)).unwrap()).collect()
}

/// Fits a table, and gives what was said, the plan and the models.
fn fitted(folder: &Folder, data: &[&str], out: &str) -> (String, serde_json::Value, String) {
    let quick = ["fit", "experiment.toml", "--method", "shrunk", "--no-compare", "--out", out];
    let said = folder.done(&[&quick[..], &["--data"], data].concat());
    let said = said.replace("\n(", " (").replace(",\n", ", ");
    let about = folder.json(&format!("{out}/models/about.json"));
    (said, about["columns"].clone(), folder.read(&format!("{out}/models/nodes.jsonl")))
}

#[test]
fn the_same_table_in_any_file_has_the_same_plan_and_the_same_models() {
    let folder = Folder::new();
    folder.write("plain.csv", plain());
    let (said, plan, models) = fitted(&folder, &["plain.csv"], "plain");
    assert!(!said.contains("plain.csv:"), "{said}");
    let features =
        "x, price, count, open (true or false), town (3 levels), day (days, month, weekday), at";
    assert!(said.contains(features), "{said}");
    let text = plain();
    let semicolons = lines(0..48, ";", ",", "");
    let lz4 = IpcWriteOptions::default();
    let lz4 = lz4.try_with_compression(Some(arrow_ipc::CompressionType::LZ4_FRAME)).unwrap();
    let files: [(&str, Vec<u8>, &str); 20] = [
        ("mark.csv", format!("\u{feff}{text}").into(), ""),
        ("returns.csv", text.replace('\n', "\r\n").into(), ""),
        ("quotes.csv", lines(0..48, ",", ".", "\"").into(), ""),
        ("single.csv", lines(0..48, ",", ".", "'").into(), "single quotes around cells"),
        ("packed.csv.gz", gzip(&text), "gzip"),
        ("packed.csv.zst", zstd::encode_all(text.as_bytes(), 1).unwrap(), "zstd"),
        ("points.csv", text.replace(',', ";").into(), "semicolons between cells"),
        ("semi.csv", semicolons.clone().into(), "semicolons between cells, decimal commas"),
        (
            "sep.csv",
            format!("sep=;\r\n{semicolons}").into(),
            "semicolons between cells, decimal commas",
        ),
        ("tabs.tsv", text.replace(',', "\t").into(), "tabs between cells"),
        ("bars.txt", text.replace(',', "|").into(), "bars between cells"),
        ("letters.csv", latin1(&text), "Latin-1 (Windows-1252)"),
        ("wide.csv", utf16(&text, false, "\u{feff}"), "UTF-16"),
        ("big.csv", utf16(&text, true, ""), "UTF-16"),
        (
            "all.gz",
            gzip(utf16(&semicolons, false, "\u{feff}")),
            "gzip, UTF-16, semicolons between cells, decimal commas",
        ),
        ("typed.parquet", parquet_file(&typed()), ""),
        ("otherwise.parquet", parquet_file(&typed_otherwise()), ""),
        ("typed.arrow", arrow_file(&typed(), IpcWriteOptions::default()), ""),
        ("typed.feather", arrow_file(&typed_otherwise(), lz4), ""),
        ("stream.bin", arrow_stream(&typed()), "an Arrow file"),
    ];
    for (name, bytes, words) in files {
        folder.write(name, bytes);
        let (said, own, same) = fitted(&folder, &[name], &format!("run-{name}"));
        assert_eq!(own, plan, "{name}");
        assert!(same == models, "{name}: other models");
        match words {
            "" => assert!(!said.contains(&format!("{name}:")), "{said}"),
            words => assert!(said.contains(&format!("\n{name}: {words}\n")), "{name}: {said}"),
        }
    }
}

#[test]
fn several_files_and_standard_input_are_the_table() {
    let folder = Folder::new();
    folder.write("plain.csv", plain());
    let (_, plan, models) = fitted(&folder, &["plain.csv"], "plain");
    folder.write("2024-01.csv", lines(0..20, ",", ".", ""));
    folder.write("2024-02.csv.gz", gzip(lines(20..33, ";", ",", "")));
    folder.write("2024-03.parquet", parquet_file(&typed().slice(33, 15)));
    let list = ["2024-03.parquet", "2024-01.csv", "2024-02.csv.gz"];
    for (at, data) in
        [&["2024-*"][..], &list, &["*-01.csv", "*-0?.csv.gz", "*.parquet"]].iter().enumerate()
    {
        let out = format!("several{at}");
        let (said, own, same) = fitted(&folder, data, &out);
        assert_eq!(own, plan, "{data:?}");
        assert!(same == models, "{data:?}: other models");
        assert!(
            said.contains("2024-02.csv.gz: gzip, semicolons between cells, decimal commas\n"),
            "{said}"
        );
    }
    // The stored experiment finds them again.
    folder.done(&["fit", "several1/experiment.toml", "--out", "again"]);
    assert!(folder.read("again/models/nodes.jsonl") == models);
    let by_pipe = |arguments: &[&str]| {
        let mut command = folder.command(arguments);
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let text = lines(0..48, ";", ",", "");
        child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let [out, err] = [output.stdout, output.stderr].map(|one| String::from_utf8(one).unwrap());
        Answer { code: output.status.code(), out, err }
    };
    let quick = ["--method", "shrunk", "--no-compare", "--out", "piped"];
    let piped = by_pipe(&[&["fit", "experiment.toml", "--data", "-"][..], &quick].concat());
    assert_eq!(piped.code, Some(0), "{}", piped.err);
    assert!(piped.out.contains("\nstandard input: semicolons between cells, decimal commas\n"));
    assert!(folder.read("piped/models/nodes.jsonl") == models);
    let checked = by_pipe(&["check", "-", "--node", "node", "--target", "y"]);
    assert_eq!(checked.code, Some(0), "{}", checked.err);
    assert!(checked.out.starts_with("standard input: 48 rows"), "{}", checked.out);
    let predicted = by_pipe(&["predict", "plain", "--data", "-"]);
    let said = "standard input: semicolons between cells, decimal commas\n";
    assert!(predicted.err.starts_with(said), "{}", predicted.err);
    assert_eq!(predicted.out, folder.done(&["predict", "plain", "--data", "plain.csv"]));
    assert_eq!(
        folder.fit_refusal(&["--data", "-", "--nodes", "-"]),
        "two tables are '-', but standard input is one; give a file"
    );
}

#[test]
fn files_with_other_columns_and_wrong_cells_are_named() {
    let folder = Folder::new();
    let lines = |range| lines(range, ",", ".", "");
    folder.write("a.csv", lines(0..20));
    folder.write("b.csv", lines(20..48).replacen("count", "number", 1));
    let refusal = || folder.fit_refusal(&["--data", "a.csv", "b.csv"]);
    assert_eq!(refusal(), "b.csv: there is no column 'count', which a.csv has");
    let wider = |line: &str| line.to_string() + ",1\n";
    folder.write(
        "b.csv",
        lines(20..48).lines().map(wider).collect::<String>().replacen("split,1", "split,more", 1),
    );
    assert_eq!(refusal(), "b.csv: there is a column 'more', which a.csv has not");
    folder.write("b.csv", lines(20..48));
    folder.set_cell("b.csv", 3, 1, "warm");
    folder.set_cell("b.csv", 5, 2, "");
    assert_eq!(
        refusal(),
        "a.csv, b.csv: row 3 of b.csv, column 'x' is 'warm', expected a number; column 'price' has 1 missing cell \
         of 48 (first in row 5 of b.csv); add --missing mean, most-frequent, indicator or drop (key data.missing, or \
         data.columns.price.missing for one column)"
    );
    folder.write("b.csv", lines(20..48));
    folder.set_cell("b.csv", 3, 8, "high");
    assert!(
        refusal().contains("b.csv: row 3, column 'y' is 'high', expected a number"),
        "{}",
        refusal()
    );
    assert_eq!(
        folder.fit_refusal(&["--data", "2025-*.csv"]),
        "there is no file '2025-*.csv', expected at least one"
    );
    assert_eq!(
        folder.fit_refusal(&["--data", "a.csv", "a.csv"]),
        "data.file: 'a.csv' is named twice, expected each once"
    );
    assert_eq!(
        folder.fit_refusal(&["--set", "data.file=[]"]),
        "data.file is an empty list, expected a file"
    );
}
