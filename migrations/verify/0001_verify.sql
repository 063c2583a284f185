-- One comparison of both sides, and what earlier ones have proven. It is kept beside the ledger, in a file of its own.

CREATE TABLE comparison (
  only            INTEGER PRIMARY KEY CHECK (only = 1),
  fingerprint     TEXT NOT NULL,
  source_rid      TEXT NOT NULL,
  target_rid      TEXT NOT NULL,
  began_at_ms     INTEGER NOT NULL,
  stage           TEXT NOT NULL CHECK (stage IN ('reading', 'listed', 'done'))
) STRICT;

-- The ranges of a side and how far each has been read; the parts of a side tile the key space.
CREATE TABLE parts (
  side            TEXT NOT NULL CHECK (side IN ('source', 'target')),
  min             TEXT NOT NULL,
  max             TEXT NOT NULL CHECK (min < max),
  range_id        TEXT NOT NULL,
  position        TEXT CHECK (position <> ''), -- null = from the beginning
  fence_lsn       INTEGER NOT NULL, -- documents beyond it are left out of the sums
  is_done         INTEGER NOT NULL CHECK (is_done IN (0, 1)),
  documents       INTEGER NOT NULL,
  PRIMARY KEY (side, min)
) STRICT, WITHOUT ROWID;

-- Packed sums of all buckets of a side (src/verify/pass/buckets.ts).
CREATE TABLE sums (
  side            TEXT PRIMARY KEY,
  buckets         BLOB NOT NULL,
  refused         TEXT NOT NULL -- JSON: how many documents were refused, by reason
) STRICT, WITHOUT ROWID;

-- Who has contributed what, by shelf (src/verify/pass/entry-chunks.ts).
CREATE TABLE runs (
  number          INTEGER PRIMARY KEY,
  side            TEXT NOT NULL,
  shelf           INTEGER NOT NULL,
  entries         BLOB NOT NULL
) STRICT;
CREATE INDEX runs_by_shelf ON runs (side, shelf);

-- Documents of unequal buckets that are not the same on both sides.
CREATE TABLE candidates (
  identity        BLOB PRIMARY KEY CHECK (length(identity) = 16),
  name            TEXT NOT NULL, -- JSON: id, source key, and the target keys where it may be
  state           TEXT NOT NULL CHECK (state IN ('open', 'equal', 'letter', 'waived', 'expired', 'confirmed')),
  kind            TEXT, -- how it differed when it was looked at last
  seen            TEXT, -- what was seen on both sides then
  fence_lsn       INTEGER, -- how far the source had come when this was seen first
  since_ms        INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX candidates_by_state ON candidates (state, identity);

-- Comparisons that ended clean.
CREATE TABLE proofs (
  number          INTEGER PRIMARY KEY,
  at_ms           INTEGER NOT NULL,
  fingerprint     TEXT NOT NULL,
  details         TEXT NOT NULL -- JSON: counts, and per range of both sides up to where it was compared
) STRICT;
