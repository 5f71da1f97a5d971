"""Retrievers for other libraries, which search a memory. Import a module yourself; it needs the extra of its name.

``recollect.integrations.langchain`` and ``recollect.integrations.llamaindex`` each have a ``RecollectRetriever``.
"""
