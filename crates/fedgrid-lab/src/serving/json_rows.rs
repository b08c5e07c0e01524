//! Rows as JSON, read cell by cell into columns.

use std::{borrow::Cow, collections::HashMap, fmt};

use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::source::JsonCell;

/// The columns that models ask for; others are passed over.
#[derive(Debug)]
pub(super) struct WantedColumns {
    pub(super) names: Vec<String>,
    /// The place of each.
    places: HashMap<String, usize>,
}

impl WantedColumns {
    pub(super) fn new(names: Vec<String>) -> Self {
        let places = names.iter().cloned().enumerate().map(|(place, name)| (name, place));
        Self { places: places.collect(), names }
    }

    /// Reads a body: one object, a list of them, or `{"rows": [...], "history": [...]}`.
    pub(super) fn read(&self, body: &[u8], most: usize) -> serde_json::Result<Read> {
        let mut reader = serde_json::Deserializer::from_slice(body);
        let read = (&mut reader).deserialize_any(Body { wanted: self, most })?;
        reader.end()?;
        Ok(read)
    }
}

/// What a body holds.
pub(super) struct Read {
    pub(super) rows: Rows,
    pub(super) history: Option<Rows>,
}

/// The cells of some rows, column by column; columns that no row has are empty.
pub(super) struct Rows {
    pub(super) columns: Vec<Vec<JsonCell>>,
    pub(super) count: usize,
}

impl Rows {
    fn new(columns: usize) -> Self {
        Self { columns: (0..columns).map(|_| Vec::new()).collect(), count: 0 }
    }

    /// Puts a cell into the row that is being read; false if it has one in this column already.
    fn put(&mut self, column: usize, cell: JsonCell) -> bool {
        let cells = &mut self.columns[column];
        if cells.len() > self.count {
            return false;
        }
        // Rows before it that did not have this column.
        cells.resize_with(self.count, || JsonCell::Gap);
        cells.push(cell);
        true
    }
}

/// Reads a body, of whose rows not more are kept than are allowed.
#[derive(Clone, Copy)]
struct Body<'a> {
    wanted: &'a WantedColumns,
    most: usize,
}

impl<'de> Visitor<'de> for Body<'_> {
    type Value = Read;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object from column to value, or a list of such objects")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Read, A::Error> {
        let mut rows = Rows::new(self.wanted.names.len());
        while rows.count < self.most
            && list.next_element_seed(Row { wanted: self.wanted, rows: &mut rows })?.is_some()
        {
        }
        while list.next_element::<IgnoredAny>()?.is_some() {
            rows.count += 1;
        }
        Ok(Read { rows, history: None })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Read, A::Error> {
        let mut single = Rows::new(self.wanted.names.len());
        let (mut rows, mut history) = (None, None);
        while let Some(Key(name)) = map.next_key()? {
            let several = match &*name {
                // A cell is never a list, so that a column of this name is told from many rows.
                "rows" if !self.wanted.places.contains_key("rows") => &mut rows,
                "history" if !self.wanted.places.contains_key("history") => &mut history,
                _ => {
                    read_cell(self.wanted, &mut single, &name, &mut map)?;
                    continue;
                }
            };
            *several = Some(map.next_value_seed(List(self))?);
        }
        if let Some(rows) = rows {
            return Ok(Read { rows, history });
        }
        single.count = 1;
        Ok(Read { rows: single, history })
    }
}

/// Reads the value of a column into the row that is being read.
fn read_cell<'de, A: MapAccess<'de>>(
    wanted: &WantedColumns,
    rows: &mut Rows,
    name: &str,
    map: &mut A,
) -> Result<(), A::Error> {
    let Some(&place) = wanted.places.get(name) else {
        // Tables may have more columns than models ask for, too.
        return map.next_value::<IgnoredAny>().map(|_| ());
    };
    let cell = map.next_value_seed(Cell { row: rows.count + 1, name })?;
    if rows.put(place, cell) {
        return Ok(());
    }
    Err(de::Error::custom(format_args!(
        "row {} has '{name}' twice, expected it once",
        rows.count + 1
    )))
}

/// The name of a column, borrowed where it has no escapes.
struct Key<'de>(Cow<'de, str>);

impl<'de> de::Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Name;
        impl<'de> Visitor<'de> for Name {
            type Value = Key<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a column")
            }
            fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Borrowed(name)))
            }
            fn visit_str<E>(self, name: &str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Owned(name.into())))
            }
        }
        deserializer.deserialize_str(Name)
    }
}

/// Reads a list of rows.
struct List<'a>(Body<'a>);

impl<'de> DeserializeSeed<'de> for List<'_> {
    type Value = Rows;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Rows, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for List<'_> {
    type Value = Rows;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of objects from column to value")
    }
    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Rows, A::Error> {
        Ok(self.0.visit_seq(list)?.rows)
    }
}

/// Reads one row.
struct Row<'a> {
    wanted: &'a WantedColumns,
    rows: &'a mut Rows,
}

impl<'de> DeserializeSeed<'de> for Row<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Row<'_> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object from column to value")
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(Key(name)) = map.next_key()? {
            read_cell(self.wanted, self.rows, &name, &mut map)?;
        }
        self.rows.count += 1;
        Ok(())
    }
}

/// Reads one cell.
struct Cell<'a> {
    row: usize,
    name: &'a str,
}

impl Cell<'_> {
    fn refused<E: de::Error>(&self, what: &str) -> E {
        let Self { row, name } = self;
        E::custom(format_args!(
            "row {row}, column '{name}' is {what}, expected a number, text, true, false or null"
        ))
    }
}

impl<'de> DeserializeSeed<'de> for Cell<'_> {
    type Value = JsonCell;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<JsonCell, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Cell<'_> {
    type Value = JsonCell;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, text, true, false or null")
    }
    fn visit_f64<E>(self, value: f64) -> Result<JsonCell, E> {
        Ok(JsonCell::Number(value))
    }
    fn visit_i64<E>(self, value: i64) -> Result<JsonCell, E> {
        Ok(JsonCell::Integer(value))
    }
    fn visit_u64<E>(self, value: u64) -> Result<JsonCell, E> {
        #[expect(clippy::cast_precision_loss, reason = "as any file of numbers has it")]
        let number = || JsonCell::Number(value as f64);
        Ok(i64::try_from(value).map_or_else(|_| number(), JsonCell::Integer))
    }
    fn visit_str<E>(self, text: &str) -> Result<JsonCell, E> {
        Ok(JsonCell::Text(text.trim().into()))
    }
    fn visit_bool<E>(self, truth: bool) -> Result<JsonCell, E> {
        Ok(JsonCell::Text(truth.to_string()))
    }
    fn visit_unit<E>(self) -> Result<JsonCell, E> {
        Ok(JsonCell::Gap)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, _: A) -> Result<JsonCell, A::Error> {
        Err(self.refused("a list"))
    }
    fn visit_map<A: MapAccess<'de>>(self, _: A) -> Result<JsonCell, A::Error> {
        Err(self.refused("an object"))
    }
}
