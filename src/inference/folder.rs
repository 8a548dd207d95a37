//! Where models lie: a folder with a `model.toml` and the files it names, on disk or inside the binary.
//!
//! Nothing here runs a model, so it is there without the feature `models` as well.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

pub use super::error::ModelError;
pub use super::manifest::{Label, Manifest, PairOrder, Pooling, Task};

/// The file that makes a folder a model.
pub const MANIFEST_FILE: &str = "model.toml";

/// Files of a model that is inside the binary: name and content.
type BundledFiles = &'static [(&'static str, &'static [u8])];

/// The models of the repository's `models/`, so that one file is all there is to deploy. To add one: its folder there,
/// its files here, and its origin and licence in `NOTICE`.
#[cfg(feature = "models")]
const BUNDLED: &[(&str, BundledFiles)] = &[
    (
        "minilm-en-ru-uk-int8",
        &[
            (MANIFEST_FILE, include_bytes!("../../models/minilm-en-ru-uk-int8/model.toml")),
            ("model.onnx", include_bytes!("../../models/minilm-en-ru-uk-int8/model.onnx")),
            ("tokenizer.json", include_bytes!("../../models/minilm-en-ru-uk-int8/tokenizer.json")),
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
];
#[cfg(not(feature = "models"))]
const BUNDLED: &[(&str, BundledFiles)] = &[];

#[derive(Debug, Clone)]
enum Source {
    Disk(PathBuf),
    Binary(BundledFiles),
}

/// A model that can be loaded.
#[derive(Debug, Clone)]
pub struct ModelFolder {
    pub manifest: Manifest,
    source: Source,
}

impl ModelFolder {
    /// Reads a folder's `model.toml`. Its other files are only looked at by [`Self::verify`] and when it is loaded.
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

    /// The models inside the binary; none without the feature `models`.
    pub fn bundled() -> Vec<Self> {
        // A test reads each of them, so that what is left out here was never released.
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

    /// Where it is, for people.
    pub fn location(&self) -> String {
        match &self.source {
            Source::Disk(dir) => dir.display().to_string(),
            Source::Binary(_) => format!("the binary ({})", self.manifest.name),
        }
    }

    /// Whether it is one of those inside the binary.
    pub fn is_bundled(&self) -> bool {
        matches!(self.source, Source::Binary(_))
    }

    /// A file's content: borrowed from the binary, or read from disk.
    ///
    /// # Errors
    /// [`ModelError::File`] when there is no such file or it cannot be read.
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

    /// A file's content, held against its checksum where the manifest gives one.
    ///
    /// # Errors
    /// [`ModelError::File`], or [`ModelError::Checksum`] for a file that is not the one named.
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

    /// A file to load: held against its checksum on disk; what is inside the binary was held against it when it was built.
    #[cfg(feature = "models")]
    pub(super) fn content(&self, name: &str) -> Result<Cow<'static, [u8]>, ModelError> {
        if self.is_bundled() { self.file(name) } else { self.verified(name) }
    }

    /// The model's graph and weights, as [`Self::content`].
    #[cfg(feature = "models")]
    pub(super) fn weights(&self) -> Result<Cow<'static, [u8]>, ModelError> {
        self.content(&self.manifest.model)
    }

    /// Whether every file is there and the one that was meant.
    pub fn verify(&self) -> Result<(), ModelError> {
        self.manifest.files().into_iter().try_for_each(|file| self.verified(file).map(drop))
    }

    /// Bytes of all its files together.
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

/// The models of a folder: each of its folders that holds a `model.toml`, by name. A folder that is not there is an
/// error, since somebody named it; one without models is an empty list.
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
    fn a_folder_that_is_not_there_says_which_key_names_it() {
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
    fn missing_and_changed_files_are_told_apart() {
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
            assert_eq!(model.manifest.sha256.len(), 2, "both files of {name} have a checksum");
            assert!(model.manifest.licence.is_some() && model.manifest.origin.is_some(), "{name} says whence it comes");
        }
    }
}
