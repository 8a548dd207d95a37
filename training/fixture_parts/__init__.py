"""What `fixtures.py` is made of: the texts, the tokenizers trained on them, the small encoders."""
