"""What each field and each error does: one table, and what is made from it."""
