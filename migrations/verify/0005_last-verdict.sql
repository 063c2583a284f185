-- What the last comparison of documents has found. Unlike a proof, it is also kept when both sides differ.
CREATE TABLE last_verdict (
  id                 INTEGER PRIMARY KEY CHECK (id = 1), -- the table has one row at most
  at_ms              INTEGER NOT NULL,
  fingerprint        TEXT NOT NULL, -- a hash of the migration's settings
  found              TEXT NOT NULL -- JSON (VerdictFound in src/verify/last-verdict.ts)
) STRICT;
INSERT INTO table_sums (name) VALUES ('last_verdict');
