"""Questions that take many answers: how far a margin goes, which features stay, how the published tables come out."""
