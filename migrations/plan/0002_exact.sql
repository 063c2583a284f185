-- What --exact keeps: an entry of each document and candidate, in the file whose name ends in -exact.

-- The parts of that file, in the order in which they were written. Nothing else of it is read.
CREATE TABLE exact_chunks (
  number             INTEGER PRIMARY KEY,
  chunk              TEXT NOT NULL -- JSON: where it begins, how many entries it has, and their sums
) STRICT;

-- What was counted when everything was read. The entries are deleted then.
CREATE TABLE exact_figures (
  candidate          INTEGER PRIMARY KEY,
  figures            TEXT NOT NULL -- JSON
) STRICT;
