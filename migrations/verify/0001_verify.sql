-- The verify file: one comparison of both sides, and the last proof. The file is next to the ledger.

CREATE TABLE comparison (
  id                 INTEGER PRIMARY KEY CHECK (id = 1), -- the table has one row at most
  fingerprint        TEXT NOT NULL, -- a hash of the migration's settings
  source_rid         TEXT NOT NULL,
  target_rid         TEXT NOT NULL,
  target_ttl         INTEGER, -- the default TTL of the target; null: it is off, or does not count in this migration
  started_at_ms      INTEGER NOT NULL,
  stage              TEXT NOT NULL CHECK (stage IN ('reading', 'listed', 'done')),
  extent             TEXT NOT NULL CHECK (extent IN ('all', 'changes')), -- changes: only those since the last proof
  listed_at_ms       INTEGER, -- when the candidates were listed; null: not listed yet
  read_ms            INTEGER, -- how long it takes to read both sides; null: not known
  is_after_repair    INTEGER NOT NULL CHECK (is_after_repair IN (0, 1)) -- 1: differences found before were repaired
) STRICT;

-- The position up to which each part of a side was read. The parts of a side cover the key space without overlaps.
CREATE TABLE parts (
  side               TEXT NOT NULL CHECK (side IN ('source', 'target')),
  min                TEXT NOT NULL,
  max                TEXT NOT NULL CHECK (min < max),
  range_id           TEXT NOT NULL,
  position           TEXT CHECK (position <> ''), -- null: from the beginning
  fence_lsn          INTEGER NOT NULL, -- documents with a higher LSN are left out of the sums
  is_done            INTEGER NOT NULL CHECK (is_done IN (0, 1)),
  documents          INTEGER NOT NULL,
  PRIMARY KEY (side, min)
) STRICT, WITHOUT ROWID;

-- The sums of all buckets of a side, packed (src/verify/pass/buckets.ts).
CREATE TABLE sums (
  side               TEXT PRIMARY KEY,
  buckets            BLOB NOT NULL,
  refused            TEXT NOT NULL, -- JSON: the number of documents without a digest, by reason
  long_integers      INTEGER NOT NULL, -- the number of documents with an integer beyond 2^53
  repeated           INTEGER NOT NULL DEFAULT 0 -- documents that count twice, because a merge of ranges had them read again
) STRICT, WITHOUT ROWID;

-- The places of a side's entries in the chunk file, which is next to this file (src/verify/pass/chunk-file.ts).
CREATE TABLE chunks (
  number             INTEGER PRIMARY KEY,
  side               TEXT NOT NULL CHECK (side IN ('source', 'target')),
  start              INTEGER NOT NULL,
  shelf_ends         BLOB NOT NULL -- the end of each shelf in the chunk, 32 bits each
) STRICT;

-- The documents that may differ, with the result of the last check on both sides.
CREATE TABLE candidates (
  identity           BLOB PRIMARY KEY CHECK (length(identity) = 16),
  name               TEXT NOT NULL, -- JSON: id, source key, and the target keys under which a copy may exist
  state              TEXT NOT NULL CHECK (state IN ('open', 'equal', 'letter', 'waived', 'expired', 'confirmed')),
  kind               TEXT, -- how the document differed
  seen               TEXT, -- what the last check saw on both sides
  fence_lsn          INTEGER, -- the LSN of the source when a check first saw this
  since_ms           INTEGER -- when the document was first found to differ
) STRICT, WITHOUT ROWID;
CREATE INDEX candidates_by_state ON candidates (state, identity);

-- The last comparison that found both sides equal.
CREATE TABLE proofs (
  number             INTEGER PRIMARY KEY,
  at_ms              INTEGER NOT NULL,
  fingerprint        TEXT NOT NULL,
  details            TEXT NOT NULL -- JSON: the counts, and the position up to which each range of both sides was compared
) STRICT;

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
