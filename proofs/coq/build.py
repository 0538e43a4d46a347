"""Check every Coq proof of this folder, list what it rests on, and build the extracted checker.

    python proofs/coq/build.py               install what is missing, compile, print the assumptions, build
    python proofs/coq/build.py --no-install  the same, but only say what is missing
    python proofs/coq/build.py --recheck     only: check the compiled files once more, with coqchk (minutes)

Fails on a file that does not compile, on anything admitted, and on any axiom that axioms.txt does not list.
Everything generated goes to proofs/coq/build. A file is compiled again only if it or one before it changed.
Standard library only.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILD = HERE / "build"
NAMESPACE = "VerifiedDP"
CHECKER = BUILD / "formal-checker"
LINE_CHECKER = BUILD / "line-checker"
PAGE_CHECKER = BUILD / "formal-checker.js"
HASH = BUILD / "formal-checker.sha256"

FILES = (
    "Law", "HockeyStick", "Chernoff", "ConnectTheDots", "RandomizedResponse", "Kronecker", "Exponential", "Checker",
    "Link", "Integral", "Normal", "Space", "Moments", "Density", "Enclosures", "SampledGaussian", "Events",
    "Discrete", "Guaranteed", "Laplace", "Zcdp", "Extract", "Mechanism", "Replace", "Mixed", "Refuted",
    "LaplaceRefuted", "Outputs", "Means", "MixedMeans", "Continuous", "Fourier", "Trapezoid", "Line", "LineChecker",
    "Bignum", "InstanceData", "Instances", "GaussianDigits",
)
"""In the order of the story; a file uses earlier ones only."""

THEOREMS = {
    "HockeyStick": ("HS_sup", "HS_dp", "HS_pld", "adaptive_kfold", "pow_exact", "accountant_sound"),
    "Law": ("dom_conv", "dom_kfold", "compose_permutation", "chain_sound", "dom_round", "dom_truncate"),
    "Chernoff": ("sharp", "sharp_eq", "kfold_chernoff"),
    "ConnectTheDots": ("HSa_chord2", "dots_kfold"),
    "RandomizedResponse": ("rr_exact", "kov_exact", "kov_dominates", "kov_kfold"),
    "Exponential": ("exp_below_ok", "exp_above_ok"),
    "Integral": ("adaptive_laws", "sampled_remove", "sampled_add"),
    "Normal": ("stick_int", "stick_mono"),
    "Space": ("upper_mixed", "normals_tip", "gaussian_space", "gaussian_merged"),
    "Moments": ("adaptive_moments", "gaussian_moment", "gaussian_steps_moments"),
    "Density": ("half_square", "normal_formula"),
    "Enclosures": ("expo_ok", "area_ok"),
    "SampledGaussian": ("curve_int", "grid_above", "covers_ok"),
    "Events": ("gain_int", "by_event_ok", "below_grid_ok", "covers_below_ok"),
    "Discrete": ("discrete_exact", "discrete_gain_int", "excess_window_ok", "dot_discrete_ok"),
    "Guaranteed": ("worst_bounds", "lap_lined", "covers_guarantee_ok", "by_outputs_ok", "by_worst_ok"),
    "Laplace": ("covers_laplace_below_ok", "covers_discrete_below_ok", "by_noise_ok"),
    "Zcdp": ("by_moment_ok",),
    "Extract": ("product_N_ok", "accepted_above", "accepted_below", "accepted_private", "accepted_not_private",
                "told_all", "answer_ok"),
    "Mechanism": ("steps_private", "sampled_gaussian_private", "dp_sgd_ghost", "dp_sgd_permutation", "dp_sgd_private",
                  "shifted_private", "gaussian_private", "gaussian_replace_private", "gaussian_group_private",
                  "gaussian_ghost", "mechanism_ghost"),
    "Replace": ("replaced_batch", "batch_bound", "fixed_batch_private", "gaussians_replace_private",
                "sampled_gaussian_replace_private"),
    "Mixed": ("mixed_private", "guarantees_private", "bounded_ratio", "bounded_range_pure", "laplace_pure",
              "laplace_exact", "discrete_noise_exact", "gdp_private", "renyi_private",
              "zcdp_private"),
    "Refuted": ("attained", "lifted", "classed_event", "binned", "sampled_gaussian_not_private",
                "sampled_gaussian_zero_not_private", "sampled_gaussian_replace_not_private", "gaussian_not_private",
                "gaussian_replace_not_private"),
    "LaplaceRefuted": ("lap_gain_int", "noise_event", "laplace_not_private", "discrete_not_private"),
    "Outputs": ("outputs_exact", "outputs_expect", "response_exact", "response_pure", "outputs_not_private",
                "response_not_private", "guarantee_not_private", "laplace_event_not_private",
                "discrete_event_not_private", "discrete_laplace_pure", "counts_expect"),
    "Means": ("uniform", "int_cont", "expect_exists", "expect_continuous", "expect_box", "dp_sgd_private_exists"),
    "MixedMeans": ("smooth_means", "laplace_smooth", "mixed_private_exists"),
    "Continuous": ("continuous_kfold", "accepted_continuous", "sampled_gaussian_law_delta",
                   "composed_sampled_gaussian"),
    "Fourier": ("circle", "tannery", "atom_series"),
    "Trapezoid": ("atom_trapezoid", "trapezoid", "aliases", "transform_kfold", "line_encloses", "line_any",
                  "line_independent"),
    "Line": ("gaussian_transform", "many_means", "line_sampled_gaussian"),
    "LineChecker": ("line_ok_bounds", "line_ok_independent", "line_ok_sampled_gaussian", "line_atoms_ok_bounds"),
    "Instances": ("gaussian_certified_above", "gaussian_certified_below", "response_private"),
    "GaussianDigits": ("delta_1", "delta_2", "delta_3", "delta_4", "delta_5", "delta_exists"),
}
"""What the project relies on; their assumptions are printed and checked."""

COMPUTING, MACHINE = ("Instances", "GaussianDigits"), "machine integers"
"""Only these modules' theorems may rest on Coq's machine integers."""

PACKAGES = ("coq", "libcoq-flocq", "libcoq-interval", "libcoq-coquelicot", "libcoq-bignums", "ocaml-nox",
            "ocaml-findlib", "libzarith-ocaml-dev", "js-of-ocaml")
"""Debian's names; Coq 8.16, about 40 seconds to install. Without the last one, there is no checker for browsers."""

UNPROVED = re.compile(r"\b(Admitted|admit|give_up|Axioms?|Conjecture|Parameters?|Unset \w+ Checking|bypass_check"
                      r"|Type In Type|Extract (Inlined )?(Constant|Inductive))\b")
"""What no file may contain, not even in a comment."""


def fail(message: str) -> int:
    """Say what went wrong; the exit code."""
    print(f"proofs: {message}", file=sys.stderr)
    return 1


def run(*command: str, cwd: Path = BUILD) -> subprocess.CompletedProcess[str]:
    """A command, its output kept; big vectors need a big stack."""
    script = 'ulimit -s unlimited 2>/dev/null || ulimit -s "$(ulimit -H -s)"; exec "$@"'
    return subprocess.run(["bash", "-c", script, "-", *command], cwd=cwd, capture_output=True, text=True, check=False)


def missing() -> list[str]:
    """The tools and libraries that are not there."""
    found = [tool for tool in ("coqc", "ocamlfind", "ocamlopt") if shutil.which(tool) is None]
    if "coqc" not in found:
        roots = [Path(run("coqc", "-where", cwd=HERE).stdout.strip())]
        found += [name for name in ("Flocq", "Interval", "Coquelicot", "Bignums")
                  if not any((root / "user-contrib" / name).is_dir() for root in roots)]
    if "ocamlfind" not in found and run("ocamlfind", "query", "zarith", cwd=HERE).returncode != 0:
        found.append("zarith")
    return found


def install() -> None:
    """Ask the system's package manager, where that is possible without a password."""
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        return
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["apt-get", "update", "-qq"],
                    ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *PACKAGES]):
        print("proofs:", " ".join(command), flush=True)
        subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=False)


def compile_all() -> str | None:
    """Compile what changed; the error of the first file that fails."""
    again = False
    for name in FILES:
        source, copy, product = HERE / f"{name}.v", BUILD / f"{name}.v", BUILD / f"{name}.vo"
        text = source.read_text(encoding="utf-8")
        if found := UNPROVED.search(text):
            return f"{name}.v contains {found.group()}"
        again = again or not product.exists() or not copy.exists() or copy.read_text(encoding="utf-8") != text
        if not again:
            continue
        product.unlink(missing_ok=True)
        copy.write_text(text, encoding="utf-8")
        start = time.monotonic()
        done = run("coqc", "-q", "-w", "none", "-R", ".", NAMESPACE, copy.name)
        if done.returncode != 0:
            return f"{name}.v does not compile:\n{done.stdout}{done.stderr}"
        print(f"  {name}.v: {time.monotonic() - start:.1f} s", flush=True)
    return None


def allowed_axioms() -> dict[str, set[str]]:
    """Group -> axioms, from axioms.txt: [reals] for every theorem, [machine integers] for those that compute."""
    groups: dict[str, set[str]] = {}
    for line in (HERE / "axioms.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            group = groups.setdefault(line.strip("[]"), set())
        elif line and not line.startswith("#"):
            group.add(line)
    return groups


def assumptions() -> dict[str, list[str]]:
    """The main theorems, module by module -> the axioms of all of them together, by Print Assumptions."""
    lines, names = [f"From {NAMESPACE} Require {' '.join(THEOREMS)}."], []
    for module, theorems in THEOREMS.items():
        together = ", ".join(f"@{module}.{theorem}" for theorem in theorems)
        lines.append(f"Definition {module}_all := ({together}). Print Assumptions {module}_all.")
        names.append(f"{module}.{{{', '.join(theorems)}}}")
    (BUILD / "Assumptions.v").write_text("\n".join(lines) + "\n", encoding="utf-8")
    done = run("coqc", "-q", "-w", "none", "-R", ".", NAMESPACE, "Assumptions.v")
    parts = re.split(r"^(?=Axioms:|Closed under the global context)", done.stdout, flags=re.MULTILINE)[1:]
    if done.returncode != 0 or len(parts) != len(names):
        raise RuntimeError(f"Print Assumptions failed: {done.stdout[-500:]}{done.stderr}")
    return {name: axioms_of(part) for name, part in zip(names, parts, strict=True)}


def axioms_of(printed: str) -> list[str]:
    """The names that Print Assumptions prints; all of a line that says what is assumed of one (an unchecked guard)."""
    return [line if "is assumed" in line else line.split()[0] for line in printed.splitlines()[1:]
            if re.match(r"[A-Za-z_][\w.']*( |$)", line)]


def unexpected(found: dict[str, list[str]]) -> list[str]:
    """Print what every theorem rests on; the axioms that it may not use."""
    groups, complaints = allowed_axioms(), []
    for name, axioms in found.items():
        computes = name.partition(".")[0] in COMPUTING
        groups_here = {group: known for group, known in groups.items() if computes or group != MACHINE}
        complaints += [f"{name}: {axiom}" for axiom in axioms if not any(axiom in k for k in groups_here.values())]
        used = [f"{group} ({sum(axiom in known for axiom in axioms)})" for group, known in groups_here.items()
                if any(axiom in known for axiom in axioms)]
        print(f"  {name}: {', '.join(used) or 'no axioms'}")
    return complaints


def build_checker() -> str | None:
    """OCaml's error, if the extracted program does not compile."""
    shutil.copy(HERE / "checker_main.ml", BUILD)
    done = run("ocamlfind", "ocamlopt", "-package", "zarith", "-linkpkg", "checker.mli", "checker.ml",
               "checker_main.ml", "-o", CHECKER.name)
    if done.returncode != 0:
        return f"the extracted checker does not compile:\n{done.stderr}"
    shutil.copy(HERE / "line_main.ml", BUILD)
    done = run("ocamlfind", "ocamlopt", "-package", "zarith", "-linkpkg", "line_checker.mli", "line_checker.ml",
               "line_main.ml", "-o", LINE_CHECKER.name)
    if done.returncode != 0:
        return f"the extracted checker of lines does not compile:\n{done.stderr}"
    HASH.write_text(hashlib.sha256(CHECKER.read_bytes()).hexdigest() + "\n", encoding="ascii")
    return None


def build_page_checker() -> str | None:
    """The same program in JavaScript, for the page that verifies certificates; the error, if it does not compile."""
    for name in ("checker_page.ml", "checker_page.js"):
        shutil.copy(HERE / name, BUILD)
    compiled = run("ocamlfind", "ocamlc", "-package", "zarith", "-linkpkg", "checker.mli", "checker.ml",
                   "checker_main.ml", "checker_page.ml", "-o", "formal-checker.byte")
    done = compiled if compiled.returncode else run("js_of_ocaml", "--opt", "3", "--disable", "genprim",
                                                    "checker_page.js", "formal-checker.byte", "-o", PAGE_CHECKER.name)
    return f"the checker for browsers does not compile:\n{done.stderr}" if done.returncode else None


def recheck() -> str | None:
    """coqchk's complaint: it reads the compiled files again with Coq's kernel alone, and lists their axioms."""
    if not all((BUILD / f"{name}.vo").is_file() for name in FILES):
        return "not compiled: run make proofs first"
    start = time.monotonic()
    names = [f"{NAMESPACE}.{name}" for name in FILES if name not in COMPUTING]
    done = run("coqchk", "-o", "-R", ".", NAMESPACE, *names)
    if done.returncode != 0:
        return f"coqchk does not accept the compiled files:\n{(done.stdout + done.stderr)[-2000:]}"
    print(f"proofs: accepted by coqchk, {time.monotonic() - start:.0f} s")
    return None


def main(arguments: list[str] | None = None) -> int:
    """Do everything; the exit code."""
    parser = argparse.ArgumentParser(description="Check the Coq proofs and build the extracted checker.")
    parser.add_argument("--no-install", action="store_true", help="do not call the package manager")
    parser.add_argument("--recheck", action="store_true", help="only check what is compiled once more, with coqchk")
    options = parser.parse_args(arguments)
    if options.recheck:
        error = recheck()
        return fail(error) if error else 0
    if missing() and not options.no_install:
        install()
    if lacking := missing():
        return fail(f"missing: {', '.join(lacking)}. On Debian or Ubuntu: apt-get install {' '.join(PACKAGES)}")
    BUILD.mkdir(exist_ok=True)
    start = time.monotonic()
    print("proofs: compiling", flush=True)
    if error := compile_all():
        return fail(error)
    print("proofs: what the main theorems rest on")
    if complaints := unexpected(assumptions()):
        return fail("axioms that axioms.txt does not allow:\n  " + "\n  ".join(complaints))
    if error := build_checker():
        return fail(error)
    if shutil.which("js_of_ocaml") is None:
        print("proofs: js_of_ocaml is missing, so there is no checker for browsers")
    elif error := build_page_checker():
        return fail(error)
    print(f"proofs: all checked, {CHECKER.relative_to(HERE.parents[1])} built, {time.monotonic() - start:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
