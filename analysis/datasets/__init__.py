"""orrery dataset get: fetches and converts published data sets; reads files of arrays."""
