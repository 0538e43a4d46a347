from verified_dp.papers.ask import Accountant as Accountant
from verified_dp.papers.ask import PaperResult as PaperResult
from verified_dp.papers.ask import accountant as accountant
from verified_dp.papers.comparison import Comparison as Comparison
from verified_dp.papers.comparison import compare as compare
from verified_dp.papers.fourier.pairs import load_spec as load_spec
from verified_dp.papers.fourier.pairs import published_profile as published_profile
from verified_dp.papers.paper import PAPER_METHODS as PAPER_METHODS
