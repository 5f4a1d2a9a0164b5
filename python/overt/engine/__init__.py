"""The engine process: loads the model, runs its steps, speaks to the API process over the link."""
