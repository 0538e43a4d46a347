"""The registry of differential-privacy deployments (OpenDP and NIST): entries as specifications, and what they lack.

    entry = read_entry(text)            # YAML of github:opendp/deployments-registry-data, as of commit 3e9c812
    found = judge(entry)                # a verdict for each reading, what is missing, what to ask
    entry_yaml(specifications, facts)   # an entry that holds specifications, to be read back
"""

from verified_dp.registry.entry import COMMIT, FIELDS, Entry, read_entry
from verified_dp.registry.judged import Judged, judge
from verified_dp.registry.writing import entry_yaml

__all__ = ["COMMIT", "FIELDS", "Entry", "Judged", "entry_yaml", "judge", "read_entry"]
