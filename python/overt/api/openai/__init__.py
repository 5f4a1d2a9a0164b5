"""OpenAI's routes, and vLLM's tokenisation beside them."""
