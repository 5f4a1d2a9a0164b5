"""Cases from public bug reports: each stands for a kind of fault, and is run against a real server."""
