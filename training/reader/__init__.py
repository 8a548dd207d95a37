"""The reader: the model that says whether a passage bears a claim out, contradicts it or settles nothing."""
