"""A look into an HDF5 file: what of it is kept in other files, and whether the library survives the rest.

As a script, ``python -I hdf_probe.py FILE``, it needs nothing of cobic: damaged files can crash its process.
"""

import sys
from typing import Any

_SMALL = 1 << 24  # bytes of an array that is read as a test


def outside(file: Any) -> str:
    """What of an open file is kept elsewhere, in words, the first that is found; empty if nothing is."""
    import h5py

    known, waiting = set[int](), [file]
    while waiting:
        group = waiting.pop()
        for name in group:
            place = f"{group.name.rstrip('/')}/{name}"
            try:
                link = group.get(name, getlink=True)
            except TypeError:
                return f"{place} is a link of an unknown kind"
            if isinstance(link, h5py.ExternalLink):
                return f"{place} is a link into another file, {link.filename!r}"
            node = None if isinstance(link, h5py.SoftLink) else group[name]
            if isinstance(node, h5py.Dataset) and node.external:
                return f"the numbers of {place} are kept in another file, {node.external[0][0]!r}"
            if isinstance(node, h5py.Dataset) and node.is_virtual:
                return f"{place} is a virtual dataset, made of parts of other files"
            if isinstance(node, h5py.Group) and (address := h5py.h5o.get_info(node.id).addr) not in known:
                known.add(address)
                waiting.append(node)
    return ""


def _read_what_is_small(_name: str, node: Any) -> None:
    list(node.attrs.items())
    if hasattr(node, "shape") and node.size is not None and node.size * node.dtype.itemsize < _SMALL:
        node[()]


if __name__ == "__main__":
    import h5py

    with h5py.File(sys.argv[1], "r") as opened:
        found = outside(opened)
        if found:
            sys.stdout.buffer.write(found.encode("utf-8", "replace"))
        else:
            opened.visititems(_read_what_is_small)
