-- The plan file: one pass of cosmig plan over the source. The file is next to the ledger.

CREATE TABLE pass (
  id                 INTEGER PRIMARY KEY CHECK (id = 1), -- the table has one row at most
  fingerprint        TEXT NOT NULL, -- the candidates, and what else decides what is measured
  source_rid         TEXT NOT NULL,
  started_at_ms      INTEGER NOT NULL,
  now_ts             INTEGER NOT NULL, -- the service's time when the pass began: the last hour and the last day end there
  read_ru            REAL NOT NULL DEFAULT 0, -- what reading has cost up to the last checkpoint
  totals             TEXT NOT NULL DEFAULT '{}', -- JSON: what is measured whatever the key
  heads              TEXT NOT NULL DEFAULT '[]' -- JSON: the plain numbers of each candidate
) STRICT;

-- The position up to which each part of the source was read. A sample has several parts of each range.
CREATE TABLE parts (
  number             INTEGER PRIMARY KEY,
  min                TEXT NOT NULL,
  max                TEXT NOT NULL CHECK (min < max),
  range_id           TEXT NOT NULL,
  position           TEXT CHECK (position <> ''), -- null: from the beginning
  fence_lsn          INTEGER NOT NULL, -- documents with a higher LSN are left out
  is_done            INTEGER NOT NULL CHECK (is_done IN (0, 1)),
  documents          INTEGER NOT NULL
) STRICT;

-- The sketches of each candidate, packed (src/plan/sketch).
CREATE TABLE sketches (
  candidate          INTEGER NOT NULL,
  name               TEXT NOT NULL,
  bytes              BLOB NOT NULL,
  PRIMARY KEY (candidate, name)
) STRICT, WITHOUT ROWID;

-- For each other table: the number of its rows, the sum of their checksums, how many times a row was changed, and the highest
-- number that AUTOINCREMENT has given. They are updated by the statement that changes a row, and checked when the file is
-- opened (src/lib/sqlite/table-sums.ts).
CREATE TABLE table_sums (
  name               TEXT PRIMARY KEY,
  row_count          INTEGER NOT NULL DEFAULT 0,
  sum                INTEGER NOT NULL DEFAULT 0, -- of the checksums of all rows
  changes            INTEGER NOT NULL DEFAULT 0,
  last_number        INTEGER NOT NULL DEFAULT 0 -- 0: no number, or a table without AUTOINCREMENT
) STRICT, WITHOUT ROWID;
INSERT INTO table_sums (name)
  SELECT name FROM sqlite_schema
  WHERE type = 'table' AND name NOT LIKE 'sqlite\_%' ESCAPE '\' AND name NOT IN ('cosmig_schema', 'table_sums');
