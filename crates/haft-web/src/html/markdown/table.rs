//! A table: rows of cells, written once all of them are known.

/// Most cells that one row may have: what comes after is put into the last.
const WIDEST: usize = 200;

/// The rows so far.
#[derive(Default)]
pub(super) struct Table {
    rows: Vec<Row>,
    /// Whether what comes stands in the head.
    pub(super) is_head: bool,
    /// Cells of rows above that reach down: column, rows left, text.
    reaching: Vec<(usize, usize, String)>,
    bytes: usize,
}

#[derive(Default)]
struct Row {
    cells: Vec<Cell>,
    is_head: bool,
}

#[derive(Default, Clone)]
struct Cell {
    text: String,
    align: &'static str,
    is_head: bool,
    columns: usize,
    rows: usize,
}

impl Table {
    /// Bytes of all cells.
    pub(super) fn len(&self) -> usize {
        self.bytes
    }

    pub(super) fn row(&mut self) {
        self.rows.push(Row { cells: Vec::new(), is_head: self.is_head });
        self.bytes += 4;
    }

    pub(super) fn cell(&mut self, is_head: bool, align: &str, columns: usize, rows: usize) {
        let align = match align {
            "left" => ":--",
            "right" => "--:",
            "center" => ":-:",
            _ => "---",
        };
        let Some(row) = self.rows.last_mut().filter(|row| row.cells.len() < WIDEST) else { return };
        self.bytes += 4;
        row.cells.push(Cell { text: String::new(), align, is_head, columns, rows });
    }

    /// Adds a line to the cell that is open.
    pub(super) fn add(&mut self, text: &str) {
        let Some(cell) = self.rows.last_mut().and_then(|row| row.cells.last_mut()) else { return };
        let text = text.replace("  \n", "<br>").replace('\n', " ").replace('|', "\\|");
        if !cell.text.is_empty() {
            cell.text.push_str("<br>");
        }
        cell.text.push_str(&text);
        self.bytes += text.len() * cell.columns.max(1) * cell.rows.max(1) + 4;
    }

    /// The whole of it; empty if nothing stands in it.
    pub(super) fn finish(mut self) -> String {
        let rows = std::mem::take(&mut self.rows);
        let rows: Vec<Row> = rows.into_iter().map(|row| self.spread(row)).collect();
        let columns = rows.iter().map(|row| row.cells.len()).max().unwrap_or(0);
        let filled = |cell: &&Cell| !cell.text.is_empty();
        if columns == 0 || !rows.iter().flat_map(|row| &row.cells).any(|cell| filled(&cell)) {
            return String::new();
        }
        let is_head = |row: &Row| row.is_head || row.cells.iter().all(|cell| cell.is_head);
        let (head, body) = match rows.split_first() {
            Some((first, rest)) if is_head(first) => (Some(first), rest),
            _ => (None, rows.as_slice()),
        };
        let aligned = |column: usize| {
            let cells = rows.iter().filter_map(|row| row.cells.get(column));
            cells.map(|cell| cell.align).find(|align| *align != "---").unwrap_or("---")
        };
        let rule: Vec<&str> = (0..columns).map(aligned).collect();
        let empty = Row::default();
        let mut lines =
            vec![line(head.unwrap_or(&empty), columns), format!("| {} |", rule.join(" | "))];
        lines.extend(body.iter().filter(|row| !row.cells.is_empty()).map(|row| line(row, columns)));
        lines.join("\n")
    }

    /// A row in which every cell stands as often as it is wide, with those that reach down from above.
    fn spread(&mut self, row: Row) -> Row {
        let mut cells: Vec<Cell> = Vec::new();
        let mut reaching = std::mem::take(&mut self.reaching);
        let from_above = |cells: &mut Vec<Cell>, reaching: &mut Vec<(usize, usize, String)>| {
            while let Some(found) =
                reaching.iter_mut().find(|(column, left, _)| *column == cells.len() && *left > 0)
            {
                found.1 -= 1;
                cells.push(Cell { text: found.2.clone(), align: "---", ..Cell::default() });
            }
        };
        for cell in row.cells {
            from_above(&mut cells, &mut reaching);
            for _ in 0..cell.columns.max(1) {
                if cell.rows > 1 {
                    self.reaching.push((cells.len(), cell.rows - 1, cell.text.clone()));
                }
                cells.push(cell.clone());
            }
        }
        from_above(&mut cells, &mut reaching);
        self.reaching.extend(reaching.into_iter().filter(|(_, left, _)| *left > 0));
        cells.truncate(WIDEST);
        Row { cells, is_head: row.is_head }
    }
}

fn line(row: &Row, columns: usize) -> String {
    let text = |column: usize| row.cells.get(column).map_or("", |cell| cell.text.as_str());
    let cells: Vec<&str> = (0..columns).map(text).collect();
    format!("| {} |", cells.join(" | "))
}
