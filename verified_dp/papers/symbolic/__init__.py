"""What sympy derives."""
