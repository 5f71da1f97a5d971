"""Where notes live and are found: :mod:`recollect.stores.base` is the contract, each folder an engine that keeps it."""
