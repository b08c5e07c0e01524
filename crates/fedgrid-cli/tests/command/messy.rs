//! Tables as people have them: each ends in a model or in one sentence with all its problems. What `check` and `fit` say of
//! each is kept in `messy.txt`; `FEDGRID_SNAPSHOTS=write` writes it anew.

use std::{fmt::Write as _, fs, io::Write as _, path::Path};

use crate::common::Folder;

/// A messy table: its name, its bytes, and flags for it.
struct Messy {
    name: &'static str,
    bytes: Vec<u8>,
    flags: &'static [&'static str],
}

/// Six shops with ten rows each: the usual columns and one more, whose cells a function gives.
fn with(column: &str, cell: impl Fn(usize) -> String) -> String {
    written(",", |row| if row == 0 { column.into() } else { cell(row - 1) }, number)
}

fn number(value: f64) -> String {
    format!("{value:.3}")
}

/// The table with a delimiter, a further cell in each line and a way to write numbers.
fn written(
    between: &str,
    cell: impl Fn(usize) -> String,
    number: impl Fn(f64) -> String,
) -> String {
    let mut text = ["shop", "price", "temp", "sales"].join(between);
    let more = |text: &mut String, row| match cell(row) {
        cell if cell.is_empty() && row == 0 => {}
        cell => write!(text, "{between}{cell}").unwrap(),
    };
    more(&mut text, 0);
    text.push('\n');
    for row in 0..60 {
        let at = row as f64;
        let (price, temp) = ((1.3 * at).sin(), (0.7 * at).cos());
        let sales = 50.0 + (1.0 + (row / 10) as f64) * price - temp + 2.0 * (row % 3) as f64;
        let cells = [price, temp, sales].map(&number).join(between);
        write!(text, "{}{between}{cells}", shop(row)).unwrap();
        if !cell(0).is_empty() {
            write!(text, "{between}{}", cell(row + 1)).unwrap();
        }
        text.push('\n');
    }
    text
}

fn shop(row: usize) -> String {
    format!("s{}", row / 10)
}

fn plain() -> String {
    written(",", |_| String::new(), number)
}

/// The plain table with other text in the place of a cell; rows count from one, below the header.
fn changed(changes: &[(usize, usize, &str)]) -> String {
    let text = plain();
    let mut lines: Vec<Vec<String>> =
        text.lines().map(|line| line.split(',').map(String::from).collect()).collect();
    for &(row, column, cell) in changes {
        lines[row][column] = cell.into();
    }
    lines.iter().map(|cells| cells.join(",") + "\n").collect()
}

fn promo(row: usize) -> String {
    ["none", "flyer", "tv"][row % 3].into()
}

fn latin1(text: &str) -> Vec<u8> {
    text.chars().map(|letter| u8::try_from(u32::from(letter)).unwrap()).collect()
}

/// Whole numbers, some of them with a comma.
fn stock() -> String {
    let line = |row: usize| {
        format!(
            "s{},\"{},{:03}\",{}\n",
            row / 10,
            1 + row % 9,
            37 * row % 1000,
            50 + row * row % 31
        )
    };
    String::from("shop,stock,sales\n") + &(0..60).map(line).collect::<String>()
}

fn gzip(text: &str) -> Vec<u8> {
    let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
    writer.write_all(text.as_bytes()).unwrap();
    writer.finish().unwrap()
}

fn utf16(text: &str) -> Vec<u8> {
    [0xff, 0xfe].into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect()
}

#[rustfmt::skip]
#[expect(clippy::too_many_lines, reason = "a list")]
fn tables() -> Vec<Messy> {
    let day = |row: usize| format!("2024-{:02}-{:02}", 1 + row % 12, 1 + row % 28);
    let none: &[&str] = &[];
    let table = |name, text: String, flags| Messy { name, bytes: text.into_bytes(), flags };
    let wide = || {
        let header: Vec<String> = (0..200).map(|k| format!("f{k}")).collect();
        let mut text = format!("shop,sales,{}\n", header.join(","));
        for row in 0..10 {
            let cells: Vec<String> = (0..200).map(|k| number(f64::from(row * 200 + k).sin())).collect();
            writeln!(text, "s{},{},{}", row % 2, number(f64::from(row * 200).sin()), cells.join(",")).unwrap();
        }
        text
    };
    vec![
        table("numbers", plain(), none),
        table("categories", with("promo", promo), none),
        table("categories excluded", with("promo", promo), &["--exclude", "pro*"]),
        table("truths", with("open", |row| ["True", "False"][row % 2].into()), none),
        table("truths in capitals", with("open", |row| ["TRUE", "FALSE"][row % 2].into()), none),
        table("truths and numbers mixed", with("open", |row| ["true", "0"][row % 2].into()), none),
        table("dates", with("day", day), none),
        table("dates with dots", with("day", |row| format!("{:02}.{:02}.2024", 1 + row % 28, 1 + row % 12)), none),
        table("dates, month first", with("day", |row| format!("{}/{}/2024", 1 + row % 12, 1 + row % 28)), none),
        table("dates that leave the month open", with("day", |row| format!("{}/{}/2024", 1 + row % 12, 1 + row % 7)), none),
        table("dates that leave the month open, told", with("day", |row| format!("{}/{}/2024", 1 + row % 12, 1 + row % 7)), &["--set", "data.columns.day.order=month-first"]),
        table("times with a zone", with("at", |row| format!("2024-01-01T{:02}:30:00+02:00", row % 24)), none),
        table("a date that is none", with("day", |row| if row == 7 { "soon".into() } else { day(row) }), none),
        table("one date", with("day", |_| "2024-01-01".into()), none),
        table("blank cells", changed(&[(3, 1, ""), (9, 1, ""), (20, 2, "")]), none),
        table("blank cells as NA", changed(&[(3, 1, "NA"), (9, 1, "N/A"), (20, 2, "NaN")]), none),
        table("blank cells by the mean", changed(&[(3, 1, ""), (9, 1, ""), (20, 2, "")]), &["--missing", "mean"]),
        table("blank cells by the most frequent", with("promo", |row| if row % 9 == 0 { String::new() } else { promo(row) }), &["--missing", "most-frequent"]),
        table("blank cells with an indicator", with("promo", |row| if row % 9 == 0 { String::new() } else { promo(row) }), &["--missing", "indicator"]),
        table("blank cells left out", changed(&[(3, 1, ""), (9, 3, ""), (20, 2, "")]), &["--missing", "drop"]),
        table("codes for missing", changed(&[(3, 1, "?"), (9, 1, "-999")]), &["--missing", "mean", "--set", "data.missing_values=[\"?\", \"-999\"]"]),
        table("blank target", changed(&[(5, 3, "")]), none),
        table("blank node", changed(&[(5, 0, "")]), none),
        table("a word among numbers", changed(&[(4, 1, "warm"), (6, 1, "cold")]), none),
        table("many problems", changed(&[(4, 1, "warm"), (6, 2, ""), (7, 1, ""), (8, 3, "x"), (9, 2, "1e300")]), none),
        table("infinite", changed(&[(3, 1, "inf")]), none),
        table("huge", changed(&[(3, 1, "1e300")]), none),
        table("scales of 36 orders", with("big", |row| format!("{:e}", 1e18 * (2.1 * row as f64).sin())), none),
        table("many levels", with("ward", |row| format!("w{}", row * row % 29)), &["--set", "data.most_levels=4"]),
        table("names of rows", with("id", |row| format!("row {row}")), none),
        table("names of rows, declared", with("id", |row| format!("row {row}")), &["--set", "data.columns.id=category"]),
        table("text that never differs", with("country", |_| "Käse".into()), none),
        table("a number that never differs", with("one", |_| "1".into()), none),
        table("a column of nothing", with("empty", |_| " ".into()), none),
        table("a column twice", with("again", |row| number((1.3 * row as f64).sin())), none),
        table("a name twice", plain().replacen("temp", "price", 1), none),
        table("all dummies", with("a,b,c", |row| ["1,0,0", "0,1,0", "0,0,1"][row % 3].into()), none),
        table("codes declared as a category", with("zip", |row| ["0100", "100", "200"][row % 3].into()), &["--set", "data.columns.zip=category"]),
        table("ordered levels", with("size", |row| ["s", "m", "l"][row % 3].into()), &["--set", "data.columns.size={levels=[\"s\",\"m\",\"l\"],ordered=true}"]),
        table("a level that is not listed", with("size", |row| ["s", "m", "xl"][row % 3].into()), &["--set", "data.columns.size={levels=[\"s\",\"m\",\"l\"],other=false}"]),
        table("whole numbers as a target", with("grade", |row| (row % 2).to_string()), &["--target", "grade"]),
        table("classes as a target", with("level", |row| ["low", "high"][row * row % 7 % 2].into()), &["--target", "level", "--set", "public.points=20", "--set", "model.ridge=0.1"]),
        table("one class", with("level", |_| "low".into()), &["--target", "level"]),
        table("a node with one row", plain() + "s9,0.1,0.2,50\n", none),
        table("200 features on ten rows", wide(), none),
        table("a mark before the first name", format!("\u{feff}{}", plain()), none),
        table("lines with carriage returns", plain().replace('\n', "\r\n"), none),
        table("spaces around cells", plain().replace(',', " , "), none),
        table("quoted cells with commas and line breaks", with("note", |row| format!("\"{}, \n\"\"{}\"\"\"", promo(row), row % 2)), none),
        table("a short row", plain() + "s1,2\n", none),
        table("nothing", String::new(), none),
        table("a header alone", "shop,price,sales\n".into(), none),
        table("no feature", "shop,sales\ns0,1\ns1,2\ns1,4\n".into(), none),
        table("semicolons", plain().replace(',', ";"), none),
        table("tabs", plain().replace(',', "\t"), none),
        table("semicolons and decimal commas", written(";", |_| String::new(), |value| number(value).replace('.', ",")), none),
        table("thousands", written(",", |_| String::new(), |value| format!("\"1,{:07.3}\"", 100.0 + value)), none),
        table("thousands with points", written(";", |_| String::new(), |value| format!("1.{:07.3}", 100.0 + value).replacen('.', "x", 1).replace('.', ",").replace('x', ".")), none),
        table("a comma that may be either", stock(), none),
        table("a comma that may be either, told", stock(), &["--thousands", ","]),
        table("a comma that other columns settle", with("stock", |row| format!("\"{},{:03}\"", 1 + row % 9, 37 * row % 1000)), none),
        table("a comma that is told", with("stock", |row| format!("\"{},{:03}\"", 1 + row % 9, 37 * row % 1000)), &["--decimal", ","]),
        table("a decimal comma among decimal points", changed(&[(4, 1, "\"0,5\"")]), none),
        table("bars", plain().replace(',', "|"), none),
        table("a line that names the delimiter", format!("sep=;\r\n{}", plain().replace(',', ";")), none),
        table("commas or semicolons", "shop;price,temp;sales\ns0;1,2;3\ns1;4,5;6\n".into(), none),
        Messy { name: "gzip", bytes: gzip(&plain()), flags: none },
        Messy { name: "half of a gzip file", bytes: gzip(&plain())[..400].to_vec(), flags: none },
        Messy { name: "zstd", bytes: zstd::encode_all(plain().as_bytes(), 1).unwrap(), flags: none },
        Messy { name: "a workbook", bytes: b"PK\x03\x04...".to_vec(), flags: none },
        Messy { name: "Latin-1", bytes: latin1(&with("ort", |row| ["Köln", "Bonn"][row % 2].into())), flags: none },
        Messy { name: "UTF-16", bytes: utf16(&plain()), flags: none },
    ]
}

/// What the command says of a table: of its columns, and the end of a fit.
fn said(table: &Messy) -> String {
    let folder = Folder::empty();
    folder.write("t.csv", &table.bytes);
    let has = |flag: &str| table.flags.contains(&flag);
    let target: &[&str] = if has("--target") { &[] } else { &["--target", "sales"] };
    let common = [&["--node", "shop"], target, table.flags].concat();
    let checked = folder.run(&[&["check", "t.csv"][..], &common].concat());
    let quick = ["--method", "shrunk", "--no-compare", "--data", "t.csv", "--out", "run"];
    let fitted = folder.run(&[&["fit", "--json"][..], &quick, &common].concat());
    let end = if fitted.code == Some(0) {
        let result: serde_json::Value = serde_json::from_str(&fitted.out).unwrap();
        let error = result["comparison"]["shrunk"]["validation"].as_f64().unwrap();
        format!("fit: {} {error:.2e}\n", result["metric"].as_str().unwrap())
    } else {
        assert_eq!(fitted.err.lines().count(), 1, "one sentence: {}", fitted.err);
        assert!(!folder.path("run").exists(), "nothing is written");
        let error: serde_json::Value = serde_json::from_str(&fitted.err).unwrap();
        let (code, error) = (fitted.code.unwrap(), &error["error"]);
        assert_eq!(error["exit_code"], code);
        format!("fit ends with {code}: fedgrid: {}\n", error["message"].as_str().unwrap())
    };
    format!("{}{}{end}", checked.out, checked.err)
}

#[test]
fn every_messy_table_ends_in_a_model_or_in_one_sentence() {
    let tables = tables();
    assert!(tables.len() >= 40);
    let mut found = String::new();
    for table in &tables {
        let flags = if table.flags.is_empty() {
            String::new()
        } else {
            format!(" [{}]", table.flags.join(" "))
        };
        write!(found, "=== {}{flags}\n{}\n", table.name, said(table)).unwrap();
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/command/messy.txt");
    if std::env::var("FEDGRID_SNAPSHOTS").is_ok_and(|how| how == "write") {
        fs::write(&path, &found).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap();
    for (found, expected) in found.split("=== ").zip(expected.split("=== ")) {
        assert_eq!(found, expected);
    }
    assert_eq!(found.len(), expected.len());
}
