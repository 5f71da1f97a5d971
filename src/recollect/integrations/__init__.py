"""Retrievers with which LangChain and LlamaIndex search a memory.

Import ``RecollectRetriever`` from ``recollect.integrations.langchain`` or ``recollect.integrations.llamaindex``. Each
module needs the optional dependencies (the pip extra) of the same name.
"""
