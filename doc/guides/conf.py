# SPDX-License-Identifier: BSD-3-Clause
# Sphinx configuration of the guides.

project = "tapbatch"
author = "The tapbatch authors"
master_doc = "index"
html_theme = "alabaster"
exclude_patterns = []
# Sections are referred to by their titles, with the document's name before it.
extensions = ["sphinx.ext.autosectionlabel"]
autosectionlabel_prefix_document = True
suppress_warnings = ["autosectionlabel.*"]
