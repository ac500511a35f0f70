"""What makes the documentation site: reference pages from the declarations, and the hooks that mkdocs calls."""
