"""The page: a story of one answer, its views, figures and words, in one file that opens anywhere."""
