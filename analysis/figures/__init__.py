"""Pictures of figures with matplotlib: a file per kind of panel."""
