"""Retrievers of other libraries over a memory; each is imported on demand and needs its extra.

``recollect.integrations.langchain`` and ``recollect.integrations.llamaindex`` each have a ``RecollectRetriever``.
"""
