"""The gallery: in which order its examples stand, and which are left out for want of data."""

import os
import re

# In the order of reading.
EXAMPLES = (
    "plot_panel.py",
    "plot_tutorial.py",
    "plot_frontier.py",
    "plot_selection.py",
    "plot_path.py",
    "plot_mislabelled.py",
    "plot_certificate.py",
    "plot_digits.py",
    "plot_markers.py",
    "plot_golub.py",
    "plot_published_trap.py",
)
ON_REAL_DATA = ("plot_golub.py", "plot_published_trap.py")


def left_out() -> str:
    """What sphinx-gallery takes for names of files to ignore: nothing where the data are there."""
    return "(?!)" if "COBIC_DATA" in os.environ else "|".join(map(re.escape, ON_REAL_DATA))


class InOrder:
    """A key to sort examples by."""

    def __init__(self, _folder: str) -> None:
        pass

    def __call__(self, name: str) -> int:
        """The place of an example."""
        return EXAMPLES.index(name)
