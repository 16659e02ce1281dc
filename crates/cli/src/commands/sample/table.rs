//! CSV files of points: unchanged records, and the two coordinates in each.

use crate::failure::Failure;
use std::io::BufRead;

/// Usual names of columns with coordinates, in lower case.
const USUAL: [(&str, &str); 6] = [
    ("x", "y"),
    ("lon", "lat"),
    ("longitude", "latitude"),
    ("lng", "lat"),
    ("easting", "northing"),
    ("long", "lat"),
];

/// Maximum size of a record in bytes.
const LONGEST: usize = 1 << 20;

/// Records, without their line ends, and the place of each.
pub struct Places {
    pub records: Vec<String>,
    pub places: Vec<(f64, f64)>,
}

/// A CSV file that is read from start to end.
pub struct Table<'a> {
    lines: Box<dyn BufRead + 'a>,
    header: Option<String>,
    /// The first record of a file without a header.
    first: Option<String>,
    columns: (usize, usize),
    /// Number of lines read.
    line: u64,
}

fn wrong(problem: String) -> Failure {
    Failure::Request(problem, None)
}

impl<'a> Table<'a> {
    /// Reads the header, if the first record has no numbers in the coordinate columns.
    pub fn open(lines: Box<dyn BufRead + 'a>, names: Option<&str>) -> Result<Self, Failure> {
        let mut table = Self { lines, header: None, first: None, columns: (0, 1), line: 0 };
        let Some(first) = table.record()? else { return Ok(table) };
        let cells = cells(&first);
        let is_data = |cells: &[String]| {
            let number = |at: usize| cells.get(at).is_some_and(|cell| cell.trim().parse::<f64>().is_ok());
            number(0) && number(1)
        };
        let find = |name: &str| cells.iter().position(|cell| cell.trim().eq_ignore_ascii_case(name.trim()));
        match names {
            Some(names) => {
                let pair = names.split_once(',').ok_or_else(|| {
                    wrong(format!(
                        "`--columns {names}`: expected two names with a comma between them, as x,y"
                    ))
                })?;
                let place = |name: &str| {
                    find(name).ok_or_else(|| {
                        wrong(format!("no column is named `{}`; the header is `{first}`", name.trim()))
                    })
                };
                table.columns = (place(pair.0)?, place(pair.1)?);
                table.header = Some(first);
            }
            None if is_data(&cells) => table.first = Some(first),
            None => {
                let found = USUAL.iter().find_map(|(x, y)| find(x).zip(find(y)));
                table.columns = found.ok_or_else(|| {
                    let hint = Some("`--columns X,Y` names the columns");
                    Failure::Request(format!("no columns with coordinates in the header `{first}`"), hint)
                })?;
                table.header = Some(first);
            }
        }
        Ok(table)
    }

    pub fn header(&self) -> Option<&str> {
        self.header.as_deref()
    }

    /// Returns the next records, at most `count`; none at the end.
    pub fn next(&mut self, count: usize) -> Result<Places, Failure> {
        let mut found = Places { records: Vec::new(), places: Vec::new() };
        while found.records.len() < count {
            let record = match self.first.take() {
                Some(first) => first,
                None => match self.record()? {
                    Some(record) => record,
                    None => break,
                },
            };
            let cells = cells(&record);
            let number = |at: usize| cells.get(at).and_then(|cell| cell.trim().parse::<f64>().ok());
            let place = number(self.columns.0).zip(number(self.columns.1)).ok_or_else(|| {
                wrong(format!("line {}: expected two coordinates, got `{record}`", self.line))
            })?;
            found.records.push(record);
            found.places.push(place);
        }
        Ok(found)
    }

    /// Returns the next record that is not empty. A quoted cell may contain line ends.
    fn record(&mut self) -> Result<Option<String>, Failure> {
        let mut record = String::new();
        loop {
            let room = (LONGEST + 1).saturating_sub(record.len()) as u64;
            let mut limited = std::io::Read::take(&mut self.lines, room);
            let read = limited.read_line(&mut record).map_err(|error| Failure::Io("points".into(), error))?;
            if record.len() > LONGEST {
                return Err(wrong(format!("line {}: longer than {LONGEST} bytes", self.line + 1)));
            }
            if read > 0 {
                self.line += 1;
            }
            let is_open = record.bytes().filter(|&byte| byte == b'"').count() % 2 == 1;
            match (read, is_open) {
                (0, true) => return Err(wrong(format!("line {}: a quoted cell does not end", self.line))),
                (_, true) => continue,
                (0, false) if record.trim().is_empty() => return Ok(None),
                (_, false) => {}
            }
            let text = record.trim_end_matches(['\n', '\r']).trim_start_matches('\u{feff}');
            if !text.trim().is_empty() {
                return Ok(Some(text.to_owned()));
            }
            record.clear();
        }
    }
}

/// Returns the cells of a record, without quotes.
fn cells(record: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let (mut quoted, mut characters) = (false, record.chars().peekable());
    while let Some(character) = characters.next() {
        match character {
            '"' if quoted && characters.peek() == Some(&'"') => {
                characters.next();
                if let Some(cell) = cells.last_mut() {
                    cell.push('"');
                }
            }
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            other => {
                if let Some(cell) = cells.last_mut() {
                    cell.push(other);
                }
            }
        }
    }
    cells
}

/// Returns a cell, with quotes if it needs them.
pub fn quoted(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Header, places and records.
    type Read = (Option<String>, Vec<(f64, f64)>, Vec<String>);

    fn read(text: &str, names: Option<&str>) -> Result<Read, String> {
        let mut table =
            Table::open(Box::new(text.as_bytes()), names).map_err(|failure| failure.sentence())?;
        let Places { records, places } = table.next(100).map_err(|failure| failure.sentence())?;
        Ok((table.header().map(str::to_owned), places, records))
    }

    #[test]
    fn headers_are_optional_and_columns_have_names() {
        let (header, places, records) = read("1,2\n\n-3.5,4e1,more\r\n", None).unwrap();
        assert_eq!((header, places), (None, vec![(1.0, 2.0), (-3.5, 40.0)]));
        assert_eq!(records, ["1,2", "-3.5,4e1,more"]);
        let (header, places, _) = read("\u{feff}id,Lat,LON\n7,50,10", None).unwrap();
        assert_eq!((header.as_deref(), places), (Some("id,Lat,LON"), vec![(10.0, 50.0)]));
        let (_, places, records) = read("a,b,name\n1,2,\"x,\n\"\"y\"\"\"\n3,4,z\n", Some("b, a")).unwrap();
        assert_eq!((places, records.len()), (vec![(2.0, 1.0), (4.0, 3.0)], 2));
        assert_eq!(read("", None).unwrap().1, []);
    }

    #[test]
    fn what_is_no_point_is_named_with_its_line() {
        assert!(read("east,nord\n1,2", None).unwrap_err().contains("`east,nord`"));
        assert!(read("x,y\n1,2\n3,four\n", None).unwrap_err().contains("line 3: expected two coordinates"));
        assert!(read("x,y\n1", None).unwrap_err().contains("line 2"));
        assert!(read("x,y\n1,2", Some("x,z")).unwrap_err().contains("`z`"));
        assert!(read("x,y\n1,2", Some("x")).unwrap_err().contains("two names"));
        assert!(read("x,y\n1,2,\"open\n", None).unwrap_err().contains("does not end"));
        assert!(
            read(&format!("x,y\n1,2,{}", "z".repeat(2 << 20)), None).unwrap_err().contains("longer than")
        );
    }
}
