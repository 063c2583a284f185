-- What a comparison last reported, for other processes to read.
CREATE TABLE progress (
  id                 INTEGER PRIMARY KEY CHECK (id = 1), -- the table has one row at most
  at_ms              INTEGER NOT NULL,
  report             TEXT NOT NULL -- JSON (VerifyProgress in src/verify/verify.ts)
) STRICT;
INSERT INTO table_sums (name) VALUES ('progress');
