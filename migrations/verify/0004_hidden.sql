-- Whether a comparison has searched for documents with a property of the application that feeds hide.
ALTER TABLE comparison ADD COLUMN knows_hidden INTEGER NOT NULL DEFAULT 0 CHECK (knows_hidden IN (0, 1)); -- 1: it has
