-- After a split, where the documents that were read before it are counted: the beginning of the first of the new parts.
ALTER TABLE parts ADD COLUMN counted_with TEXT;
-- How many documents each physical partition of both sides had when all were last counted.
CREATE TABLE spread (
  id                 INTEGER PRIMARY KEY CHECK (id = 1), -- the table has one row at most
  at_ms              INTEGER NOT NULL,
  fingerprint        TEXT NOT NULL, -- a hash of the migration's settings
  counts             TEXT NOT NULL -- JSON (SpreadCounts in src/verify/spread.ts)
) STRICT;
INSERT INTO table_sums (name) VALUES ('spread');
