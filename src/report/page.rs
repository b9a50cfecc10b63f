//! A report as one HTML file: paragraphs, tables, figures; nothing is loaded from elsewhere.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::{Align, Table};

/// Colours follow the reader's system, columns fold into one on a phone, wide tables scroll in their own box.
const STYLE: &str = "\
:root{color-scheme:light dark;--paper:#fff;--ink:#1f2328;--quiet:#59636e;--rule:#d9dce0;--shade:#f6f7f8;--link:#0072b2}\
@media (prefers-color-scheme:dark){:root{--paper:#14171b;--ink:#e6e6e6;--quiet:#9aa4af;--rule:#3d434b;--shade:#1d2127;--link:#56b4e9}}\
*{box-sizing:border-box}\
body{margin:0 auto;max-width:84rem;padding:1rem;background:var(--paper);color:var(--ink);\
font:1rem/1.5 system-ui,-apple-system,'Segoe UI',Roboto,sans-serif}\
h1{font-size:1.6rem;line-height:1.2;margin:.5rem 0 1rem}h2{font-size:1.2rem;margin:2rem 0 .5rem}\
p{max-width:48rem;margin:.5rem 0}a{color:var(--link)}\
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,34rem),1fr));gap:1rem}\
figure{margin:0;padding:.25rem 0;min-width:0}figure svg{display:block}\
figcaption{color:var(--quiet);font-size:.9rem;max-width:40rem}\
.table{overflow-x:auto;margin:.5rem 0 1rem}\
table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.95rem}\
.caption p{color:var(--quiet);margin:.75rem 0 0;font-size:.9rem}\
th,td{padding:.2rem .7rem .2rem 0;text-align:left;white-space:nowrap;border-bottom:1px solid var(--rule)}\
th{border-bottom:2px solid var(--rule)}td.n,th.n{text-align:right}tbody tr:hover{background:var(--shade)}\
pre{background:var(--shade);padding:.6rem;white-space:pre-wrap;overflow-wrap:anywhere;font-size:.9rem;border-radius:4px}\
";

/// A program of ours that shows data on a page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageProgram {
    /// The `id` of the element whose text is the data as JSON.
    pub(crate) id: &'static str,
    /// Its style sheet.
    pub(crate) style: &'static str,
    /// The elements that it fills.
    pub(crate) markup: &'static str,
    /// The program, which may use any text of the data as text only, never as markup.
    pub(crate) script: &'static str,
}

/// A page that grows from top to bottom.
#[derive(Clone, Debug)]
pub struct Page {
    title: String,
    body: String,
    in_figures: bool,
}

impl Page {
    pub(crate) fn new(title: impl Into<String>) -> Page {
        Page { title: title.into(), body: String::new(), in_figures: false }
    }

    pub(crate) fn heading(self, text: &str) -> Page {
        self.block(format_args!("<h2>{}</h2>", escape(text)))
    }

    pub(crate) fn paragraph(self, text: &str) -> Page {
        self.block(format_args!("<p>{}</p>", escape(text)))
    }

    pub(crate) fn code(self, text: &str) -> Page {
        self.block(format_args!("<pre>{}</pre>", escape(text)))
    }

    pub(crate) fn table(self, table: &Table) -> Page {
        let mut html = String::from("<div class=\"caption\">");
        let class = |align: Align| if align == Align::Right { " class=\"n\"" } else { "" };
        let mut tell = |text: &str| html.push_str(text);
        if !table.caption.is_empty() {
            tell(&format!("<p>{}</p>", escape(&table.caption)));
        }
        tell("</div>\n<div class=\"table\"><table><thead><tr>");
        for (name, align) in &table.columns {
            tell(&format!("<th{}>{}</th>", class(*align), escape(name)));
        }
        tell("</tr></thead>\n<tbody>\n");
        for row in &table.rows {
            tell("<tr>");
            for (cell, (_, align)) in row.iter().zip(&table.columns) {
                tell(&format!("<td{}>{}</td>", class(*align), escape(cell)));
            }
            tell("</tr>\n");
        }
        tell("</tbody></table></div>");
        self.block(format_args!("{html}"))
    }

    /// Adds a plot (the text of an SVG, such as [`Plot::to_svg`](super::Plot::to_svg) gives) with an explanation, which
    /// may be empty. Figures that follow each other stand side by side where there is room.
    pub(crate) fn figure(mut self, svg: &str, caption: &str) -> Page {
        if !self.in_figures {
            self.body.push_str("<div class=\"figures\">\n");
            self.in_figures = true;
        }
        let caption = if caption.is_empty() {
            String::new()
        } else {
            format!("<figcaption>{}</figcaption>", escape(caption))
        };
        self.put(format_args!("<figure>{svg}{caption}</figure>"));
        self
    }

    /// Adds a program with the data that it shows. Nothing in the data can end the element that holds it.
    pub(crate) fn program(self, program: &PageProgram, data: &impl Serialize) -> Page {
        // Numbers and texts always have a form in JSON.
        let json = serde_json::to_string(data).unwrap_or_default();
        let json = json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026");
        let PageProgram { id, style, markup, script } = program;
        self.block(format_args!(
            "<style>{style}</style>\n{markup}\n<script type=\"application/json\" id=\"{id}\">{json}</script>\n<script>\n{script}</script>"
        ))
    }

    fn block(mut self, html: std::fmt::Arguments<'_>) -> Page {
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

    /// Returns the text of the whole file.
    pub fn to_html(&self) -> String {
        let mut page = self.clone();
        page.close_figures();
        let (title, body) = (escape(&page.title), &page.body);
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>{title}</title>\n\
             <style>{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n{body}</body>\n</html>\n"
        )
    }

    /// Writes `index.html` into a folder, which is created if it is missing, and gives its path.
    pub(crate) fn write(&self, folder: &Path) -> io::Result<PathBuf> {
        std::fs::create_dir_all(folder)?;
        let path = folder.join("index.html");
        std::fs::write(&path, self.to_html())?;
        Ok(path)
    }
}

/// Escapes text for HTML and SVG, and for their attributes.
pub(super) fn escape(text: &str) -> String {
    let text = printable(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('"', "&quot;").replace('\'', "&#39;")
}

/// Leaves out the characters that no page or picture may hold, in whatever form.
pub(super) fn printable(text: &str) -> String {
    text.chars().filter(|&c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Plot;

    #[test]
    fn a_page_holds_everything_and_loads_nothing() {
        let mut table = Table::new("A < B", &[("name", Align::Left), ("n", Align::Right)]);
        table.row(["<script>".into(), "1".into()]);
        let svg = Plot::new("plot", "x", "y").line("a", &[(0.0, 0.0), (1.0, 1.0)]).to_svg();
        let folder = tempfile::tempdir().unwrap();
        let page = Page::new("T & t").heading("h").paragraph("a < b").figure(&svg, "one").figure(&svg, "");
        let path = page
            .table(&table)
            .figure(&svg, "last")
            .code("zeitnot bench")
            .write(&folder.path().join("new"))
            .unwrap();
        let html = std::fs::read_to_string(path).unwrap();
        assert!(html.contains("<h1>T &amp; t</h1>") && html.contains("&lt;script&gt;"));
        assert!(!html.contains("<script") && !html.contains("src=") && !html.contains("@import"));
        let elsewhere = html.replace("http://www.w3.org/2000/svg", "");
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
