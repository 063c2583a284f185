-- What the migration had done at moments since it began. The number of rows is bounded: the longer a migration lasts, the
-- farther apart the moments are (src/state/reading/history.ts).
CREATE TABLE history (
  at_ms              INTEGER PRIMARY KEY,
  figures            TEXT NOT NULL -- JSON (Figures in src/state/reading/history.ts)
) STRICT;
INSERT INTO table_sums (name) VALUES ('history');
