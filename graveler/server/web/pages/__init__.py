"""The pages, by what they show."""
