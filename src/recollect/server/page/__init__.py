"""The page on which a person sees why: files that hold nothing of anybody, and ask the HTTP API for the rest."""

from __future__ import annotations

from recollect.server.page.loading import PageFile, page_files
from recollect.server.page.routes import CONTENT_SECURITY, is_page, page_routes

__all__ = ["CONTENT_SECURITY", "PageFile", "is_page", "page_files", "page_routes"]
