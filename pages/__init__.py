"""Numbers and tables of the documents, filled in from the rows of results/ (`make pages`)."""
