-- One Cosmos account. Documents are text; everything the account must find again stands beside the text.

CREATE TABLE settings (
  name  TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE databases (
  number INTEGER PRIMARY KEY AUTOINCREMENT, -- never reused: a recreated database is another one
  id     TEXT NOT NULL UNIQUE,
  rid    TEXT NOT NULL,
  body   TEXT NOT NULL, -- what the client sent, system properties apart
  etag   TEXT NOT NULL,
  ts     INTEGER NOT NULL
) STRICT;

CREATE TABLE containers (
  number     INTEGER PRIMARY KEY AUTOINCREMENT, -- never reused either
  database   INTEGER NOT NULL REFERENCES databases (number),
  id         TEXT NOT NULL,
  rid        TEXT NOT NULL,
  body       TEXT NOT NULL,
  etag       TEXT NOT NULL,
  ts         INTEGER NOT NULL,
  next_range INTEGER NOT NULL DEFAULT 0,
  next_item  INTEGER NOT NULL DEFAULT 1,
  UNIQUE (database, id)
) STRICT;

CREATE TABLE offers (
  id       TEXT PRIMARY KEY,
  resource TEXT NOT NULL UNIQUE, -- _self of the database or container it pays for
  content  TEXT NOT NULL,
  etag     TEXT NOT NULL,
  ts       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE scripts (
  number    INTEGER PRIMARY KEY AUTOINCREMENT,
  container INTEGER NOT NULL REFERENCES containers (number) ON DELETE CASCADE,
  kind      TEXT NOT NULL,
  id        TEXT NOT NULL,
  rid       TEXT NOT NULL,
  body      TEXT NOT NULL,
  etag      TEXT NOT NULL,
  ts        INTEGER NOT NULL,
  UNIQUE (container, kind, id)
) STRICT;

-- The physical ranges that exist now; they tile '' .. 'FF'.
CREATE TABLE ranges (
  container  INTEGER NOT NULL REFERENCES containers (number) ON DELETE CASCADE,
  id         INTEGER NOT NULL,
  min        TEXT NOT NULL,
  max        TEXT NOT NULL,
  parents    TEXT NOT NULL, -- JSON array of the ids it came from, oldest first
  lsn        INTEGER NOT NULL, -- of the newest transaction; never falls, not even when the document is deleted
  documents  INTEGER NOT NULL,
  bytes      INTEGER NOT NULL,
  avad_floor INTEGER NOT NULL, -- changes up to here are no longer kept
  PRIMARY KEY (container, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE documents (
  position   INTEGER PRIMARY KEY, -- container number and order of creation; the document's _rid says the same
  container  INTEGER NOT NULL,
  range      INTEGER NOT NULL,
  epk        TEXT NOT NULL,
  id         TEXT NOT NULL,
  lsn        INTEGER NOT NULL,
  ts         INTEGER NOT NULL,
  etag       TEXT NOT NULL,
  expires_at INTEGER, -- epoch seconds; null = never
  bytes      INTEGER NOT NULL,
  terms      INTEGER NOT NULL,
  key        TEXT NOT NULL, -- the key values as a JSON array, {} for a missing one
  text       TEXT NOT NULL  -- the whole document, system properties last, without its closing brace
) STRICT;
CREATE UNIQUE INDEX documents_by_identity ON documents (container, epk, id);
CREATE INDEX documents_by_lsn ON documents (container, range, lsn);
CREATE INDEX documents_by_expiry ON documents (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE unique_values (
  container INTEGER NOT NULL,
  epk       TEXT NOT NULL,
  number    INTEGER NOT NULL, -- which constraint of the container's policy
  value     TEXT NOT NULL,
  position  INTEGER NOT NULL,
  PRIMARY KEY (container, epk, number, value)
) STRICT, WITHOUT ROWID;
CREATE INDEX unique_values_by_document ON unique_values (position);

-- Every version and every delete, kept while the account serves all versions and deletes.
CREATE TABLE changes (
  number    INTEGER PRIMARY KEY,
  container INTEGER NOT NULL,
  range     INTEGER NOT NULL,
  lsn       INTEGER NOT NULL,
  epk       TEXT NOT NULL,
  ts        INTEGER NOT NULL,
  bytes     INTEGER NOT NULL,
  entry     TEXT NOT NULL
) STRICT;
CREATE INDEX changes_by_lsn ON changes (container, range, lsn);
CREATE INDEX changes_by_time ON changes (ts);

-- What a lagging replica still shows: versions that were replaced or deleted a moment ago.
CREATE TABLE superseded (
  number     INTEGER PRIMARY KEY,
  container  INTEGER NOT NULL,
  range      INTEGER NOT NULL,
  epk        TEXT NOT NULL,
  id         TEXT NOT NULL,
  position   INTEGER NOT NULL,
  lsn        INTEGER NOT NULL,
  until_lsn  INTEGER NOT NULL,
  at_ms      INTEGER NOT NULL,
  ts         INTEGER NOT NULL,
  etag       TEXT NOT NULL,
  expires_at INTEGER,
  bytes      INTEGER NOT NULL,
  text       TEXT NOT NULL
) STRICT;
CREATE INDEX superseded_by_identity ON superseded (container, epk, id);
CREATE INDEX superseded_by_time ON superseded (at_ms);
CREATE INDEX superseded_by_lsn ON superseded (container, range, lsn);
