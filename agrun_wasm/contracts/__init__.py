"""Everything that crosses a border or is saved, as types; imports no other room, holds no behaviour of a run."""
