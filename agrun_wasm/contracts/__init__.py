"""Everything that crosses a border or is saved, as types; this room imports no other room and holds no behaviour of a run."""
