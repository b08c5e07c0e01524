//! A table for other programs: CSV with all digits, Markdown, and LaTeX with the rules of the package booktabs.

use super::{ColumnUse, Grid, GridCell};

impl Grid {
    /// The table as CSV: numbers with all digits, standard errors in a column of their own, nothing where there is none.
    #[must_use]
    pub fn csv(&self) -> String {
        let heads = self.columns.iter().flat_map(|column| {
            let error = (column.kind == ColumnUse::Means).then(|| format!("{}_se", column.head));
            std::iter::once(column.head.clone()).chain(error)
        });
        let mut lines = vec![line(heads)];
        for row in &self.rows {
            let cells = row.iter().zip(&self.columns).flat_map(|(cell, column)| {
                let (value, error) = exact(cell);
                std::iter::once(value).chain((column.kind == ColumnUse::Means).then_some(error))
            });
            lines.push(line(cells));
        }
        lines.join("\n") + "\n"
    }

    /// The table as Markdown, with its notes below.
    #[must_use]
    pub fn markdown(&self) -> String {
        let escaped =
            |text: &str| text.replace('\\', "\\\\").replace('|', "\\|").replace('\n', " ");
        let row = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
        let heads = self.columns.iter().map(|column| escaped(&column.head)).collect();
        let rule =
            self.columns.iter().map(|column| if is_right(column.kind) { "--:" } else { "---" });
        let mut lines = vec![row(heads), row(rule.map(Into::into).collect())];
        let texts = self.texts();
        lines.extend(
            texts.iter().map(|cells| row(cells.iter().map(|cell| escaped(cell)).collect())),
        );
        for note in &self.notes {
            lines.extend([String::new(), escaped(note)]);
        }
        lines.join("\n") + "\n"
    }

    /// The table as LaTeX, with its notes as comments.
    #[must_use]
    pub fn latex(&self) -> String {
        let row = |cells: Vec<String>| format!("  {} \\\\", cells.join(" & "));
        let sides: String = self
            .columns
            .iter()
            .map(|column| if is_right(column.kind) { 'r' } else { 'l' })
            .collect();
        let heads = self.columns.iter().map(|column| latex_text(&column.head)).collect();
        let mut lines = vec!["% needs \\usepackage{booktabs}".to_string()];
        lines.extend(self.notes.iter().map(|note| format!("% {}", note.replace('\n', " "))));
        lines.extend([format!("\\begin{{tabular}}{{{sides}}}"), "  \\toprule".into(), row(heads)]);
        lines.push("  \\midrule".into());
        let texts = self.texts();
        let rows =
            texts.iter().map(|cells| row(cells.iter().map(|cell| latex_text(cell)).collect()));
        lines.extend(rows);
        lines.extend(["  \\bottomrule".to_string(), "\\end{tabular}".into()]);
        lines.join("\n") + "\n"
    }
}

fn is_right(kind: ColumnUse) -> bool {
    matches!(kind, ColumnUse::Numbers | ColumnUse::Means)
}

/// A cell with all digits, and its standard error.
fn exact(cell: &GridCell) -> (String, String) {
    match cell {
        GridCell::Text(text) => (text.clone(), String::new()),
        GridCell::Number(value) => (value.to_string(), String::new()),
        GridCell::Measured(value, error) => {
            (value.to_string(), error.map_or_else(String::new, |error| error.to_string()))
        }
        GridCell::Absent => (String::new(), String::new()),
    }
}

fn line(cells: impl Iterator<Item = String>) -> String {
    cells.map(|cell| quoted(&cell)).collect::<Vec<_>>().join(",")
}

/// A cell of CSV, in quotes where it needs them.
pub(crate) fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.into()
    }
}

/// A text as LaTeX prints it, signs that it has no letters for in formulas.
fn latex_text(text: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    // Raised signs together: two formulas side by side would begin a display.
    for run in letters.chunk_by(|a, b| raised(*a).is_some() == raised(*b).is_some()) {
        if raised(run[0]).is_some() {
            out.push_str("$^{");
            out.extend(run.iter().copied().filter_map(raised));
            out.push_str("}$");
        } else {
            for letter in run {
                push_latex(*letter, &mut out);
            }
        }
    }
    out
}

/// The sign that is raised, if one is.
fn raised(letter: char) -> Option<char> {
    const RAISED: [char; 11] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹', '⁻'];
    ('0'..='9').chain(['-']).zip(RAISED).find(|(_, own)| *own == letter).map(|(plain, _)| plain)
}

fn push_latex(letter: char, out: &mut String) {
    match letter {
        '&' | '%' | '$' | '#' | '_' | '{' | '}' => out.extend(['\\', letter]),
        '\\' => out.push_str("\\textbackslash{}"),
        '~' => out.push_str("\\textasciitilde{}"),
        '^' => out.push_str("\\textasciicircum{}"),
        '<' => out.push_str("$<$"),
        '>' => out.push_str("$>$"),
        '±' => out.push_str("$\\pm$"),
        '×' => out.push_str("$\\times$"),
        '−' => out.push_str("$-$"),
        '–' => out.push_str("--"),
        '∞' => out.push_str("$\\infty$"),
        other => out.push(other),
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            ColumnUse::{Means, Name, Words},
            Grid, GridCell, GridColumn,
        },
        latex_text,
    };

    fn sample() -> Grid {
        let columns = [("data_file", Name), ("network", Means), ("verdict", Words)];
        Grid {
            columns: columns.map(|(head, kind)| GridColumn::new(head, kind)).to_vec(),
            rows: vec![
                vec![
                    GridCell::Text("a|b,c".into()),
                    GridCell::Measured(5.590_412, Some(0.03)),
                    GridCell::Text("network 80 %".into()),
                ],
                vec![GridCell::Text("d".into()), GridCell::Measured(12.1, None), GridCell::Absent],
            ],
            notes: vec!["Seeds 1 to 5.".into()],
        }
    }

    #[test]
    fn csv_has_all_digits_and_an_empty_cell_for_an_absent_error() {
        assert_eq!(
            sample().csv(),
            "data_file,network,network_se,verdict\n\"a|b,c\",5.590412,0.03,network 80 %\nd,12.1,,\n"
        );
    }

    #[test]
    fn markdown_escapes_bars_and_ends_with_the_notes() {
        assert_eq!(
            sample().markdown(),
            "| data_file | network | verdict |\n| --- | --: | --- |\n\
             | a\\|b,c | 5.590 ± 0.030 | network 80 % |\n| d | 12.1 | – |\n\nSeeds 1 to 5.\n"
        );
    }

    #[test]
    fn latex_has_no_sign_that_it_would_take_for_its_own() {
        assert_eq!(
            sample().latex(),
            "% needs \\usepackage{booktabs}\n% Seeds 1 to 5.\n\\begin{tabular}{lrl}\n  \\toprule\n  \
             data\\_file & network & verdict \\\\\n  \\midrule\n  \
             a|b,c & 5.590 $\\pm$ 0.030 & network 80 \\% \\\\\n  d & 12.1 & -- \\\\\n  \\bottomrule\n\
             \\end{tabular}\n"
        );
        assert_eq!(latex_text("1.2 × 10⁻⁷"), "1.2 $\\times$ 10$^{-7}$");
        assert_eq!(
            latex_text("{a^b}\\~"),
            "\\{a\\textasciicircum{}b\\}\\textbackslash{}\\textasciitilde{}"
        );
    }
}
