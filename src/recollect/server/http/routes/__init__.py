"""The endpoints, by subject."""

from __future__ import annotations

from fastapi import APIRouter

from recollect.server.http.routes import ingest, links, notes, reports, searching, upkeep

__all__ = ["ROUTERS"]

ROUTERS: tuple[APIRouter, ...] = (
    notes.router,
    links.router,
    ingest.router,
    searching.router,
    reports.router,
    upkeep.router,
)
"""In the order in which the reference tells them."""
