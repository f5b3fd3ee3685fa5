"""The built-in adapters, one module per dictionary format, registered under the entry-point group dictsent.adapters."""
