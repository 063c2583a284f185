-- What a run has said last of how it goes, for those who look from outside: what it lags, what it waits for.
ALTER TABLE runs ADD COLUMN said_at_ms INTEGER;
ALTER TABLE runs ADD COLUMN said TEXT; -- JSON
