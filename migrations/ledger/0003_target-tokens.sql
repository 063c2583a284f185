-- How far the ranges of the target had come with what was committed: whoever compares both sides reads nothing older.
CREATE TABLE target_tokens (
  range_id        TEXT PRIMARY KEY,
  token           TEXT NOT NULL
) STRICT, WITHOUT ROWID;
