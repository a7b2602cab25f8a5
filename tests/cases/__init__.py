"""Cases: small inputs of kinds that bug reports describe, given to the real functions. FORMAT.md explains them."""
