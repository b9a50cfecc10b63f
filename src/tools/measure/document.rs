//! A report for people, as Markdown and as a page.

use std::fs;
use std::path::Path;

use serde::Serialize;

use crate::report::Table;
use crate::tools::Failure;
use crate::tools::output::write_json;

/// A report for people. It is passed on, so that it names no folder.
#[derive(Clone, Debug)]
pub(in crate::tools) struct Document {
    pub(in crate::tools) title: &'static str,
    /// The headline first: machine, network, speed.
    pub(in crate::tools) paragraphs: Vec<String>,
    /// Text to be shown as it is.
    pub(in crate::tools) code: Option<String>,
    pub(in crate::tools) tables: Vec<Table>,
    /// Plots; a build without the laboratory has none.
    #[cfg(feature = "lab")]
    pub(in crate::tools) figures: Vec<Figure>,
}

#[cfg(feature = "lab")]
#[derive(Clone, Debug)]
pub(in crate::tools) struct Figure {
    pub(in crate::tools) file: &'static str,
    pub(in crate::tools) caption: &'static str,
    pub(in crate::tools) svg: String,
}

impl Document {
    fn to_markdown(&self) -> String {
        let mut text = format!("# {}\n", self.title);
        self.paragraphs.iter().for_each(|paragraph| text += &format!("\n{paragraph}\n"));
        self.code.iter().for_each(|code| text += &format!("\n```\n{}\n```\n", code.trim_end()));
        self.tables.iter().for_each(|table| text += &format!("\n{}", table.to_markdown()));
        text
    }

    /// Writes the report into `folder`, which is made if need be: `report.md`, `data` as a JSON file of the name `json`, and in a build
    /// with the laboratory `index.html` and the plots.
    pub(in crate::tools) fn write(
        &self,
        folder: &Path,
        json: &str,
        data: &impl Serialize,
    ) -> Result<(), Failure> {
        fs::create_dir_all(folder)?;
        fs::write(folder.join("report.md"), self.to_markdown())?;
        #[cfg(feature = "lab")]
        self.write_page(folder)?;
        write_json(&folder.join(json), data)
    }

    #[cfg(feature = "lab")]
    fn write_page(&self, folder: &Path) -> Result<(), Failure> {
        let mut page = crate::report::Page::new(self.title);
        page = self.paragraphs.iter().fold(page, |page, paragraph| page.paragraph(paragraph));
        page = self.code.iter().fold(page, |page, code| page.code(code));
        page = self.figures.iter().fold(page, |page, figure| page.figure(&figure.svg, figure.caption));
        self.tables.iter().fold(page, |page, table| page.table(table)).write(folder)?;
        let mut figures = self.figures.iter();
        Ok(figures.try_for_each(|figure| fs::write(folder.join(figure.file), &figure.svg))?)
    }
}
