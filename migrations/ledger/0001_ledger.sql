-- The memory of one migration. Hashes are 16 bytes, etags 8; a key is a list of typed values, packed (src/state/segments/key-bytes.ts).

CREATE TABLE migration (
  only            INTEGER PRIMARY KEY CHECK (only = 1),
  pinned          TEXT NOT NULL, -- JSON: the fields of the spec that may not change, each as text
  fingerprint     TEXT NOT NULL,
  created_at_ms   INTEGER NOT NULL,
  source_rid      TEXT, -- null until the containers were seen
  target_rid      TEXT,
  source_ttl      INTEGER, -- the source container's default in seconds, -1 = on without one, null = off
  deletes         TEXT, -- avad, marker or reconcile; null until it is decided
  phase           TEXT NOT NULL,
  sequence        INTEGER NOT NULL DEFAULT 0 -- of the newest durable outcome
) STRICT;

-- Ranges of the source and how far each has been read. What was split or merged stays, as history.
CREATE TABLE leases (
  number          INTEGER PRIMARY KEY AUTOINCREMENT,
  tree            INTEGER NOT NULL, -- leases that come from one range are indexed together
  range_id        TEXT NOT NULL,
  parents         TEXT NOT NULL, -- JSON array of lease numbers
  min             TEXT NOT NULL,
  max             TEXT NOT NULL CHECK (min < max),
  phase           TEXT NOT NULL CHECK (phase IN ('copy', 'again', 'tail', 'replaced')),
  lv_position     TEXT CHECK (lv_position <> ''), -- null = from the beginning
  avad_position   TEXT CHECK (avad_position <> ''),
  back_position   TEXT CHECK (back_position <> ''), -- of LV, from before AVAD was primed
  anchor_etag     TEXT CHECK (anchor_etag <> ''),
  anchor_lsn      INTEGER,
  anchor_session  TEXT,
  sweep_pending   INTEGER NOT NULL DEFAULT 0 CHECK (sweep_pending IN (0, 1)),
  documents       INTEGER NOT NULL DEFAULT 0
) STRICT;

-- Nothing older is ever read again.
CREATE TABLE session_tokens (
  range_id        TEXT PRIMARY KEY,
  token           TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Units of work that are intended and not committed.
CREATE TABLE intents (
  page            INTEGER PRIMARY KEY,
  lease           INTEGER REFERENCES leases (number), -- null: a retry or a promotion, which moves no position
  feed            TEXT NOT NULL CHECK (feed IN ('LV', 'AVAD'))
) STRICT;
CREATE INDEX intents_by_lease ON intents (lease, page);

-- What may have been written, removed or taken over, besides what the segments of a page say.
CREATE TABLE claims (
  page            INTEGER NOT NULL REFERENCES intents (page),
  number          INTEGER NOT NULL,
  kind            TEXT NOT NULL CHECK (kind IN ('write', 'remove', 'takeover')),
  identity        BLOB NOT NULL,
  slot            BLOB NOT NULL,
  target_key      BLOB NOT NULL,
  name            BLOB NOT NULL, -- id and source key as JSON texts
  etag            BLOB,
  lsn             INTEGER,
  PRIMARY KEY (page, number)
) STRICT, WITHOUT ROWID;

-- Documents of the copy, packed; written with the intent.
CREATE TABLE segments (
  number          INTEGER PRIMARY KEY AUTOINCREMENT,
  tree            INTEGER NOT NULL,
  feed            TEXT NOT NULL,
  count           INTEGER NOT NULL,
  lsn_base        INTEGER NOT NULL,
  data            BLOB NOT NULL
) STRICT;

-- Who the documents of a segment are, for settling; gone with the commit.
CREATE TABLE segment_names (
  page            INTEGER NOT NULL,
  segment         INTEGER NOT NULL,
  data            BLOB NOT NULL,
  PRIMARY KEY (page, segment)
) STRICT;

-- A segment with an outcome is committed. Entry i landed with number base + marks[i] - 1; 0: it did not.
CREATE TABLE outcomes (
  segment         INTEGER PRIMARY KEY,
  base            INTEGER NOT NULL,
  marks           BLOB -- null: all landed, one after the other
) STRICT;

-- What the index over a tree's segments has come to.
CREATE TABLE index_builds (
  tree            INTEGER PRIMARY KEY,
  phase           TEXT NOT NULL CHECK (phase IN ('collect', 'merge', 'done')),
  scanned_to      INTEGER NOT NULL DEFAULT 0,
  output          INTEGER, -- the run that is being written
  consumed        BLOB -- the last entry that is in it, or was left out
) STRICT;

CREATE TABLE index_runs (
  number          INTEGER PRIMARY KEY AUTOINCREMENT,
  tree            INTEGER NOT NULL,
  level           INTEGER NOT NULL
) STRICT;
CREATE INDEX index_runs_by_tree ON index_runs (tree);

-- Sorted entries: identity, segment, place in the segment. As many as fill a page of the file.
CREATE TABLE index_blocks (
  number          INTEGER PRIMARY KEY,
  run             INTEGER NOT NULL,
  first           BLOB NOT NULL,
  data            BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX index_blocks_by_first ON index_blocks (run, first);

-- "What was written of this identity at this slot before this number is not there any more."
CREATE TABLE overrides (
  identity        BLOB NOT NULL,
  slot            BLOB NOT NULL,
  sequence        INTEGER NOT NULL,
  PRIMARY KEY (identity, slot)
) STRICT, WITHOUT ROWID;

-- Documents the tail has touched. A row beats the index.
CREATE TABLE rows (
  identity        BLOB PRIMARY KEY,
  state           TEXT NOT NULL CHECK (state IN ('live', 'tombstone', 'quarantined')),
  slot            BLOB, -- a quarantined one may have left a stale copy
  target_key      BLOB,
  etag            BLOB, -- null: not known from which version
  lsn             INTEGER,
  feed            TEXT NOT NULL CHECK (feed IN ('LV', 'AVAD')),
  CHECK ((slot IS NULL) = (target_key IS NULL))
) STRICT, WITHOUT ROWID;

CREATE TABLE dead_letters (
  number          INTEGER PRIMARY KEY AUTOINCREMENT, -- the oldest is promoted first
  identity        BLOB NOT NULL,
  state           TEXT NOT NULL CHECK (state IN ('open', 'closed', 'discarded')),
  reason          TEXT NOT NULL,
  code            TEXT NOT NULL,
  why             TEXT NOT NULL,
  id              TEXT NOT NULL, -- JSON text, as it stood in the document
  source_key      TEXT NOT NULL, -- JSON array
  target_key      TEXT, -- JSON array; null when the document has none
  slot            BLOB,
  waits_for_slot  BLOB,
  waits_for_key   BLOB,
  attempts        INTEGER NOT NULL,
  at_ms           INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX dead_letters_open ON dead_letters (identity) WHERE state = 'open';
CREATE INDEX dead_letters_by_slot ON dead_letters (waits_for_slot, number) WHERE state = 'open' AND waits_for_slot IS NOT NULL;
CREATE INDEX dead_letters_by_key ON dead_letters (waits_for_key, number) WHERE state = 'open' AND waits_for_key IS NOT NULL;
CREATE INDEX dead_letters_by_state ON dead_letters (state, number);

CREATE TABLE counters (
  name            TEXT PRIMARY KEY,
  value           INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE runs (
  number          INTEGER PRIMARY KEY AUTOINCREMENT,
  command         TEXT NOT NULL,
  pid             INTEGER NOT NULL, -- for people; the lock is what counts
  began_at_ms     INTEGER NOT NULL,
  ended_at_ms     INTEGER,
  outcome         TEXT
) STRICT;

CREATE TABLE journal (
  number          INTEGER PRIMARY KEY AUTOINCREMENT,
  at_ms           INTEGER NOT NULL,
  event           TEXT NOT NULL,
  details         TEXT NOT NULL
) STRICT;
