"""The page that scripts/plot makes: documents.py reads, look.py holds what all pictures share, page.py writes HTML."""
