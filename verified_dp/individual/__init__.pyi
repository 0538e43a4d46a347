from verified_dp.adaptive.budgets import (
    gdp_budget as gdp_budget,
)
from verified_dp.adaptive.budgets import (
    gdp_delta as gdp_delta,
)
from verified_dp.adaptive.budgets import (
    gdp_epsilon as gdp_epsilon,
)
from verified_dp.adaptive.budgets import (
    last_noise as last_noise,
)
from verified_dp.adaptive.budgets import (
    last_norm as last_norm,
)
from verified_dp.adaptive.budgets import (
    renyi_budget as renyi_budget,
)
from verified_dp.adaptive.budgets import (
    squared_ratio as squared_ratio,
)
from verified_dp.adaptive.filters import (
    ApproximateDPFilter as ApproximateDPFilter,
)
from verified_dp.adaptive.filters import (
    GDPFilter as GDPFilter,
)
from verified_dp.adaptive.filters import (
    IndividualGDPFilter as IndividualGDPFilter,
)
from verified_dp.adaptive.filters import (
    IndividualRenyiFilter as IndividualRenyiFilter,
)
from verified_dp.adaptive.filters import (
    RenyiFilter as RenyiFilter,
)
from verified_dp.adaptive.ledger import (
    Ledger as Ledger,
)
from verified_dp.adaptive.ledger import (
    Receipt as Receipt,
)
from verified_dp.adaptive.odometers import (
    GDPOdometer as GDPOdometer,
)
from verified_dp.adaptive.odometers import (
    IndividualGDPOdometer as IndividualGDPOdometer,
)
from verified_dp.adaptive.odometers import (
    IndividualRenyiOdometer as IndividualRenyiOdometer,
)
from verified_dp.adaptive.odometers import (
    RenyiOdometer as RenyiOdometer,
)
from verified_dp.adaptive.storage import (
    InvalidLedger as InvalidLedger,
)
from verified_dp.adaptive.storage import (
    LedgerBusy as LedgerBusy,
)
from verified_dp.adaptive.sums import (
    Decision as Decision,
)
from verified_dp.adaptive.sums import (
    IndividualDecision as IndividualDecision,
)
from verified_dp.adaptive.sums import (
    Verdict as Verdict,
)
from verified_dp.individual.array_filter import (
    ArrayDecision as ArrayDecision,
)
from verified_dp.individual.array_filter import (
    ArrayGDPFilter as ArrayGDPFilter,
)
from verified_dp.individual.input import (
    Recorder as Recorder,
)
from verified_dp.individual.input import (
    count_array as count_array,
)
from verified_dp.individual.input import (
    count_parquet as count_parquet,
)
from verified_dp.individual.input import (
    count_steps as count_steps,
)
from verified_dp.individual.input import (
    count_table as count_table,
)
from verified_dp.individual.losses import (
    IndividualLosses as IndividualLosses,
)
from verified_dp.individual.losses import (
    individual_deltas as individual_deltas,
)
from verified_dp.individual.losses import (
    individual_epsilons as individual_epsilons,
)
from verified_dp.individual.shared import SharedTables as SharedTables
from verified_dp.individual.shared import shared_deltas as shared_deltas
from verified_dp.individual.shared import shared_epsilons as shared_epsilons
from verified_dp.individual.spark import (
    count_spark as count_spark,
)
from verified_dp.individual.spark import (
    enclose_spark as enclose_spark,
)
from verified_dp.individual.training import (
    Training as Training,
)
from verified_dp.papers.individual.pld_filter import (
    ApproximatePLDFilter as ApproximatePLDFilter,
)
from verified_dp.papers.individual.pld_filter import (
    EpsilonRange as EpsilonRange,
)
from verified_dp.papers.individual.pld_filter import (
    blackwell_mu as blackwell_mu,
)
