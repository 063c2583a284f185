-- A cutover compares what has changed. One that was interrupted is not gone on with by a verify, which looks at everything;
-- nobody knows what an older cosmig has left, so that begins anew.

ALTER TABLE comparison ADD COLUMN extent TEXT NOT NULL DEFAULT 'changes' CHECK (extent IN ('all', 'changes'));
