"""Steps of every kind and scheme as specifications state them, with counts and draws at their ends, and claims."""

from __future__ import annotations

from itertools import product

GAUSSIAN = 'kind = "gaussian"\nnoise_multiplier = "3/2"\n'
NORMS, WEIGHTS = ", ".join(f'"{n}"' for n in range(12)), ", ".join(['"1/12"'] * 12)
RELEASES = [
    GAUSSIAN, 'kind = "gaussian"\nsigma = "7"\nsensitivity = "2"\n', 'kind = "laplace"\nscale = 3\nsensitivity = 1\n',
    'kind = "discrete-laplace"\nscale = "5/2"\nsensitivity = 2\n',
    'kind = "discrete-gaussian"\nsigma_squared = 4\nsensitivity = 1\n',
    'kind = "approximate-dp"\nepsilon = "0.1"\ndelta = "1e-9"\n',
    'kind = "gaussian-dp"\nmu = "0.3"\n', 'kind = "exponential"\nbounded_range = "0.5"\n',
    'kind = "finite"\nP = ["1/2", "1/3", "1/6"]\nQ = ["1/6", "1/3", "1/2"]\n',
    f'kind = "mixture-of-gaussians"\nsigma = 9\nsensitivities = [{NORMS}]\nprobabilities = [{WEIGHTS}]\n',
    'kind = "mixture-of-gaussians"\nsigma = 2\nsensitivities = [1]\nprobabilities = [1]\n']
PLAIN = [
    'kind = "randomized-response"\ncategories = 3\nepsilon = "0.2"\n', 'kind = "zcdp"\nrho = "0.02"\n',
    'kind = "randomized-response"\ncategories = 2\nnoise_probability = "0.9"\n',
    'kind = "zcdp"\nrho = "0.02"\nxi = "0.1"\n',
    'kind = "renyi"\nrenyi_orders = [2, 8]\nepsilons = ["0.1", "0.3"]\n',
    'kind = "laplace-vector"\nscale = 3\nsensitivity = 1\n',
    'kind = "discrete-laplace-vector"\nscale = 3\nsensitivity = 2\n',
    'kind = "discrete-gaussian-vector"\nsigma_squared = 9\nsensitivity = 1\n',
    'kind = "tree-aggregation"\nnoise_multiplier = 4\nsteps = 1000\n',
    'kind = "matrix-gaussian"\nnoise_multiplier = 2\ncolumn = ["1", "1/2"]\nrounds = 8\n',
    'kind = "shuffled-local"\nusers = 1000000000\nepsilon0 = 2\n', 'kind = "shuffled-local"\nusers = 1\nepsilon0 = 2\n']
PROBABILITIES = ["0", "1e-30", "0.01", "1"]
DRAWS = [(1, 10), (1, 1), (5, 100000), (6, 100000), (7, 10**12), (256, 100000), (256, 256), (512, 10**12)]


def scheme(step: str, words: str) -> str:
    return f"{step}sampling = {{ scheme = {words} }}\n"


SAMPLES = [
    *(scheme(step, f'"poisson", probability = "{q}"')
      for step, q in product(RELEASES[:1] + RELEASES[2:], PROBABILITIES)),
    *(scheme(GAUSSIAN, f'"without-replacement", probability = "{q}"') for q in PROBABILITIES),
    *(scheme(GAUSSIAN, f'"with-replacement", draws = {draws}, population = {size}') for draws, size in DRAWS[:-1]),
    *(scheme(GAUSSIAN, f'"random-allocation", rounds = {t}, picks = {k}')
      for t, k in ((1, 1), (2, 1), (100, 3), (10**6, 1))),
    scheme(GAUSSIAN, '"cyclic-poisson", groups = 4, probability = "0.1", rounds = 20'),
    *(scheme(GAUSSIAN, f'"truncated-poisson", probability = "0.1", population = {n}, largest_batch = {most}')
      for n, most in ((100, 15), (10, 10), (1, 1), (10**9, 10**8 + 10**5))),
    *(scheme(GAUSSIAN, f'"shuffled", rounds = {rounds}') for rounds in (1, 2, 1000))]
ALL = RELEASES + PLAIN + SAMPLES
COUNTS = (1, 2, 1000, 10**12)
CLAIMS = (("1", "1e-5"), ("3", "1e-2"), ("0", "1e-9"), ("40", "1e-300"))


def stated(step: str, relation: str, count: int, claim: tuple[str, str], group: int) -> str:
    head = f'relation = "{relation}"\n' + f"group_size = {group}\n" * (group > 1)
    return (f'{head}[[mechanism]]\n{step}count = {count}\n[claim]\ntitle = "t"\nepsilon = "{claim[0]}"\n'
            f'delta = "{claim[1]}"\n')
