-- A discarded letter ends when its document is moved, changed or deleted later. Each change of a document that has been left
-- behind asks for its letters, and an operator may have discarded thousands at once.
CREATE INDEX dead_letters_discarded ON dead_letters (identity) WHERE state = 'discarded';
