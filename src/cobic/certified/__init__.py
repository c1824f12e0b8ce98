"""The proven optimum: bounds over class counts, branching, selections at fixed counts, and the certificate."""
