-- The newest session tokens of each side, one for each range, with commas between them, as the service takes several of them.
-- Source: later reads of a range send its token, so they never see an older state. Target: the tokens at the last commit; a
-- comparison sends them, so it never sees an older state. One row for each side: with hundreds of ranges nearly every commit
-- has new tokens for all of them, and a row for each of them cost more than the rest of the commit.
CREATE TABLE session_tokens (
  side               TEXT PRIMARY KEY CHECK (side IN ('source', 'target')),
  tokens             TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO session_tokens (side, tokens)
  SELECT 'source', group_concat(token, ',') FROM source_session_tokens HAVING count(*) > 0;
INSERT INTO session_tokens (side, tokens)
  SELECT 'target', group_concat(token, ',') FROM target_session_tokens HAVING count(*) > 0;
DROP TABLE source_session_tokens;
DROP TABLE target_session_tokens;
INSERT INTO table_sums (name) VALUES ('session_tokens');
