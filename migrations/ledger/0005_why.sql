-- Why a run has failed, for those who look afterwards.
ALTER TABLE runs ADD COLUMN why TEXT; -- the message of the error that ended it; null: it did not fail, or an older cosmig
