//! Model folders: a `model.toml` and the files that it names, on disk or in the binary.
//!
//! Reads and verifies files. Runs no model, so it needs no feature `models`.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

pub use super::error::ModelError;
pub use super::manifest::{Label, Manifest, Pooling, Task};

pub const MANIFEST_FILE: &str = "model.toml";

type BundledFiles = &'static [(&'static str, &'static [u8])];

/// The models in the binary, so that one file is deployed. To add one: a folder in `models/`, its files here, its
/// origin and licence in `NOTICE`.
#[cfg(feature = "models")]
const BUNDLED: &[(&str, BundledFiles)] = &[
    (
        "multilingual-e5-small-int8",
        &[
            (MANIFEST_FILE, include_bytes!("../../models/multilingual-e5-small-int8/model.toml")),
            ("model.onnx", include_bytes!("../../models/multilingual-e5-small-int8/model.onnx")),
            ("tokenizer.json", include_bytes!("../../models/multilingual-e5-small-int8/tokenizer.json")),
            ("static.bin", include_bytes!("../../models/multilingual-e5-small-int8/static.bin")),
        ],
    ),
    (
        "mpnet-nli-en-ru-uk-int8",
        &[
            (MANIFEST_FILE, include_bytes!("../../models/mpnet-nli-en-ru-uk-int8/model.toml")),
            ("model.onnx", include_bytes!("../../models/mpnet-nli-en-ru-uk-int8/model.onnx")),
            ("tokenizer.json", include_bytes!("../../models/mpnet-nli-en-ru-uk-int8/tokenizer.json")),
        ],
    ),
    // After the model that names it as its partner, because the first one of a task is the default.
    (
        "e5-nli-int8",
        &[
            (MANIFEST_FILE, include_bytes!("../../models/e5-nli-int8/model.toml")),
            ("model.onnx", include_bytes!("../../models/e5-nli-int8/model.onnx")),
            ("tokenizer.json", include_bytes!("../../models/e5-nli-int8/tokenizer.json")),
        ],
    ),
];
#[cfg(not(feature = "models"))]
const BUNDLED: &[(&str, BundledFiles)] = &[];

#[derive(Debug, Clone)]
enum Source {
    Disk(PathBuf),
    Binary(BundledFiles),
}

#[derive(Debug, Clone)]
pub struct ModelFolder {
    pub manifest: Manifest,
    source: Source,
}

impl ModelFolder {
    /// Reads `model.toml`. Other files are read by [`Self::verify`] and by loading.
    pub fn read(dir: &Path) -> Result<Self, ModelError> {
        let location = dir.display().to_string();
        let text = std::fs::read_to_string(dir.join(MANIFEST_FILE)).map_err(|error| ModelError::File {
            location: location.clone(),
            file: MANIFEST_FILE.to_owned(),
            detail: error.to_string(),
        })?;
        let manifest = Manifest::parse(&text).map_err(|detail| ModelError::Manifest { location, detail })?;
        Ok(Self { manifest, source: Source::Disk(dir.to_owned()) })
    }

    /// Returns the models in the binary; none without the feature `models`.
    pub fn bundled() -> Vec<Self> {
        // A test reads each manifest, so none is skipped in a release.
        BUNDLED.iter().filter_map(|(name, files)| Self::from_binary(name, files).ok()).collect()
    }

    fn from_binary(name: &str, files: BundledFiles) -> Result<Self, ModelError> {
        let refused = |detail: String| ModelError::Manifest { location: format!("the binary ({name})"), detail };
        let (_, bytes) = files
            .iter()
            .find(|(file, _)| *file == MANIFEST_FILE)
            .ok_or_else(|| refused("it is not there".to_owned()))?;
        let text = std::str::from_utf8(bytes).map_err(|error| refused(error.to_string()))?;
        let manifest = Manifest::parse(text).map_err(refused)?;
        Ok(Self { manifest, source: Source::Binary(files) })
    }

    pub fn location(&self) -> String {
        match &self.source {
            Source::Disk(dir) => dir.display().to_string(),
            Source::Binary(_) => format!("the binary ({})", self.manifest.name),
        }
    }

    pub fn is_bundled(&self) -> bool {
        matches!(self.source, Source::Binary(_))
    }

    /// Returns a file's content.
    ///
    /// # Errors
    /// [`ModelError::File`] if it cannot be read.
    pub fn file(&self, name: &str) -> Result<Cow<'static, [u8]>, ModelError> {
        let missing = |detail: String| ModelError::File { location: self.location(), file: name.to_owned(), detail };
        match &self.source {
            Source::Disk(dir) => {
                std::fs::read(dir.join(name)).map(Cow::Owned).map_err(|error| missing(error.to_string()))
            }
            Source::Binary(files) => files
                .iter()
                .find(|(file, _)| *file == name)
                .map(|(_, bytes)| Cow::Borrowed(*bytes))
                .ok_or_else(|| missing("it is not in the binary".to_owned())),
        }
    }

    /// Returns a file's content after checking the manifest's checksum, if any.
    ///
    /// # Errors
    /// [`ModelError::File`] or [`ModelError::Checksum`].
    pub fn verified(&self, name: &str) -> Result<Cow<'static, [u8]>, ModelError> {
        let bytes = self.file(name)?;
        let Some(expected) = self.manifest.sha256.get(name) else { return Ok(bytes) };
        let found = hexadecimal(&Sha256::digest(&bytes));
        if found.eq_ignore_ascii_case(expected) {
            return Ok(bytes);
        }
        Err(ModelError::Checksum {
            location: self.location(),
            file: name.to_owned(),
            expected: expected.to_ascii_lowercase(),
            found,
        })
    }

    /// Returns a file for loading. Files in the binary were verified by the build.
    #[cfg(feature = "models")]
    pub(super) fn content(&self, name: &str) -> Result<Cow<'static, [u8]>, ModelError> {
        if self.is_bundled() { self.file(name) } else { self.verified(name) }
    }

    #[cfg(feature = "models")]
    pub(super) fn weights(&self) -> Result<Cow<'static, [u8]>, ModelError> {
        self.content(&self.manifest.model)
    }

    /// Checks that every file exists with its checksum.
    pub fn verify(&self) -> Result<(), ModelError> {
        self.manifest.files().into_iter().try_for_each(|file| self.verified(file).map(drop))
    }

    /// Returns the bytes of all files.
    pub fn size(&self) -> Result<u64, ModelError> {
        self.manifest.files().into_iter().try_fold(0, |sum, file| Ok(sum + self.file_size(file)?))
    }

    fn file_size(&self, name: &str) -> Result<u64, ModelError> {
        match &self.source {
            Source::Disk(dir) => std::fs::metadata(dir.join(name)).map(|found| found.len()).map_err(|error| {
                ModelError::File { location: self.location(), file: name.to_owned(), detail: error.to_string() }
            }),
            Source::Binary(_) => self.file(name).map(|bytes| bytes.len() as u64),
        }
    }
}

/// Returns the models of a folder, sorted by name. An empty list is valid; a missing folder is an error, because the
/// operator named it.
pub fn scan(models_dir: &Path) -> Result<Vec<ModelFolder>, ModelError> {
    let refused =
        |error: std::io::Error| ModelError::Directory { path: models_dir.to_owned(), detail: error.to_string() };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(models_dir).map_err(refused)? {
        let dir = entry.map_err(refused)?.path();
        if dir.join(MANIFEST_FILE).is_file() {
            found.push(ModelFolder::read(&dir)?);
        }
    }
    found.sort_by(|a, b| a.manifest.name.cmp(&b.manifest.name));
    for pair in found.windows(2) {
        if let [first, second] = pair
            && first.manifest.name == second.manifest.name
        {
            return Err(ModelError::SameName {
                name: first.manifest.name.clone(),
                first: first.location(),
                second: second.location(),
            });
        }
    }
    Ok(found)
}

fn hexadecimal(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or('?');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = "name = \"small\"\ntask = \"embedding\"\nmodel = \"model.onnx\"\ntokenizer = \"tokenizer.json\"\n\
                            max_length = 256\npooling = \"mean\"\ndimension = 384\n";

    fn folder(models: &Path, name: &str, manifest: &str) -> PathBuf {
        let dir = models.join(name);
        std::fs::create_dir(&dir).unwrap();
        std::fs::write(dir.join(MANIFEST_FILE), manifest).unwrap();
        dir
    }

    #[test]
    fn folders_without_a_manifest_are_passed_over() {
        let models = tempfile::tempdir().unwrap();
        std::fs::create_dir(models.path().join("empty")).unwrap();
        std::fs::write(models.path().join("README.md"), "hello").unwrap();
        folder(models.path(), "b", &MANIFEST.replace("small", "beta"));
        folder(models.path(), "c", &MANIFEST.replace("small", "alpha"));
        let names: Vec<String> = scan(models.path()).unwrap().into_iter().map(|found| found.manifest.name).collect();
        assert_eq!(names, ["alpha", "beta"]);
    }

    #[test]
    fn error_names_key_when_folder_is_missing() {
        let error = scan(Path::new("/nowhere/models")).unwrap_err().to_string();
        assert!(error.contains("/nowhere/models") && error.contains("MODELS_DIR"), "{error}");
    }

    #[test]
    fn two_models_of_one_name_are_refused() {
        let models = tempfile::tempdir().unwrap();
        folder(models.path(), "a", MANIFEST);
        folder(models.path(), "b", MANIFEST);
        assert!(matches!(scan(models.path()).unwrap_err(), ModelError::SameName { .. }));
    }

    #[test]
    fn a_bad_manifest_names_its_folder() {
        let models = tempfile::tempdir().unwrap();
        folder(models.path(), "broken", "name = 3");
        let error = scan(models.path()).unwrap_err().to_string();
        assert!(error.contains("broken") && error.contains("`name`"), "{error}");
    }

    #[test]
    fn errors_differ_when_file_is_missing_or_changed() {
        let models = tempfile::tempdir().unwrap();
        let sum = hexadecimal(&Sha256::digest(b"graph"));
        let dir = folder(models.path(), "a", &format!("{MANIFEST}[sha256]\n\"model.onnx\" = \"{sum}\"\n"));
        let model = ModelFolder::read(&dir).unwrap();
        let error = model.verify().unwrap_err();
        assert!(matches!(&error, ModelError::File { file, .. } if file == "model.onnx"), "{error}");

        std::fs::write(dir.join("model.onnx"), "graph").unwrap();
        std::fs::write(dir.join("tokenizer.json"), "{}").unwrap();
        model.verify().unwrap();
        assert_eq!(model.size().unwrap(), 7);

        std::fs::write(dir.join("model.onnx"), "other").unwrap();
        let error = model.verify().unwrap_err().to_string();
        assert!(error.contains(&sum) && error.contains("fetch it again"), "{error}");
    }

    #[test]
    fn every_bundled_model_is_whole() {
        for (name, files) in BUNDLED {
            let model = ModelFolder::from_binary(name, files).unwrap();
            model.verify().unwrap();
            assert_eq!(&model.manifest.name, name);
            assert_eq!(model.manifest.sha256.len(), files.len() - 1, "each file of {name} has a checksum");
            assert!(model.manifest.licence.is_some() && model.manifest.origin.is_some(), "{name} says whence it comes");
        }
    }
}
