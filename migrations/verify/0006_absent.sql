-- The documents that the ledger counts although a comparison of all documents has found them on neither side.
CREATE TABLE absent (
  is_proven          INTEGER NOT NULL CHECK (is_proven IN (0, 1)), -- 1: of the last proof; 0: of the comparison in progress
  identity           BLOB NOT NULL CHECK (length(identity) = 16),
  PRIMARY KEY (is_proven, identity)
) STRICT, WITHOUT ROWID;
INSERT INTO table_sums (name) VALUES ('absent');
