//! A report as one HTML file: paragraphs, tables, figures. Nothing is loaded from elsewhere.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use itertools::Itertools;

use super::plot::Plot;
use super::table::Table;
use super::text::{cut, escape};
use crate::rows::{RowError, make_folder, replace};
use crate::run::Origin;

const STYLE: &str = include_str!("page.css");
/// Nothing but what is in the page may be loaded.
const POLICY: &str =
    "style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; default-src 'none'";
/// A table with more columns becomes blocks on a phone.
const MOST_COLUMNS: usize = 3;
/// Names with more characters are cut …
const LONG: usize = 24;
/// … to so many.
const SHORT: usize = 19;

#[derive(Clone, Debug, Default)]
pub struct Page {
    title: String,
    body: String,
    in_figures: bool,
    /// It asks the server that has sent it.
    pub(crate) is_live: bool,
    /// Long names with what tables and plots show in their place.
    short_names: Vec<(String, String)>,
    /// Where a phone shows one table or plot at a time: the number of them.
    choice: Option<usize>,
}

impl Page {
    pub fn new(title: impl Into<String>) -> Page {
        Page {
            title: title.into(),
            ..Page::default()
        }
    }

    /// Adds a figure that most readers have come for, and a sentence that says what it means.
    pub fn key_figure(self, figure: &str, sentence: &str) -> Page {
        self.block(format_args!(
            "<p class=\"key-figure\"><b>{}</b> {}</p>",
            escape(figure),
            escape(sentence)
        ))
    }

    /// Lets tables and plots cut long ones of these names. [`names_in_full`](Page::names_in_full) tells which
    /// is which.
    pub(crate) fn shorten(mut self, names: &[&str]) -> Page {
        for &name in names.iter().filter(|name| name.chars().count() > LONG) {
            let mut short = cut(name, SHORT);
            let others = self.short_names.iter();
            let alike = others.filter(|(_, other)| other.starts_with(&short)).count();
            if alike > 0 {
                short += &format!(" {}", alike + 1);
            }
            self.short_names.push((name.to_owned(), short));
        }
        self
    }

    pub(crate) fn names_in_full(self) -> Page {
        if self.short_names.is_empty() {
            return self;
        }
        let mut page = self;
        let names = Table::of("Names in full", std::mem::take(&mut page.short_names))
            .words("short", |(_, short)| short.clone())
            .words("in full", |(name, _)| name.clone());
        page.table(&names.table())
    }

    fn shown(&self, name: &str) -> String {
        let known = self.short_names.iter().find(|(long, _)| long == name);
        known.map_or(name, |(_, short)| short).to_owned()
    }

    /// Adds a part that can be folded. One is open at a time, the first to begin with.
    pub(crate) fn part(self, heading: &str, is_open: bool, fill: impl FnOnce(Page) -> Page) -> Page {
        let open = if is_open { " open" } else { "" };
        let heading = escape(heading);
        let mut page = self.block(format_args!(
            "<details class=\"part\" name=\"part\"{open}><summary><h2>{heading}</h2></summary>"
        ));
        page.choice = Some(0);
        page = fill(page);
        page.choice = None;
        page.block(format_args!("</details>"))
    }

    /// On a phone one of the tables and plots of a part is open at a time.
    fn choosable(&mut self, title: &str, html: &str) {
        let Some(number) = self.choice else {
            return self.put(format_args!("{html}"));
        };
        let open = if number == 0 { " open" } else { "" };
        let group = self.body.matches("<details class=\"part\"").count();
        self.choice = Some(number + 1);
        self.put(format_args!(
            "<details class=\"choice\" name=\"choice{group}\"{open}><summary>{}</summary>{html}</details>",
            escape(title)
        ));
    }

    /// Adds how the report and its rows came about.
    pub fn origins<'a>(self, origins: impl IntoIterator<Item = &'a Origin>) -> Page {
        let different = origins.into_iter().unique_by(|origin| &origin.command);
        different.fold(self.heading("How this was made"), Page::origin)
    }

    pub fn origin(self, origin: &Origin) -> Page {
        let mut facts = String::new();
        for (name, value) in origin.rows() {
            facts += &format!("<dt>{}</dt><dd>{}</dd>\n", escape(name), escape(value));
        }
        let command = escape(&origin.command);
        self.block(format_args!(
            "<div class=\"origin\"><pre>{command}</pre>\n<dl>\n{facts}</dl></div>"
        ))
    }

    pub fn heading(self, text: &str) -> Page {
        self.block(format_args!("<h2>{}</h2>", escape(text)))
    }

    pub fn paragraph(self, text: &str) -> Page {
        self.block(format_args!("<p>{}</p>", escape(text)))
    }

    pub fn code(self, text: &str) -> Page {
        self.block(format_args!("<pre>{}</pre>", escape(text)))
    }

    pub fn table(self, table: &Table) -> Page {
        let class = |has_numbers: bool| if has_numbers { " class=\"n\"" } else { "" };
        let has_blocks = table.columns.len() > MOST_COLUMNS;
        let blocks = if has_blocks { " blocks" } else { "" };
        let mut html = String::new();
        if !table.caption.is_empty() {
            html += &format!("<p class=\"caption\">{}</p>\n", escape(&table.caption));
        }
        html += &format!("<div class=\"table{blocks}\" tabindex=\"0\"><table><thead><tr>");
        for (name, has_numbers) in &table.columns {
            let name = escape(&self.shown(name));
            html += &format!("<th{}>{name}</th>", class(*has_numbers));
        }
        html += "</tr></thead>\n<tbody>\n";
        for row in &table.rows {
            html += "<tr>";
            for (cell, (name, has_numbers)) in row.iter().zip(&table.columns) {
                html += "<td";
                html += class(*has_numbers);
                if has_blocks {
                    html += &format!(" data-name=\"{}\"", escape(&self.shown(name)));
                }
                html += &format!(">{}</td>", escape(&self.shown(cell)));
            }
            html += "</tr>\n";
        }
        html += "</tbody></table></div>";
        let mut page = self;
        page.close_figures();
        let title = match table.caption.split([';', ':']).next() {
            None | Some("") => "Figures",
            Some(title) => title,
        };
        page.choosable(title, &html);
        page
    }

    /// Adds a plot, if it has data, with an explanation, which may be empty. Figures that follow each other
    /// stand side by side where there is room.
    pub fn plot(mut self, plot: &Plot, caption: &str) -> Page {
        if !plot.has_data() {
            return self;
        }
        if !self.in_figures {
            self.body.push_str("<div class=\"figures\">\n");
            self.in_figures = true;
        }
        let caption = match caption {
            "" => String::new(),
            caption => format!("<figcaption>{}</figcaption>", escape(caption)),
        };
        let svg = plot.renamed(|name| self.shown(name)).to_svg();
        self.choosable(&plot.title, &format!("<figure>{svg}{caption}</figure>"));
        self
    }

    /// Adds a block of markup, in which other people's texts are escaped.
    pub(crate) fn block(mut self, html: std::fmt::Arguments<'_>) -> Page {
        self.close_figures();
        self.put(html);
        self
    }

    fn put(&mut self, html: std::fmt::Arguments<'_>) {
        // Writing into a string cannot fail.
        let _ = writeln!(self.body, "{html}");
    }

    fn close_figures(&mut self) {
        if std::mem::take(&mut self.in_figures) {
            self.body.push_str("</div>\n");
        }
    }

    pub fn to_html(&self) -> String {
        let mut page = self.clone();
        page.close_figures();
        let title = escape(&page.title);
        let body = &page.body;
        let connects = if page.is_live { "; connect-src 'self'" } else { "" };
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}{connects}\">\n<title>{title}</title>\n\
             <style>{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n{body}</main>\n</body>\n</html>\n"
        )
    }

    pub fn write(&self, folder: &Path) -> Result<PathBuf, RowError> {
        make_folder(folder)?;
        let path = folder.join("index.html");
        replace(&path, self.to_html()).map_err(RowError::io(&path))?;
        Ok(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plots_without_data_are_left_out_and_rows_of_wide_tables_name_their_columns() {
        let empty = Plot::new("empty", "x", "y")
            .line("a", [])
            .line("b", [(1.0, f64::NAN)]);
        let html = Page::new("T").plot(&empty, "").to_html();
        assert!(!html.contains("<svg"), "{html}");
        let table = |name: &'static str, first: usize| {
            let table = Table::of("", [name])
                .words("name", |name| *name)
                .numbers("one", move |_| first);
            table.numbers("two & three", move |_| first + 1)
        };
        let (wide, narrow) = (
            table("a", 1).numbers("four", |_| 3).table(),
            table("b", 4).table(),
        );
        let html = Page::new("T").table(&wide).table(&narrow).to_html();
        assert!(
            html.contains("<td class=\"n\" data-name=\"two &amp; three\">2</td>"),
            "{html}"
        );
        assert!(html.contains("<td class=\"n\">5</td>"), "{html}");
    }

    #[test]
    fn a_page_names_what_made_it() {
        let facts = vec![
            ("openings".to_owned(), "<b>.pgn".to_owned()),
            ("seed".to_owned(), String::new()),
        ];
        let origin = Origin {
            command: "zeitnot match --a='x'".into(),
            version: "1.2".into(),
            date: "2026-01-02".into(),
            facts,
            ..Origin::default()
        };
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Origin::of_folder(folder.path()), None);
        crate::run::Run::claim(folder.path(), origin.clone(), &[]).unwrap();
        assert_eq!(Origin::of_folder(folder.path()).as_ref(), Some(&origin));
        let html = Page::new("T")
            .key_figure("+12 Elo", "A is ahead")
            .origin(&origin)
            .to_html();
        for text in [
            "<b>+12 Elo</b> A is ahead",
            "zeitnot match --a=&#39;x&#39;",
            "<dt>openings</dt><dd>&lt;b&gt;.pgn</dd>",
            "2026-01-02",
        ] {
            assert!(html.contains(text), "{text}: {html}");
        }
        assert!(
            !html.contains("seed") && !html.contains("machine"),
            "what is not known is left out: {html}"
        );
    }

    #[test]
    fn long_names_are_short_in_tables_and_plots_and_in_full_below() {
        let long = [
            "smooth(mle-pieces,move-weight=stakes)",
            "smooth(mle-pieces,init-timeuse=1)",
            "legacy",
        ];
        let points = [(0.0, 0.0), (1.0, 1.0)];
        let plot = long
            .iter()
            .fold(Plot::new("plot", "x", "y"), |plot, name| plot.line(name, points));
        let table = Table::of("", long)
            .words("manager", |name| *name)
            .numbers("n", |_| 1)
            .table();
        let html = Page::new("T")
            .shorten(&long)
            .table(&table)
            .plot(&plot, "")
            .names_in_full()
            .to_html();
        for (text, count) in [
            ("<td>smooth(mle-pieces,…</td>", 2),
            ("<td>smooth(mle-pieces,… 2</td>", 2),
        ] {
            assert_eq!(html.matches(text).count(), count, "{text}: {html}");
        }
        assert_eq!(
            (
                html.matches(long[1]).count(),
                html.matches("<td>legacy</td>").count()
            ),
            (1, 1),
            "{html}"
        );
        assert!(
            !Page::new("T")
                .shorten(&["legacy"])
                .names_in_full()
                .to_html()
                .contains("in full")
        );
    }

    #[test]
    fn of_the_parts_of_a_page_one_is_open_and_a_command_is_told_once() {
        let plot = |title: &str| Plot::new(title, "x", "y").line("a", [(0.0, 0.0), (1.0, 1.0)]);
        let fill = |page: Page| page.plot(&plot("one"), "").plot(&plot("two"), "");
        let origin = |date: &str| Origin {
            command: "zeitnot x".into(),
            date: date.into(),
            ..Origin::default()
        };
        let other = Origin {
            command: "zeitnot y".into(),
            ..Origin::default()
        };
        let page = Page::new("T").part("60+0", true, fill).part("1+0", false, fill);
        let html = page.origins(&[origin("1"), other, origin("2")]).to_html();
        let count = |text: &str| html.matches(text).count();
        assert_eq!(
            (
                count("<details class=\"part\" name=\"part\" open>"),
                count("class=\"part\"")
            ),
            (1, 2)
        );
        assert_eq!(
            (
                count("name=\"choice1\" open>"),
                count("name=\"choice1\""),
                count("name=\"choice2\"")
            ),
            (1, 2, 2)
        );
        assert_eq!(
            (count("<details"), count("<div"), count("<summary>")),
            (6, count("</div>"), 6),
            "{html}"
        );
        assert_eq!(
            (count("</details>"), count("zeitnot x"), count("zeitnot y")),
            (6, 1, 1)
        );
    }

    #[test]
    fn a_page_holds_everything_and_loads_nothing() {
        let table = Table::of("A < B", ["<script>"])
            .words("name", |name| *name)
            .numbers("n", |_| 1)
            .table();
        let plot = Plot::new("plot", "x", "y").line("a", [(0.0, 0.0), (1.0, 1.0)]);
        let folder = tempfile::tempdir().unwrap();
        let page = Page::new("T & t")
            .heading("h")
            .paragraph("a < b")
            .plot(&plot, "one")
            .plot(&plot, "");
        let path = page
            .table(&table)
            .plot(&plot, "last")
            .code("zeitnot bench")
            .write(&folder.path().join("new"))
            .unwrap();
        let html = std::fs::read_to_string(path).unwrap();
        assert!(html.contains("<h1>T &amp; t</h1>") && html.contains("&lt;script&gt;"));
        assert!(!html.contains("<script") && !html.contains("src=") && !html.contains("@import"));
        let elsewhere = html
            .replace("http://www.w3.org/2000/svg", "")
            .replace("http-equiv", "");
        assert!(!elsewhere.contains("http"), "the page loads something");
        for tag in ["div", "figure", "table", "svg"] {
            assert_eq!(
                html.matches(&format!("<{tag}")).count(),
                html.matches(&format!("</{tag}>")).count(),
                "{tag}"
            );
        }
    }
}
