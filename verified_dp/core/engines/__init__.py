"""One file per engine: what encloses delta of a composed loss by a witness. `table` says which file a witness needs."""
