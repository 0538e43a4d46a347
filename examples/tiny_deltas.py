"""My accountant says delta = 0, or less than nothing, for a large epsilon. What is it really?

An accountant in floating point adds up masses with FFTs, whose rounding errors are about 1e-17 each: a delta below
that is noise, and below 1e-308 not even a number. Enclosures keep all their digits, at 1e-5 and at 1e-500.
"""

import numpy as np

from verified_dp import Gaussian, PoissonSampled, compose, privacy_profile

PROBABILITY, NOISE, STEPS = "0.01", "1.5", 1000
EPSILONS = ("1", "3", "5", "10", "20", "40", "80")
CELLS, STEP = 2**18, 1e-4


def in_floating_point() -> np.ndarray:
    """Masses of the composed privacy loss (remove order) on a grid of width STEP, by FFT."""
    q, sigma = float(PROBABILITY), float(NOISE)
    t, dt = np.linspace(-12 * sigma, 1 + 12 * sigma, 400_001, retstep=True)
    ratio = 1 - q + q * np.exp((2 * t - 1) / (2 * sigma**2))
    mass = ratio * np.exp(-((t / sigma) ** 2) / 2) / (sigma * np.sqrt(2 * np.pi)) * dt
    cells = np.round(np.log(ratio) / STEP).astype(int) % CELLS
    one_step = np.bincount(cells, weights=mass, minlength=CELLS)
    return np.fft.irfft(np.fft.rfft(one_step) ** STEPS, CELLS)


def float_delta(masses: np.ndarray, epsilon: float) -> float:
    """delta(epsilon) as such an accountant adds it up."""
    losses = STEP * (np.arange(CELLS) - CELLS // 2)
    above = losses > epsilon
    return float(np.sum(np.roll(masses, CELLS // 2)[above] * -np.expm1(epsilon - losses[above])))


def main() -> None:
    """Print both for growing epsilon."""
    steps = compose((PoissonSampled(Gaussian(NOISE), PROBABILITY), STEPS))
    profile, masses = privacy_profile(steps, relation="remove"), in_floating_point()
    print(f"{'epsilon':>8}  {'delta, proved':<32} in floating point")
    for epsilon in EPSILONS:
        proved = profile.delta(epsilon)
        print(f"{epsilon:>8}  {proved!s:<32} {float_delta(masses, float(epsilon)):.6g}")


if __name__ == "__main__":
    main()
