//! Load generator: a client that costs less than the server it measures.
