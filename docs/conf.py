"""How the site is built: ``make docs``. Nothing is fetched, neither to build it nor to read it."""

import sys
from importlib.metadata import version as version_of
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

from examples import left_out

project = "cobic"
author = "The cobic authors"
copyright = "the cobic authors, BSD-3-Clause"  # noqa: A001
version = release = version_of("cobic")

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "pages",  # of docs/_ext
    "generated",  # of docs/_ext: the reference from parsers, schemas and docstrings
]
templates_path = ["_templates"]
smartquotes = False  # quotes are those of Python, and two dashes begin an option
exclude_patterns = ["_build", "gallery", "sg_execution_times.rst"]

myst_enable_extensions = ["colon_fence", "deflist", "attrs_inline"]
myst_heading_anchors = 3
myst_links_external_new_tab = False

toc_object_entries_show_parents = "hide"
autosummary_generate = True
# Names that differ in case alone would be one file on some systems.
autosummary_filename_map = {
    f"cobic.{name}": f"cobic.{name}-class" for name in ("Frontier", "Panel", "Path", "Stability")
}
autodoc_typehints = "none"  # numpydoc's tables of parameters say them
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "auto_gallery",
    "filename_pattern": r"\.py$",
    "ignore_pattern": left_out(),
    "within_subsection_order": "examples.InOrder",
    "abort_on_example_error": True,
    "capture_repr": ("_repr_html_",),  # tables; not what a last line about axes returns
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 10_000,  # how long an example took is not for readers
    "write_computation_times": False,
    "download_all_examples": False,
    "remove_config_comments": True,
}

copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True

html_search_scorer = str(Path(__file__).parent / "_ext" / "scorer.js")
html_theme = "pydata_sphinx_theme"
html_title = "cobic"
html_logo = html_favicon = "_static/logo.svg"
html_static_path = ["_static"]
html_css_files = ["cobic.css"]
html_theme_options = {
    "logo": {"text": f"cobic {version}"},
    "navbar_align": "left",
    "pygments_dark_style": "github-dark",
    "header_links_before_dropdown": 6,
    "article_header_start": [],
    "show_prev_next": False,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_context = {"default_mode": "auto"}
html_sidebars = {"index": []}
html_show_sourcelink = False
html_copy_source = False
