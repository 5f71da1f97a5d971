"""Notes in Milvus: in a cluster, or in a folder of one's own by Milvus Lite."""

from recollect.stores.milvus.levels import consistency

__all__ = ["consistency"]
