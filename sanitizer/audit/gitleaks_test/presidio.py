"""Writes Presidio's findings in a presidio-research data set, for TestCalibrateSynthetic.

python -m pip install presidio-analyzer==2.2.366 spacy==3.8.18
python presidio.py synth_dataset_v2.json presidio.json

Only what is structured is asked for, which needs no model of language: a blank
English pipeline gives words, by which Presidio looks for context.
"""

import json
import sys
import time

import spacy
from presidio_analyzer import AnalyzerEngine
from presidio_analyzer.nlp_engine import SpacyNlpEngine
from spacy.language import Language

ENTITIES = ["CREDIT_CARD", "US_SSN", "PHONE_NUMBER", "EMAIL_ADDRESS", "IBAN_CODE", "IP_ADDRESS"]


@Language.component("lemma_is_word")
def lemma_is_word(doc):
    for token in doc:
        token.lemma_ = token.lower_
    return doc


class Blank(SpacyNlpEngine):
    def load(self):
        self.nlp = {"en": spacy.blank("en")}
        self.nlp["en"].add_pipe("lemma_is_word")


engine = AnalyzerEngine(nlp_engine=Blank(), supported_languages=["en"])
samples = json.load(open(sys.argv[1], encoding="utf-8"))
start = time.process_time()
found = [
    [
        {"entity_type": r.entity_type, "start_position": r.start, "end_position": r.end}
        for r in engine.analyze(s["full_text"], language="en", entities=ENTITIES)
    ]
    for s in samples
]
seconds = time.process_time() - start
json.dump(found, open(sys.argv[2], "w", encoding="utf-8"))
size = sum(len(s["full_text"].encode()) for s in samples)
print(f"{size} bytes, {size / 1e6 / seconds:.3f} MB per CPU second")
