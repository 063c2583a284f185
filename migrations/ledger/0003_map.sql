-- How far the target was read to map what it holds (src/engine/map/map-pass.ts), for a target that another ledger or another tool
-- has filled. The documents themselves are in segments of index 0. The parts tile the key space of the target.
CREATE TABLE map_parts (
  min                TEXT PRIMARY KEY,
  max                TEXT NOT NULL CHECK (min < max),
  range_id           TEXT NOT NULL,
  position           TEXT CHECK (position <> ''), -- null: from the beginning
  fence_lsn          INTEGER NOT NULL, -- the end of the range when the map was begun; later documents are left out
  is_done            INTEGER NOT NULL CHECK (is_done IN (0, 1)),
  documents          INTEGER NOT NULL,
  counted_with       TEXT -- after a split: the part that counts the documents that were read before it
) STRICT, WITHOUT ROWID;

-- What the map has found (one row).
CREATE TABLE map_totals (
  id                 INTEGER PRIMARY KEY CHECK (id = 1), -- the table has one row
  mapped             INTEGER NOT NULL DEFAULT 0, -- documents that are in a segment
  strangers          INTEGER NOT NULL DEFAULT 0 -- documents that cosmig has not written, by their content
) STRICT;
INSERT INTO table_sums (name) VALUES ('map_parts'), ('map_totals');
