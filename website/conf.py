"""How Sphinx makes the site of the pages that `build.py` has laid out."""

project = "fedgrid"
copyright = "the fedgrid maintainers"
root_doc = "index"
extensions = ["myst_parser", "sphinx_copybutton"]
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 4
html_theme = "furo"
html_title = "fedgrid"
html_static_path = ["theme"]
html_css_files = ["fedgrid.css"]
html_show_sphinx = False
# The sources are in the repository; a copy of them beside the pages would be found by searches as well.
html_copy_source = False
html_show_sourcelink = False
templates_path: list[str] = []
exclude_patterns = ["files"]
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True
pygments_style = "friendly"
pygments_dark_style = "monokai"
# Fragments with an ellipsis are no whole programs; the page of keys goes from sections to single tables.
suppress_warnings = ["misc.highlighting_failure", "myst.header"]
