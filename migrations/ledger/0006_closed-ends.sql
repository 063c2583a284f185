-- How far the container that only cosmig may write to was searched for writes of others (src/engine/turn/strangers.ts). Only
-- in turns after the first one. The parts tile the key space of that container.
CREATE TABLE closed_ends (
  min                TEXT PRIMARY KEY,
  max                TEXT NOT NULL CHECK (min < max),
  range_id           TEXT NOT NULL,
  position           TEXT NOT NULL CHECK (position <> ''), -- in the latest-version feed
  deletes_position   TEXT CHECK (deletes_position <> '') -- in the feed of all versions, until the turn writes itself; null: not read
) STRICT, WITHOUT ROWID;
INSERT INTO table_sums (name) VALUES ('closed_ends');
