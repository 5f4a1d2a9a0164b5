//! Chat templates on minijinja: the Hugging Face environment, messages in, prompt text out.
