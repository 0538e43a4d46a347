"""What would the deployments of examples/claims look like in the registry of deployments? Writes examples/registry.

Each entry holds every reading of a deployment's claims as tables of a specification, with ranges where
examples/ranges has them. What we do not know is a comment in the entry. Facts are those of the claims' sources.
"""

from collections.abc import Iterator
from pathlib import Path

from verified_dp.registry import entry_yaml

FOLDER = Path(__file__).parent
SUMMARY, MODEL = "Summary statistics", "Machine learning model"
US, ALL = "USA", "Global"
KEYS = ("basic.name", "basic.data_curators", "basic.publication_date", "basic.data_product_region",
        "basic.data_product_type", "basic.data_product_sector", "privacy_loss.privacy_unit", "basic.intended_use")
DEPLOYMENTS = {
    "birth-dataset": ("Live births of 2014", "Israeli Ministry of Health", "2024-02-01", "Israel", "Synthetic data",
                      "Healthcare", "Birth", "Research on births"),
    "census-pl94": ("Redistricting data of the census of 2020", "U.S. Census Bureau", "2021-08-01", US, SUMMARY,
                    "Government", "Person; housing unit", "Drawing of electoral districts"),
    "census-dhc": ("Demographic and housing characteristics of the census of 2020", "U.S. Census Bureau", "2023-05-25",
                   US, SUMMARY, "Government", "Person; housing unit", "Population and housing statistics"),
    "fb-urls": ("URL shares of 2020", "Facebook", "2020-06-06", ALL, "Dataset", "Technology", "User",
                "Research on how links are shared"),
    "gboard-es": ("Next word in Spanish (Spain), 2022", "Google", "2022-02-01", ALL, MODEL, "Technology", "Device",
                  "Prediction of the next word on a keyboard"),
    "gboard-mf": ("Next word in Spanish by matrix factorisation, 2023", "Google", "", ALL, MODEL, "Technology",
                  "Device", "Prediction of the next word on a keyboard"),
    "gboard-pt": ("Next word in Portuguese (Brazil), 2023", "Google", "", ALL, MODEL, "Technology", "Device",
                  "Prediction of the next word on a keyboard"),
    "google-mobility": ("Community mobility reports", "Google", "2020-04-01", ALL, SUMMARY, "Healthcare",
                        "User and day", "Public health during the COVID-19 pandemic"),
    "google-symptoms": ("Search trends of symptoms", "Google", "2020-09-02", ALL, SUMMARY, "Healthcare", "User and day",
                        "Public health during the COVID-19 pandemic"),
    "recurve": ("Energy use in the OhmConnect programme", "Recurve", "2020-12-01", "California, USA", SUMMARY, "Energy",
                "Customer", "How much a programme saved during blackouts"),
    "sas-vulnerable": ("Synthetic customers of a bank", "SAS", "2020-01-01", "UK", "Synthetic data", "Finance",
                       "Account", "Work on vulnerable customers without their data"),
    "spectus-mobility": ("Mobility during a hurricane", "Spectus", "2022-01-01", US, SUMMARY, "Government", "User",
                         "Planning of evacuations"),
    "us-broadband": ("Broadband usage by ZIP code", "Microsoft", "2021-04-01", US, "Dataset", "Technology",
                     "Device", "Where broadband is missing"),
    "wikimedia-editors": ("Editors by country and month", "Wikimedia Foundation", "2023-01-01", ALL, SUMMARY,
                          "Technology", "User, month and country", "Where editors are"),
    "wikimedia-hist": ("Page views before 2023", "Wikimedia Foundation", "2023-06-01", ALL, SUMMARY, "Technology",
                       "30 page views of a day", "What is read where"),
    "wikimedia-ru": ("Editors in Russia by month", "Wikimedia Foundation", "2023-01-01", "Russia", SUMMARY,
                     "Technology", "Account and month", "How many edit"),
    "wikimedia-scale10": ("Page views since 2023", "Wikimedia Foundation", "2023-06-01", ALL, SUMMARY, "Technology",
                          "Device and day", "What is read where"),
}
"""Beginning of the names of its claims -> KEYS; "" where a fact is not known to a day."""
AUTHOR = "verified-dp, from published sources"


def texts(name: str) -> Iterator[str]:
    """The deployment's specifications: the published claim first, with its ranges; no reading that is nobody's."""
    for file in sorted((FOLDER / "claims").glob(f"{name}*.toml"), key=lambda file: file.stem):
        ranged = FOLDER / "ranges" / file.name
        text = (ranged if ranged.exists() else file).read_text(encoding="utf-8")
        if ranged.exists() or ("# Kind: deployment\n" in text and "# Hypothetical:" not in text):
            yield text


def entry(name: str) -> str:
    """The entry of one deployment; its description is that of its claims."""
    stated = {key: [fact] if key.endswith("curators") else fact
              for key, fact in zip(KEYS, DEPLOYMENTS[name], strict=True) if fact}
    claims = list(texts(name))
    stated["basic.description"] = f"{stated['basic.name']}; readings of its published privacy claims: {len(claims)}."
    return entry_yaml(claims, stated | {"administrative.registry_authors": [AUTHOR]}, tier=2)


def main(folder: Path = FOLDER / "registry") -> None:
    """Write all of them."""
    for name in DEPLOYMENTS:
        (folder / f"{name.replace('-', '_')}.yaml").write_text(entry(name), encoding="utf-8")
    print(f"{len(DEPLOYMENTS)} entries: {folder}")


if __name__ == "__main__":
    main()
