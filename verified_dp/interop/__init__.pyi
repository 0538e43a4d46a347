from verified_dp.interop.dp_accounting import VerifiedAccountant as VerifiedAccountant
from verified_dp.interop.events import event_record as event_record
from verified_dp.interop.events import from_dp_event as from_dp_event
from verified_dp.interop.histories import from_opacus as from_opacus
from verified_dp.interop.histories import from_tf_privacy as from_tf_privacy
from verified_dp.interop.opacus import OpacusAccountant as OpacusAccountant
from verified_dp.interop.reading import Converted as Converted
from verified_dp.interop.writing import spec_toml as spec_toml
