-- A repair compares all once more, and then only what differed. One that is interrupted in between need not begin with it again.

ALTER TABLE comparison ADD COLUMN is_after_repair INTEGER NOT NULL DEFAULT 0 CHECK (is_after_repair IN (0, 1));
