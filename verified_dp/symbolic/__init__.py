"""Symbolic derivations: sympy derives, once; what is evaluated afterwards are stored polynomials on balls."""
