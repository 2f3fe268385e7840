# SPDX-License-Identifier: GPL-3.0-or-later
"""Draws the results of compare --plots as SVG, like the Dell paper's figures 5 and 8 (peaks over batch size)
and 9 (methods side by side).
"""
import re

import matplotlib
import numpy as np
from matplotlib import pyplot
from matplotlib.lines import Line2D

INK, FAINT, OURS, OTHER, BEYOND = "#21262f", "#6b737f", "#1f6feb", "#9aa4b2", "#d9480f"
UNITS = {"bytes": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
NAMES = {"foretell": "foretell fit", "paper's": "foretell fit, paper's primitives",
         "analytic": "equations 1 and 2", "ert": "extremely randomised trees",
         "rfr": "random forest", "xgb": "XGBoost", "dnn": "network with dropout",
         "log ert": "extr. random. trees of log", "log rfr": "random forest of log",
         "log xgb": "XGBoost of log", "products": "chosen products"}

matplotlib.rcParams.update({
    "svg.fonttype": "none", "svg.hashsalt": "foretell", "font.family": "sans-serif", "font.size": 10,
    "text.color": INK, "axes.edgecolor": FAINT, "axes.labelcolor": INK, "xtick.color": FAINT,
    "ytick.color": FAINT, "axes.spines.top": False, "axes.spines.right": False,
    "axes.titlesize": 11, "axes.titleweight": "bold", "axes.titlelocation": "left"})


def parse_equation(equation, names):
    """Returns a function of the features NAMES for an equation of foretell fit, in bytes."""
    text, _, unit = equation.partition(" [")
    code = compile(re.sub(r"\^", "**", text), "equation", "eval")
    return lambda *x: eval(code, {"__builtins__": {}}, dict(zip(names, x))) \
        * UNITS.get(unit.rstrip("]"), 1)


def save(figure, path):
    figure.savefig(path, metadata={"Date": None, "Creator": None})
    pyplot.close(figure)


def draw_peaks(path, result, table, analytic):
    """Plots measured peaks of the U-Net, the equation of the extrapolating split, and equations 1 and 2."""
    model = parse_equation(result["beyond_equation"], result["features"])
    figure, axes = pyplot.subplots(figsize=(7.2, 4.4), constrained_layout=True)
    edges = np.unique(table[:, 0])
    held_out = (table[:, 0] == edges[-1]) | (table[:, 1] == table[:, 1].max())
    for edge in edges:
        own = table[:, 0] == edge
        batch = np.geomspace(table[own, 1].min(), table[own, 1].max(), 60)
        axes.plot(batch, [model(edge, b) / 1e9 for b in batch], color=OURS, linewidth=1.2)
        axes.plot(batch, analytic(None, None, np.stack((np.full(60, edge), batch), 1), 0) / 1e9,
                  color=OTHER, linewidth=0.8, linestyle=":")
        axes.annotate("%d³" % edge, (table[own, 1].max(), table[own, -1].max() / 1e9), xytext=(5, -3),
                      textcoords="offset points", color=FAINT)
    axes.plot(table[~held_out, 1], table[~held_out, -1] / 1e9, "o", color=INK, markersize=3.5,
              label="measured, training part")
    axes.plot(table[held_out, 1], table[held_out, -1] / 1e9, "o", color="white", markeredgecolor=BEYOND,
              markersize=4.5, label="measured, held out")
    axes.plot([], [], color=OURS, label="foretell fit")
    axes.plot([], [], color=OTHER, linestyle=":", label="equations 1 and 2")
    axes.set(xscale="log", yscale="log", xlabel="batch size", ylabel="peak memory, GB",
             title="3D U-Net: peak memory of a training step")
    axes.set_xticks([1, 2, 4, 8, 16, 32, 64], [1, 2, 4, 8, 16, 32, 64])
    axes.minorticks_off()
    axes.set_yticks([0.3, 1, 3, 10], ["0.3", "1", "3", "10"])
    axes.set_ylim(0.2, 1.5 * table[:, -1].max() / 1e9)
    axes.legend(loc="upper left", framealpha=1, edgecolor="none", borderpad=0)
    save(figure, path)


def draw_methods(path, results):
    """Plots test errors of every method: medians over random splits as dots, extrapolation as triangles."""
    figure, panels = pyplot.subplots(1, len(results), figsize=(2.4 * len(results) + 1.6, 3.9),
                                     sharey=True, constrained_layout=True)
    first = next(iter(results.values()))["methods"]
    order = sorted(first, key=lambda name: (name == "foretell", name == "paper's",
                                            -first[name]["median"]))
    for axes, (case, result) in zip(np.atleast_1d(panels), results.items()):
        axes.axvline(max(result["noise"], 0.02), color=FAINT, linewidth=0.8, linestyle=":")
        for height, name in enumerate(order):
            if name not in result["methods"]:
                continue
            m = result["methods"][name]
            colour = OURS if name in ("foretell", "paper's") else OTHER
            axes.plot(m["quartiles"], [height, height], color=colour, linewidth=3, alpha=0.5,
                      solid_capstyle="round")
            axes.plot(m["median"], height, "o", color=colour, markersize=6)
            axes.plot(m["beyond"], height, "v", color=BEYOND, markersize=5, fillstyle="none")
        axes.set(xscale="log", title=case, xlabel="test MAPE, %")
        axes.set_yticks(range(len(order)), [NAMES[name] for name in order])
        axes.tick_params(axis="y", length=0, labelcolor=INK)
        axes.xaxis.set_major_formatter("{x:g}")
        axes.minorticks_off()
    figure.get_layout_engine().set(rect=(0, 0.09, 1, 0.91))
    figure.legend(loc="lower center", ncol=3, frameon=False, handles=[
        Line2D([], [], color=OTHER, marker="o", linewidth=3, label="70/30 at random: median, quartiles"),
        Line2D([], [], color=BEYOND, marker="v", markersize=5, fillstyle="none", linestyle="",
               label="extrapolation"),
        Line2D([], [], color=FAINT, linewidth=0.8, linestyle=":",
               label="noise: difference between runs of one point")])
    save(figure, path)


def draw(folder, results, tables, analytic):
    """Draws RESULTS (by case) into FOLDER. TABLES: the measured points by case; ANALYTIC: equations 1 and 2."""
    folder.mkdir(exist_ok=True)
    if "unet3d" in results:
        draw_peaks(folder / "unet3d-peaks.svg", results["unet3d"], tables["unet3d"], analytic)
    draw_methods(folder / "memory-models.svg", results)
