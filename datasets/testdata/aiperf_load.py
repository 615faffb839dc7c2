"""Reads files with AIPerf's own loader of Mooncake lines, and prints what it
made of each as a line of JSON: by session, the turns in order. Prompts are left
out: they would need a tokenizer's vocabulary."""

import json
import sys
import types

from aiperf.dataset.loader.mooncake_trace import MooncakeTraceDatasetLoader


class Loader(MooncakeTraceDatasetLoader):
    def synthesize_prompts_from_hash_ids(self, requests):
        return {request.key: "" for request in requests}


random = types.SimpleNamespace(set_trace_id=lambda name: None)
generator = types.SimpleNamespace(
    tokenizer=types.SimpleNamespace(resolved_name="none"), _cache={}, _hash_id_corpus_rng=random)
for file in sys.argv[1:]:
    with open(file) as lines:
        assert Loader.can_load(json.loads(next(lines))), file
    loader = Loader(filename=file, prompt_generator=generator)
    traces = loader.load_dataset()
    sessions = {}
    for conversation in loader.convert_to_conversations(traces):
        sessions[conversation.session_id] = [
            {"timestamp": turn.timestamp, "delay": turn.delay, "output_length": turn.max_tokens,
             "input_length": trace.input_length, "hash_ids": trace.hash_ids, "payload": turn.raw_payload}
            for turn, trace in zip(conversation.turns, traces[conversation.session_id], strict=True)]
    print(json.dumps(sessions))
