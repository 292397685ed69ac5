"""What several test folders share. No tests of the product live here."""
