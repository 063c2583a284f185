-- The build of an index reads the segments of that index. With hundreds of ranges, each of which has an index of its own, each
-- build would otherwise look at the segments of all others, which took longer than everything else in the ledger.
CREATE INDEX segments_by_index ON segments (index_id);
