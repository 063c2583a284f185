-- What the commit of a cutover leaves for the next turn, in which the data moves in the other direction (src/state/turns).
-- The row is written by the transaction that enters the phase `committed`; without it there is no way back.
CREATE TABLE next_turn (
  number             INTEGER PRIMARY KEY, -- odd: back to the first source; even: forth again
  delete_mode        TEXT NOT NULL, -- how deletes of the container that is now in use are detected: avad, marker or reconcile
  kept_until_ms      INTEGER NOT NULL, -- how long the operator wants to be able to return
  paused_ttl         INTEGER, -- the default time to live of the container that is kept, in seconds; null: it has none
  anchors            TEXT NOT NULL, -- JSON: where reading of each range of that container begins (AnchoredRange)
  closed_ends        TEXT NOT NULL, -- JSON: where each range of the other container ended (ClosedEnd)
  begun_at_ms        INTEGER, -- when the ledger of the next turn had begun; null: it has not
  ended_at_ms        INTEGER, -- when the operator gave the way back up (cosmig finish); null: it is open
  checksum           INTEGER NOT NULL -- of all other columns
) STRICT;
INSERT INTO table_sums (name) VALUES ('next_turn');

-- A hash of the etag that the copy has in the container that is written to; null: not known, or the first turn, in which
-- only cosmig writes there. It is in the checksum of the row unless it is null.
ALTER TABLE documents ADD COLUMN copy_etag BLOB;
