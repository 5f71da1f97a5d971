"""A memory as a retriever of other frameworks; each is loaded when it is asked for, and needs its extra.

``recollect.frameworks.langchain`` and ``recollect.frameworks.llamaindex`` each hold a ``RecollectRetriever``.
"""
