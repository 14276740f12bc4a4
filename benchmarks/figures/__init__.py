"""The figures of the docs, drawn from recorded rows: nothing is measured here."""
