from verified_dp.batch import certify_all as certify_all
from verified_dp.batch import compare_all as compare_all
from verified_dp.batch import delta_all as delta_all
from verified_dp.batch import epsilon_all as epsilon_all
from verified_dp.calibration import Calibration as Calibration
from verified_dp.calibration import calibrate as calibrate
from verified_dp.certificate import Certificate as Certificate
from verified_dp.certificate import certify as certify
from verified_dp.certificate import verify as verify
from verified_dp.core.families.allocation.mechanism import RandomAllocation as RandomAllocation
from verified_dp.core.families.batches.mechanism import Shuffled as Shuffled
from verified_dp.core.families.batches.mechanism import TruncatedPoisson as TruncatedPoisson
from verified_dp.core.families.batches.mechanism import WithoutReplacement as WithoutReplacement
from verified_dp.core.families.batches.mechanism import WithReplacement as WithReplacement
from verified_dp.core.families.clones.mechanism import ShuffledLocal as ShuffledLocal
from verified_dp.core.families.discrete.mechanism import DiscreteGaussian as DiscreteGaussian
from verified_dp.core.families.discrete.mechanism import DiscreteGaussianVector as DiscreteGaussianVector
from verified_dp.core.families.discrete.mechanism import DiscreteLaplace as DiscreteLaplace
from verified_dp.core.families.discrete.mechanism import DiscreteLaplaceVector as DiscreteLaplaceVector
from verified_dp.core.families.finite.mechanism import EVERYTHING as EVERYTHING
from verified_dp.core.families.finite.mechanism import ApproximateDP as ApproximateDP
from verified_dp.core.families.finite.mechanism import Finite as Finite
from verified_dp.core.families.finite.mechanism import RandomizedResponse as RandomizedResponse
from verified_dp.core.families.gaussian.mechanism import GaussianDP as GaussianDP
from verified_dp.core.families.gaussian.mechanism import MatrixGaussian as MatrixGaussian
from verified_dp.core.families.gaussian.mechanism import MixtureOfGaussians as MixtureOfGaussians
from verified_dp.core.families.gaussian.mechanism import TreeAggregation as TreeAggregation
from verified_dp.core.families.guarantees.mechanism import ZCDP as ZCDP
from verified_dp.core.families.guarantees.mechanism import Renyi as Renyi
from verified_dp.core.families.laplace.mechanism import Exponential as Exponential
from verified_dp.core.families.laplace.mechanism import Laplace as Laplace
from verified_dp.core.families.laplace.mechanism import LaplaceVector as LaplaceVector
from verified_dp.core.families.sampling.mechanism import CyclicPoisson as CyclicPoisson
from verified_dp.core.families.sampling.mechanism import PoissonSampled as PoissonSampled
from verified_dp.core.kernel import errors as errors
from verified_dp.core.kernel.composition import Claim as Claim
from verified_dp.core.kernel.composition import Composition as Composition
from verified_dp.core.kernel.composition import Relation as Relation
from verified_dp.core.kernel.composition import Spec as Spec
from verified_dp.core.kernel.composition import compose as compose
from verified_dp.core.kernel.dyadic import Dyadic as Dyadic
from verified_dp.core.kernel.errors import (
    Disagreement as Disagreement,
)
from verified_dp.core.kernel.errors import (
    InconsistentEnclosures as InconsistentEnclosures,
)
from verified_dp.core.kernel.errors import (
    InexactInput as InexactInput,
)
from verified_dp.core.kernel.errors import (
    InvalidCertificate as InvalidCertificate,
)
from verified_dp.core.kernel.errors import (
    InvalidInput as InvalidInput,
)
from verified_dp.core.kernel.errors import (
    Undecided as Undecided,
)
from verified_dp.core.kernel.errors import (
    Unsupported as Unsupported,
)
from verified_dp.core.kernel.errors import (
    VerifiedDPError as VerifiedDPError,
)
from verified_dp.core.kernel.exact import (
    Number as Number,
)
from verified_dp.core.kernel.mechanisms import Gaussian as Gaussian
from verified_dp.enclosure import Enclosure as Enclosure
from verified_dp.enclosure import Estimate as Estimate
from verified_dp.papers.fourier.pairs import FourierAccountantDraws as FourierAccountantDraws
from verified_dp.papers.fourier.pairs import FourierAccountantPair as FourierAccountantPair
from verified_dp.profile import PrivacyProfile as PrivacyProfile
from verified_dp.profile import privacy_profile as privacy_profile
from verified_dp.questions.curve import Curve as Curve
from verified_dp.questions.shuffled import local_attack as local_attack
from verified_dp.questions.shuffled import shuffled_attack as shuffled_attack
from verified_dp.questions.tradeoff import TradeOff as TradeOff
from verified_dp.questions.training import Training as Training
from verified_dp.spec import load_spec as load_spec

__version__: str
