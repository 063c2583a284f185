-- One Cosmos DB account of the emulator. Documents are stored as text, next to the columns that queries need.

CREATE TABLE settings (
  name  TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE databases (
  number INTEGER PRIMARY KEY AUTOINCREMENT, -- never reused: a database that is created again is another database
  id     TEXT NOT NULL UNIQUE,
  rid    TEXT NOT NULL,
  body   TEXT NOT NULL, -- the definition as the client sent it, without system properties
  etag   TEXT NOT NULL,
  ts     INTEGER NOT NULL
) STRICT;

CREATE TABLE containers (
  number     INTEGER PRIMARY KEY AUTOINCREMENT, -- never reused
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
  resource TEXT NOT NULL UNIQUE, -- the _self of the database or container that the offer belongs to
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

-- The current physical partitions of each container. Together they cover the key space from an empty key to FF.
CREATE TABLE ranges (
  container  INTEGER NOT NULL REFERENCES containers (number) ON DELETE CASCADE,
  id         INTEGER NOT NULL,
  min        TEXT NOT NULL,
  max        TEXT NOT NULL,
  parents    TEXT NOT NULL, -- JSON array of the ids of the ranges from which this one descends, oldest first
  lsn        INTEGER NOT NULL, -- the LSN of the newest transaction; never decreases, even if that document is deleted
  documents  INTEGER NOT NULL,
  bytes      INTEGER NOT NULL,
  avad_floor INTEGER NOT NULL, -- the LSN up to which changes were deleted from the table `changes`
  PRIMARY KEY (container, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE documents (
  position   INTEGER PRIMARY KEY, -- the container's number and the order of creation, as in the document's _rid
  container  INTEGER NOT NULL,
  range      INTEGER NOT NULL,
  epk        TEXT NOT NULL,
  id         TEXT NOT NULL,
  lsn        INTEGER NOT NULL,
  ts         INTEGER NOT NULL,
  etag       TEXT NOT NULL,
  expires_at INTEGER, -- epoch seconds; null: never
  bytes      INTEGER NOT NULL,
  terms      INTEGER NOT NULL,
  key        TEXT NOT NULL, -- the key values as a JSON array, with {} for a missing value
  text       TEXT NOT NULL  -- the document with its system properties last, without the closing brace
) STRICT;
CREATE UNIQUE INDEX documents_by_identity ON documents (container, epk, id);
CREATE INDEX documents_by_lsn ON documents (container, range, lsn);
CREATE INDEX documents_by_expiry ON documents (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE unique_values (
  container INTEGER NOT NULL,
  epk       TEXT NOT NULL,
  number    INTEGER NOT NULL, -- the number of the constraint in the unique key policy of the container
  value     TEXT NOT NULL,
  position  INTEGER NOT NULL,
  PRIMARY KEY (container, epk, number, value)
) STRICT, WITHOUT ROWID;
CREATE INDEX unique_values_by_document ON unique_values (position);

-- Every version and every delete of a document. Written while the account offers the feed of all versions and deletes.
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

-- Versions that were replaced or deleted a moment ago. A simulated replica that lags still returns these versions.
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
