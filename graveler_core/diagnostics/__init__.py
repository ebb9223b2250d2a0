"""Diagnostic archives and the doctor. Both only read."""
