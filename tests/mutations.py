"""Damage done to files: cut short, bytes changed, parts doubled, lost or exchanged for something else."""

from hypothesis import strategies as st

_JUNK = (
    *(b"\x00", b"\xff\xfe", b"\n", b"\r", b"\t", b",", b'"', b"'"),
    *(b"NA", b"nan", b"1e999", b"-", b"#", b"{", b"99999999999"),
)
_PLACE = st.integers(0, 10_000)

_STEP = st.one_of(
    st.tuples(st.just("cut"), _PLACE, _PLACE),
    st.tuples(st.just("drop"), _PLACE, st.integers(1, 64)),
    st.tuples(st.just("double"), _PLACE, st.integers(1, 200)),
    st.tuples(st.just("change"), _PLACE, st.integers(0, 255)),
    st.tuples(st.just("junk"), _PLACE, st.integers(0, len(_JUNK) - 1)),
)
DAMAGE = st.lists(_STEP, min_size=1, max_size=6)


def damaged(content: bytes, damage) -> bytes:
    """The content with each step of damage done to it, in order; places are in ten-thousandths of its length."""
    for kind, place, amount in damage:
        at = place * len(content) // 10_000
        if kind == "cut":
            content = content[:at]
        elif kind == "drop":
            content = content[:at] + content[at + amount :]
        elif kind == "double":
            content = content[: at + amount] + content[at:]
        elif kind == "change":
            content = content[:at] + bytes([amount]) + content[at + 1 :]
        else:
            content = content[:at] + _JUNK[amount] + content[at:]
    return content
