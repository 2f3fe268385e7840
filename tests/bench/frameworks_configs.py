#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measures how many default configurations of transformers foretell reads with the right parameters.

Usage: tests/bench/frameworks_configs.py FORETELL FOLDER [TYPE...]; FOLDER has NAME.json and truth.csv
(NAME,PARAMETERS), and what is missing of TYPE (a model_type, or a class such as T5EncoderModel) is made there
with transformers (used: 5.24.0): the configuration as save_pretrained writes it, and the parameters of the
network on the meta device, within SECONDS. The TYPE "all" stands for every model_type of transformers. Without
TYPE the rows of truth.csv are measured. Prints each
configuration that is not right, and how many are right within 1 %, wrong, outside the bounds that foretell
printed, and not read.
"""
import csv
import json
import os
import signal
import subprocess
import sys

SECONDS = 60  # for one network


def make_truth(folder, name):
    """Writes NAME.json; returns the number of parameters of its network, None without one."""
    import torch
    import transformers
    from transformers import AutoModel, CONFIG_MAPPING

    signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(TimeoutError()))
    signal.alarm(SECONDS)
    try:
        if name in CONFIG_MAPPING:
            config = CONFIG_MAPPING[name]()
            with torch.device("meta"):
                network = AutoModel.from_config(config)
        else:
            make = getattr(transformers, name)
            config = make.config_class()
            with torch.device("meta"):
                network = make(config)
        config.architectures = [type(network).__name__]
        with open(os.path.join(folder, name + ".json"), "w", encoding="utf-8") as file:
            file.write(config.to_json_string())
        return sum(parameter.numel() for parameter in network.parameters())
    except Exception as error:  # a network that transformers cannot make by default
        print(f"{name}: {error!r:.100}", file=sys.stderr)
        return None
    finally:
        signal.alarm(0)


def read_truth(folder, names):
    """Returns the parameters by name, completed with those of NAMES that are missing."""
    path, truth = os.path.join(folder, "truth.csv"), {}
    if os.path.exists(path):
        with open(path, encoding="utf-8", newline="") as file:
            truth = {name: int(count) for name, count in csv.reader(file)}
    with open(path, "a", encoding="utf-8") as file:
        for name in names:
            count = None if name in truth else make_truth(folder, name)
            if count:
                truth[name] = count
                file.write(f"{name},{count}\n")
                file.flush()
    return {name: truth[name] for name in names or sorted(truth) if name in truth}


def count_parameters(foretell, path):
    """Returns what foretell prints of PATH as a dictionary, and its error."""
    for sizes in (["--input=sequence=1024"], [], ["--input=sequence=1024,height=224,width=224"]):
        done = subprocess.run([foretell, "graph", "--json", "--batch=1", *sizes, path],
                              capture_output=True, text=True, check=False)
        if done.stdout:
            return json.loads(done.stdout), ""
        if "has no input" not in done.stderr and "is open" not in done.stderr:
            break
    return None, done.stderr.strip()


def main():
    foretell, folder, names = sys.argv[1], sys.argv[2], sys.argv[3:]
    if names == ["all"]:
        from transformers import CONFIG_MAPPING
        names = list(CONFIG_MAPPING)
    right = wrong = outside = unread = 0
    for name, truth in read_truth(folder, names).items():
        told, error = count_parameters(foretell, os.path.join(folder, name + ".json"))
        if told is None:
            unread += 1
            print(f"{name:32} not read: {error[-120:]}")
            continue
        off = told["parameters"] / truth - 1
        if abs(off) <= 0.01:
            right += 1
            continue
        wrong += 1
        least, most = told["parameters_at_least"], told["parameters_at_most"]
        beyond = not 0.99 * least <= truth <= 1.01 * most
        outside += beyond
        print(f"{name:32} {100 * off:+8.1f} %{'  outside its bounds' if beyond else ''}")
    print(f"{right + wrong + unread} configurations: {right} within 1 %, {wrong} wrong, {outside} of them outside "
          f"their bounds, {unread} not read")


main()
