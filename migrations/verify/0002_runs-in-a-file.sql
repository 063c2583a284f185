-- Who has contributed what lies in a file beside this one (src/verify/pass/chunk-file.ts); here is where in it.

DROP TABLE runs;
CREATE TABLE chunks (
  number          INTEGER PRIMARY KEY,
  side            TEXT NOT NULL CHECK (side IN ('source', 'target')),
  start           INTEGER NOT NULL,
  ends            BLOB NOT NULL -- for every shelf where it ends in the chunk, 32 bits each
) STRICT;

-- What was being read has lost its runs, and begins anew.
DELETE FROM comparison;
DELETE FROM parts;
DELETE FROM sums;
DELETE FROM candidates;
