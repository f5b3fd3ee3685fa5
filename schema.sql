-- The schema of a dictsent store. This file is executed to create one; the tables are reflected from it, declared nowhere
-- else. A change here needs a new user_version and a migration; a test holds the two together.
PRAGMA application_id = 1685286516; -- 'dsnt'
PRAGMA user_version = 3;

-- Where definitions came from -------------------------------------------------------------------------------------------

CREATE TABLE source (
    id          INTEGER PRIMARY KEY,
    name        TEXT NOT NULL UNIQUE,
    adapter     TEXT NOT NULL,
    language    TEXT NOT NULL,           -- of its headwords; 'mul' for several
    title       TEXT NOT NULL DEFAULT '',
    version     TEXT NOT NULL DEFAULT '',
    licence     TEXT NOT NULL DEFAULT '',
    attribution TEXT NOT NULL DEFAULT '',
    address     TEXT NOT NULL DEFAULT '',
    location    TEXT NOT NULL DEFAULT '', -- path or specifier it was read from
    checksum    TEXT NOT NULL,           -- sha256 of its files
    options     TEXT NOT NULL DEFAULT '{}', -- what the adapter was told, JSON
    records     INTEGER NOT NULL DEFAULT 0, -- definitions read, repeated ones included
    duplicates  INTEGER NOT NULL DEFAULT 0, -- of these, the ones that the store already held
    rejected    INTEGER NOT NULL DEFAULT 0,
    ingested_at TEXT NOT NULL            -- UTC, ISO 8601
) STRICT;

-- What they say ---------------------------------------------------------------------------------------------------------

CREATE TABLE entry (
    id       INTEGER PRIMARY KEY,
    language TEXT NOT NULL,              -- macro language, with the script where it is not the usual one
    headword TEXT NOT NULL,              -- NFC, white space folded, case kept
    UNIQUE (language, headword)
) STRICT;

CREATE TABLE definition (
    id       INTEGER PRIMARY KEY,
    entry_id INTEGER NOT NULL REFERENCES entry (id) ON DELETE CASCADE,
    language TEXT NOT NULL,              -- the definition is written in
    text     TEXT NOT NULL,
    key      INTEGER NOT NULL,           -- 64-bit digest of the text's comparison form
    UNIQUE (entry_id, language, key)
) STRICT;
CREATE INDEX definition_entry ON definition (entry_id); -- an entry's definitions in the order of their ids

-- Where each was seen ---------------------------------------------------------------------------------------------------

CREATE TABLE attestation (
    id             INTEGER PRIMARY KEY,
    definition_id  INTEGER NOT NULL REFERENCES definition (id) ON DELETE CASCADE,
    source_id      INTEGER NOT NULL REFERENCES source (id) ON DELETE CASCADE,
    position       INTEGER NOT NULL,     -- order within the source
    tag            TEXT,                 -- the headword's full language tag, NULL where it is the entry's
    part_of_speech TEXT NOT NULL DEFAULT '',
    sense          TEXT NOT NULL DEFAULT '',
    ili            TEXT NOT NULL DEFAULT '',
    labels         TEXT,                 -- JSON array, NULL where there are none
    form_of        TEXT,                 -- lemma, NULL for a real sense
    etymology      INTEGER NOT NULL DEFAULT 0,
    translation    INTEGER NOT NULL DEFAULT 0, -- 1: an equivalent in another language
    place          TEXT NOT NULL DEFAULT '',
    text           TEXT,                 -- as this source writes it, NULL where it is the definition's text
    definition_tag TEXT                  -- the full language tag of the text, NULL where it is the definition's
) STRICT;
CREATE INDEX attestation_definition ON attestation (definition_id);
CREATE INDEX attestation_source ON attestation (source_id);
CREATE INDEX attestation_ili ON attestation (ili) WHERE ili <> '';

CREATE TABLE example (
    attestation_id INTEGER NOT NULL REFERENCES attestation (id) ON DELETE CASCADE,
    position       INTEGER NOT NULL,
    text           TEXT NOT NULL,
    translation    TEXT NOT NULL DEFAULT '',
    source         TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (attestation_id, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE spelling (
    entry_id  INTEGER NOT NULL REFERENCES entry (id) ON DELETE CASCADE,
    source_id INTEGER NOT NULL REFERENCES source (id) ON DELETE CASCADE,
    text      TEXT NOT NULL,
    PRIMARY KEY (entry_id, text, source_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX spelling_source ON spelling (source_id);
CREATE INDEX spelling_text ON spelling (text);

-- Search ----------------------------------------------------------------------------------------------------------------

-- The words of headwords and definitions under the ids of entry and definition. No text is kept here a second time. What
-- is indexed is search_form (dictsent/store/search.py) of the row's text: characters of scripts without spaces stand
-- apart, so that a search for any run of them is a search for a phrase.
CREATE VIRTUAL TABLE headword_text USING fts5 (
    text, content = '', tokenize = "unicode61 remove_diacritics 2 categories 'L* M* N* Co'"
);
CREATE VIRTUAL TABLE definition_text USING fts5 (
    text, content = '', tokenize = "unicode61 remove_diacritics 2 categories 'L* M* N* Co'"
);
