"""What an answer is made into: tables, words, a model for new samples, documents that are written and read back."""
