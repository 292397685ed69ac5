"""The result of a verification in the forms that CI services show."""
