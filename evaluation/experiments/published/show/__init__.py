"""What is made of results: tables, claims, and plots. Nothing in here decides a result."""
