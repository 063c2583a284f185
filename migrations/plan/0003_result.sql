-- What the last plan has found, in short, for the live page of the migration that follows.

CREATE TABLE result (
  id                 INTEGER PRIMARY KEY CHECK (id = 1), -- the table has one row at most
  taken_at_ms        INTEGER NOT NULL,
  summary            TEXT NOT NULL -- JSON: the candidates with their findings, and the recommendation
) STRICT;
