-- The ledger: everything that cosmig remembers about one migration.
--
-- These columns have the same meaning in every table:
-- identity     16 bytes: a hash of a source document's id and source partition key
-- slot         16 bytes: a hash of an id and a target partition key, the place of a copy in the target
-- etag          8 bytes: a hash of the _etag of the source version that was written
-- target_key   the target partition key: typed values, packed (src/state/segments/key-bytes.ts)
-- feed         LV: the change feed in latest-version mode; AVAD: the feed of all versions and deletes
-- index_id     the number of an index; leases that descend from the same range share an index
-- checksum     of the columns that are named there, verified whenever they are read (src/lib/sqlite/table-sums.ts)

CREATE TABLE migration (
  id                 INTEGER PRIMARY KEY CHECK (id = 1), -- the table has one row
  pinned_spec        TEXT NOT NULL, -- JSON: the settings that may not change, each as text
  fingerprint        TEXT NOT NULL, -- a hash of these settings
  created_at_ms      INTEGER NOT NULL,
  ledger_name        TEXT NOT NULL, -- random; the reservation of the target has it (src/preflight/reservation.ts)
  source_rid         TEXT, -- null until both containers were inspected
  target_rid         TEXT,
  source_ttl         INTEGER, -- the source container's default TTL in seconds; -1: on without a default; null: off
  delete_mode        TEXT, -- avad, marker or reconcile; null until it is decided
  phase              TEXT NOT NULL, -- src/engine/phases.ts lists the phases
  last_sequence      INTEGER NOT NULL DEFAULT 0 -- the highest outcome number that is durable
) STRICT;

-- The position up to which each part of the key space was read. After a split or merge the old leases stay as history.
CREATE TABLE leases (
  number             INTEGER PRIMARY KEY AUTOINCREMENT,
  index_id           INTEGER NOT NULL,
  range_id           TEXT NOT NULL,
  parents            TEXT NOT NULL, -- JSON array of lease numbers
  min                TEXT NOT NULL,
  max                TEXT NOT NULL CHECK (min < max),
  phase              TEXT NOT NULL CHECK (phase IN ('copy', 'recopy', 'tail', 'replaced')),
  lv_position        TEXT CHECK (lv_position <> ''), -- null: from the beginning
  avad_position      TEXT CHECK (avad_position <> ''), -- null: AVAD is not read
  restart_position   TEXT CHECK (restart_position <> ''), -- an LV position from before the first AVAD position was taken
  anchor_etag        TEXT CHECK (anchor_etag <> ''),
  anchor_lsn         INTEGER,
  anchor_session     TEXT,
  copied_lsn         INTEGER, -- no page of the copy came from a replica newer than this LSN; null: not copied yet
  sweep_pending      INTEGER NOT NULL DEFAULT 0, -- how often deletes or renames were missed since both sides were compared
  documents_read     INTEGER NOT NULL DEFAULT 0
) STRICT;

-- The newest session token of each source range. Later reads of the range send it, so they never see an older state.
CREATE TABLE source_session_tokens (
  range_id           TEXT PRIMARY KEY,
  token              TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The newest session token of each target range at the last commit. A comparison sends it, so it never sees an older state.
CREATE TABLE target_session_tokens (
  range_id           TEXT PRIMARY KEY,
  token              TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Units of work (a page of a feed, a retry, a promotion) that were begun and are not committed.
CREATE TABLE intents (
  unit               INTEGER PRIMARY KEY,
  lease              INTEGER REFERENCES leases (number), -- null: a retry or a promotion, which moves no position
  feed               TEXT NOT NULL CHECK (feed IN ('LV', 'AVAD'))
) STRICT;
CREATE INDEX intents_by_lease ON intents (lease, unit);

-- Single writes, removals and takeovers that a unit may have sent. Copied documents are in its segments instead.
CREATE TABLE claims (
  unit               INTEGER NOT NULL REFERENCES intents (unit),
  number             INTEGER NOT NULL,
  kind               TEXT NOT NULL CHECK (kind IN ('write', 'remove', 'takeover')),
  identity           BLOB NOT NULL, -- in a takeover: the identity of the document that may have lost the slot
  slot               BLOB NOT NULL,
  target_key         BLOB NOT NULL,
  name               BLOB NOT NULL, -- the id and the source key of the document as JSON texts
  PRIMARY KEY (unit, number)
) STRICT, WITHOUT ROWID;

-- Documents of the bulk copy, packed (src/state/segments/segment.ts). A segment is written with the intent of its unit.
CREATE TABLE segments (
  number             INTEGER PRIMARY KEY AUTOINCREMENT,
  index_id           INTEGER NOT NULL,
  feed               TEXT NOT NULL,
  documents          INTEGER NOT NULL,
  lsn_base           INTEGER NOT NULL,
  checksum           INTEGER NOT NULL, -- of feed, documents, lsn_base and entries
  entries            BLOB NOT NULL
) STRICT;

-- The ids and source keys of the documents in a segment. Only a resume needs a row, so the commit deletes it.
CREATE TABLE segment_names (
  unit               INTEGER NOT NULL,
  segment            INTEGER NOT NULL,
  checksum           INTEGER NOT NULL, -- of segment and names
  names              BLOB NOT NULL,
  PRIMARY KEY (unit, segment)
) STRICT;

-- A segment that has a row here is committed. Its document i has the outcome number first_sequence + offset i - 1. Offset 0
-- means that the document was not written.
CREATE TABLE outcomes (
  segment            INTEGER PRIMARY KEY,
  first_sequence     INTEGER NOT NULL,
  checksum           INTEGER NOT NULL, -- of segment, first_sequence and offsets
  offsets            BLOB -- null: all documents were written, and their outcome numbers are consecutive
) STRICT;

-- How far the build of an index over the segments has come (src/state/index/build.ts).
CREATE TABLE index_builds (
  index_id           INTEGER PRIMARY KEY,
  phase              TEXT NOT NULL CHECK (phase IN ('collect', 'merge', 'done')),
  last_segment       INTEGER NOT NULL DEFAULT 0, -- all segments up to this number are in a run
  output_run         INTEGER, -- the number of the run that is being written
  last_entry         BLOB -- the last entry that was written to this run or left out of it
) STRICT;

-- Sorted runs of an index under construction; a finished index is one run.
CREATE TABLE index_runs (
  number             INTEGER PRIMARY KEY AUTOINCREMENT,
  index_id           INTEGER NOT NULL,
  level              INTEGER NOT NULL
) STRICT;
CREATE INDEX index_runs_by_index ON index_runs (index_id);

-- Sorted entries (identity, segment, position in the segment), as many as fill a page of the file.
CREATE TABLE index_blocks (
  number             INTEGER PRIMARY KEY,
  run                INTEGER NOT NULL,
  first_entry        BLOB NOT NULL,
  checksum           INTEGER NOT NULL, -- of run and entries
  entries            BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX index_blocks_by_first_entry ON index_blocks (run, first_entry);

-- Index entries that are void: the identity has no copy in the slot from an outcome with a number below this sequence.
CREATE TABLE overrides (
  identity           BLOB NOT NULL,
  slot               BLOB NOT NULL,
  sequence           INTEGER NOT NULL,
  PRIMARY KEY (identity, slot)
) STRICT, WITHOUT ROWID;

-- The state of each document that the tail has written, moved or deleted. It takes precedence over the index.
CREATE TABLE documents (
  identity           BLOB PRIMARY KEY,
  state              TEXT NOT NULL CHECK (state IN ('live', 'tombstone', 'quarantined')),
  slot               BLOB, -- the slot of the copy; null: no copy. A quarantined document may have an outdated copy
  target_key         BLOB,
  etag               BLOB, -- null: the version is unknown
  lsn                INTEGER,
  feed               TEXT NOT NULL CHECK (feed IN ('LV', 'AVAD')),
  checksum           INTEGER NOT NULL, -- of all other columns
  CHECK ((slot IS NULL) = (target_key IS NULL))
) STRICT, WITHOUT ROWID;

-- Documents that could not be written, and why.
CREATE TABLE dead_letters (
  number             INTEGER PRIMARY KEY AUTOINCREMENT, -- dead letters are retried in this order
  identity           BLOB NOT NULL,
  state              TEXT NOT NULL CHECK (state IN ('open', 'closed', 'discarded')),
  reason             TEXT NOT NULL,
  code               TEXT NOT NULL,
  why                TEXT NOT NULL,
  id                 TEXT NOT NULL, -- JSON text, exactly as in the document
  source_key         TEXT NOT NULL, -- JSON array
  target_key         TEXT, -- JSON array; null: the document has no target key
  slot               BLOB,
  waits_for_slot     BLOB,
  waits_for_key      BLOB,
  attempts           INTEGER NOT NULL,
  updated_at_ms      INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX dead_letters_open ON dead_letters (identity) WHERE state = 'open';
CREATE INDEX dead_letters_by_slot ON dead_letters (waits_for_slot, number) WHERE state = 'open' AND waits_for_slot IS NOT NULL;
CREATE INDEX dead_letters_by_key ON dead_letters (waits_for_key, number) WHERE state = 'open' AND waits_for_key IS NOT NULL;
CREATE INDEX dead_letters_by_state ON dead_letters (state, number);

CREATE TABLE counters (
  name               TEXT PRIMARY KEY,
  value              INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- One row for each command that worked with this ledger.
CREATE TABLE runs (
  number             INTEGER PRIMARY KEY AUTOINCREMENT,
  command            TEXT NOT NULL,
  pid                INTEGER NOT NULL, -- for people; only the lock file says whether the process still runs
  started_at_ms      INTEGER NOT NULL,
  ended_at_ms        INTEGER, -- null: still running, or killed
  outcome            TEXT,
  reported_at_ms     INTEGER, -- when the command last reported its progress
  report             TEXT, -- the last report as JSON (RunReport in src/state/runs.ts)
  last_request       TEXT -- JSON: when the run last began a request to the target (LastRequest in src/state/runs.ts)
) STRICT;

-- What happened, in order (src/state/journal.ts lists the events).
CREATE TABLE journal (
  number             INTEGER PRIMARY KEY AUTOINCREMENT,
  at_ms              INTEGER NOT NULL,
  event              TEXT NOT NULL,
  details            TEXT NOT NULL -- JSON object
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
