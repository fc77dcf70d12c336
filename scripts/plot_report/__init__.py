"""The page that scripts/plot makes: documents.py reads, look.py holds code shared by all pictures, page.py writes
HTML."""
