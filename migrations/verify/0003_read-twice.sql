-- After a merge of ranges documents may be read again: so many are in the sums once more.

ALTER TABLE sums ADD COLUMN repeated INTEGER NOT NULL DEFAULT 0;
