//! Embeds the files of `lexicon/`, one text per role. To add a language, add a folder.

#[path = "src/lexicon/format.rs"]
mod format;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{Error, Result, Write as _};
use std::path::{Path, PathBuf};

fn main() -> Result<()> {
    let folder = Path::new("lexicon");
    let mut roles: BTreeMap<String, String> = BTreeMap::new();
    for language in listed(folder)? {
        let code = language.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        for file in listed(&language)? {
            read(&file, &code, &mut roles)?;
        }
    }
    let mut table = String::from("[\n");
    for (role, entries) in &roles {
        writeln!(table, "    ({role:?}, {entries:?}),").map_err(Error::other)?;
    }
    table.push_str("]\n");
    #[expect(clippy::disallowed_methods, reason = "cargo tells a build script in no other way where to write")]
    let out = std::env::var_os("OUT_DIR").ok_or_else(|| Error::other("cargo sets OUT_DIR"))?;
    std::fs::write(Path::new(&out).join("lexicon.rs"), table)?;
    writeln!(std::io::stdout(), "cargo::rerun-if-changed=lexicon\ncargo::rerun-if-changed=src/lexicon/format.rs")
}

/// Sorts by language, file and line.
fn listed(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut paths = std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

fn read(file: &Path, language: &str, roles: &mut BTreeMap<String, String>) -> Result<()> {
    let text = std::fs::read_to_string(file)?;
    let lines = format::lines(&text)
        .map_err(|(line, why)| Error::other(format!("crates/language/{}:{line}: {why}", file.display())))?;
    for line in lines {
        let entries = roles.entry(line.role.to_owned()).or_default();
        writeln!(entries, "{language}\t{}\t{}\t{}", line.kind, line.form, line.value).map_err(Error::other)?;
    }
    Ok(())
}
