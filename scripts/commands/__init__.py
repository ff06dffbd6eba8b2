"""What the commands of this folder do: each executable beside this package prepares the tools and calls in here."""
