"""Executes the notebooks beside this file, each in a kernel of its own, and
prints a line for each. With --keep DIR, what they draw goes there as PNG."""

import argparse
import base64
import os
import pathlib
import sys
import tempfile
import time

import nbformat
from nbclient import NotebookClient
from traitlets.config import Config

here = pathlib.Path(__file__).parent


def run(path, keep, scratch):
    begin = time.monotonic()
    notebook = nbformat.read(path, as_version=4)
    config = Config()
    config.KernelManager.transport = "ipc"  # no ports, but sockets of this name
    config.KernelManager.ip = os.path.join(scratch, path.stem)
    NotebookClient(notebook, timeout=120, kernel_name="python3", config=config,
                   resources={"metadata": {"path": str(here)}}).execute()
    figures = 0
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if output.output_type == "stream" and output.name == "stderr":
                sys.exit(f"{path.name}: a cell warns: {output.text}")
            picture = output.get("data", {}).get("image/png")
            if picture:
                figures += 1
                if keep:
                    (keep / f"{path.stem}-{figures}.png").write_bytes(base64.b64decode(picture))
    print(f"{path.stem}: {figures} figures, {time.monotonic() - begin:.1f} s", flush=True)


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--keep", type=pathlib.Path)
parser.add_argument("notebooks", nargs="*", type=pathlib.Path)
arguments = parser.parse_args()
if arguments.keep:
    arguments.keep.mkdir(parents=True, exist_ok=True)
with tempfile.TemporaryDirectory(prefix="nb") as scratch:
    os.environ["JUPYTER_RUNTIME_DIR"] = os.environ["IPYTHONDIR"] = os.environ["MPLCONFIGDIR"] = scratch
    for notebook in arguments.notebooks or sorted(here.glob("*.ipynb")):
        run(notebook, arguments.keep, scratch)
