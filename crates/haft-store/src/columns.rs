//! Between the columns of a row and the types they stand for.

use std::error::Error;

use haft_runtime::StoreError;
use jiff::Timestamp;
use rusqlite::Row;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::failure::Fault;

/// A time as text of fixed width, so that the order of texts is the order of times.
pub(crate) fn from_time(time: Timestamp) -> String {
    format!("{time:.9}")
}

/// A time from the text that [`from_time`] made.
pub(crate) fn to_time(row: &Row<'_>, column: usize) -> Result<Timestamp, Fault> {
    text(row, column)?.parse().map_err(|error| unreadable("a time", error))
}

/// An id.
pub(crate) fn to_id<T>(row: &Row<'_>, column: usize) -> Result<T, Fault>
where
    T: TryFrom<String, Error: Error + Send + Sync + 'static>,
{
    let id: String = row.get(column)?;
    T::try_from(id).map_err(|error| unreadable("an id", error))
}

/// An id that may be missing.
pub(crate) fn to_id_if_any<T>(row: &Row<'_>, column: usize) -> Result<Option<T>, Fault>
where
    T: TryFrom<String, Error: Error + Send + Sync + 'static>,
{
    let id: Option<String> = row.get(column)?;
    id.map(T::try_from).transpose().map_err(|error| unreadable("an id", error))
}

/// A number that counts something.
pub(crate) fn to_count(row: &Row<'_>, column: usize) -> Result<u64, Fault> {
    let count: i64 = row.get(column)?;
    u64::try_from(count).map_err(|error| unreadable("a number", error))
}

/// A number for SQLite, which knows none above `i64::MAX`: no row has a larger one.
pub(crate) fn from_count(count: impl TryInto<i64>) -> i64 {
    count.try_into().unwrap_or(i64::MAX)
}

/// A value as JSON.
pub(crate) fn from_value(value: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value)
        .map_err(|error| StoreError::caused("cannot write this down as JSON", error))
}

/// A value from the JSON that [`from_value`] made.
pub(crate) fn to_value<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> Result<T, Fault> {
    let mut reader = serde_json::Deserializer::from_str(text(row, column)?);
    // Arguments as deep as a parser allows are one level deeper inside their event. What we wrote
    // had to be walked once already, so its depth is not a danger.
    reader.disable_recursion_limit();
    T::deserialize(&mut reader)
        .and_then(|value| reader.end().map(|()| value))
        .map_err(|error| unreadable("JSON", error))
}

fn text<'a>(row: &'a Row<'_>, column: usize) -> Result<&'a str, Fault> {
    let value = row.get_ref(column)?;
    value.as_str().map_err(|error| unreadable("a text", error))
}

fn unreadable(what: &'static str, source: impl Error + Send + Sync + 'static) -> Fault {
    Fault::Unreadable { what, source: Box::new(source) }
}
