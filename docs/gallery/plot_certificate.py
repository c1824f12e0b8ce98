"""
What a certificate says, and what a forged one does
===================================================

A search may be as clever as it likes: what it claims is checked from the data, by a program that knows nothing of it.
"""

import hashlib
import json

import matplotlib.pyplot as plt
import numpy as np

import cobic

data = cobic.datasets.make_expression(n_features=1000, seed=1)
panel = cobic.panel(data.X, data.y, size=4, transform="log2", floor=20)
certificate = json.loads(json.dumps(panel.certificate))  # as it comes from a file
print(cobic.verify(panel.problem, certificate).reason)

# %%
# It is one JSON document: which data, which question, which features, and the proof. Multipliers of the margins turn
# the question into a sum of scores, whose largest values are added up; a tree says which cases they close.

for key, value in certificate.items():
    text = json.dumps(value)
    print(f"{key:<16}{text if len(text) < 80 else f'{text[:55]} … ({len(text)} characters)'}")


# %%
# A forger changes what it claims. The checksum finds damage, but anybody can compute it anew. The proof remains.


def forged(**changes: object) -> dict[str, object]:
    """The certificate with other values, and a checksum that fits them."""
    content = {key: value for key, value in {**certificate, **changes}.items() if key != "checksum"}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return {**content, "checksum": hashlib.sha256(text.encode()).hexdigest()}


other = np.flatnonzero(~panel.support)[0]
swapped = sorted([*certificate["selected"][1:], int(other)])
print("unchanged:          ", cobic.verify(panel.problem, forged()).ok)
print("another gene:       ", cobic.verify(panel.problem, forged(selected=swapped)).reason)
print("a lower bound:      ", cobic.verify(panel.problem, forged(objective_bound=panel.bound * 0.9)).reason)
print("a step is missing:  ", cobic.verify(panel.problem, forged(tree=certificate["tree"][:-1])).reason)

# %%
# Bounds from far below to far above, each with a right checksum: only those are accepted that the proof carries. What
# is above is weaker, and true.

claims = panel.bound * np.linspace(0.9, 1.1, 41)
accepted = np.array(
    [cobic.verify(panel.problem, forged(objective_bound=float(each)), exact=True).ok for each in claims]
)

fig, ax = plt.subplots(figsize=(8, 2.4), layout="constrained")
ax.plot(claims[accepted], accepted[accepted], "o", color="#0072B2")
ax.plot(claims[~accepted], accepted[~accepted], "x", color="#D55E00")
ax.axvline(panel.tail_margin, color="grey", linestyle=":", label="margin of the panel")
ax.set(yticks=[0, 1], yticklabels=["refused", "accepted"], ylim=(-0.5, 1.5))
ax.set_xlabel("claim: no panel has a wider margin")
ax.legend(loc="center left")
print(f"{accepted.sum()} of {accepted.size} claims are accepted, the lowest: {claims[accepted].min():.4f}")
