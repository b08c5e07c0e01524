//! Lists of kinds: an enum of their names and one of the structs with their keys, from a line for each kind.

/// Makes both enums of a list of kinds.
macro_rules! kinds {
    (
        $(#[$about_kind:meta])+ $kinds:ident, $(#[$about_keyed:meta])+ $keyed:ident:
        $($(#[doc = $doc:literal])+ $kind:ident($keys:ty) = $name:literal,)+
    ) => {
        $(#[$about_kind])+
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord,
            serde::Serialize, serde::Deserialize, schemars::JsonSchema,
        )]
        pub enum $kinds {
            $($(#[doc = $doc])+ #[serde(rename = $name)] $kind,)+
        }

        impl $kinds {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$kind,)+];

            /// Its name in experiment files and results.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$kind => $name,)+ }
            }

            /// The kind of this name.
            #[must_use]
            pub fn named(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|kind| kind.name() == name)
            }

            /// The kind with the defaults of all its keys.
            #[must_use]
            pub fn with_defaults(self) -> $keyed {
                match self { $(Self::$kind => $keyed::$kind(<$keys>::default()),)+ }
            }
        }

        impl std::fmt::Display for $kinds {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }

        $(#[$about_keyed])+
        #[derive(Debug, Clone, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(tag = "kind")]
        pub enum $keyed {
            $($(#[doc = $doc])+ #[serde(rename = $name)] $kind($keys),)+
        }

        impl $keyed {
            /// Which kind it is.
            #[must_use]
            pub fn kind(&self) -> $kinds {
                match self { $(Self::$kind(_) => $kinds::$kind,)+ }
            }
        }
    };
}

pub(crate) use kinds;
