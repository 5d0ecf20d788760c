"""orrery dataset get: published data sets, fetched and converted; files of arrays, read."""
