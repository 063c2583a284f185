-- What was listed an hour ago says little about now, however long both sides were read before.

ALTER TABLE comparison ADD COLUMN listed_at_ms INTEGER; -- null = not listed yet, or by an older cosmig
