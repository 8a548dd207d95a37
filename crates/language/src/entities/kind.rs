//! What names stand for, as texts, hints and the gazetteer tell it.

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EntityKind {
    Person,
    Org,
    Loc,
    Misc,
}

impl EntityKind {
    /// Weight in [`super::overlap`]: people, organisations and places tell more of a story than other names.
    pub const fn weight(self) -> f64 {
        match self {
            Self::Person | Self::Org | Self::Loc => 2.0,
            Self::Misc => 1.0,
        }
    }

    /// The kind upstream's label means (`PER`, `person`, `GPE`, `LOC`, `ORG` …).
    pub fn from_label(label: &str) -> Self {
        match label.to_ascii_uppercase().as_str() {
            "PER" | "PERS" | "PERSON" | "PEOPLE" => Self::Person,
            "ORG" | "ORGANIZATION" | "ORGANISATION" | "COMPANY" => Self::Org,
            "LOC" | "GPE" | "LOCATION" | "PLACE" | "FAC" | "CITY" | "COUNTRY" => Self::Loc,
            _ => Self::Misc,
        }
    }
}
