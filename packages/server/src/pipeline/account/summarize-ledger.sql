-- Summarises the pages that the ledger has got: until then every look at its tail reads them. Gives way to a vacuum.
SELECT carillon.summarize_ledger() AS ranges
