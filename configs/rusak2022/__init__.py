"""Content suppresses style (Rusak et al., 2022)."""
