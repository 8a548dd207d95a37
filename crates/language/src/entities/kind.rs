//! Kinds of names in texts, hints and the gazetteer.

/// The kind of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EntityKind {
    Person,
    Org,
    Loc,
    Misc,
}

impl EntityKind {
    /// Returns the weight in [`super::overlap`]; people, organisations and places identify a story best.
    pub const fn weight(self) -> f64 {
        match self {
            Self::Person | Self::Org | Self::Loc => 2.0,
            Self::Misc => 1.0,
        }
    }

    /// Reads upstream's label (`PER`, `person`, `GPE`, `LOC`, `ORG` …).
    pub fn from_label(label: &str) -> Self {
        match label.to_ascii_uppercase().as_str() {
            "PER" | "PERS" | "PERSON" | "PEOPLE" => Self::Person,
            "ORG" | "ORGANIZATION" | "ORGANISATION" | "COMPANY" => Self::Org,
            "LOC" | "GPE" | "LOCATION" | "PLACE" | "FAC" | "CITY" | "COUNTRY" => Self::Loc,
            _ => Self::Misc,
        }
    }
}
