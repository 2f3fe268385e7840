# SPDX-License-Identifier: GPL-3.0-or-later
"""What a Slurm job will need, before it runs: libforetell from Python, without a build step.

    >>> import foretell
    >>> foretell.predict("train.sh", "--epochs", 20).peak_memory_bytes
    >>> foretell.predict(model="net.onnx", batch=32, device="a100-40gb").gpu_memory_bytes

The library is libforetell.so.0, the one that FORETELL_LIBRARY names, or the one installed beside this module. It never
starts a process. A model file is read by the command foretell, in a child with limits of time and memory.
"""

from __future__ import annotations

import ctypes
import json
import math
import os
import pathlib
import pwd
import shutil
import subprocess
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Union

__all__ = ["Decision", "Error", "Prediction", "Quantity", "predict"]

Path = Union[str, "os.PathLike[str]"]
Value = Union[str, int, float, "os.PathLike[str]"]

_COMMAND_OPTIONS = ("account", "app", "mig_file", "partition", "state", "user")  # with a model; other names are --params


class Error(Exception):
    """One line that says what went wrong: file, position, what was expected."""


@dataclass(frozen=True)
class Quantity:
    """A predicted distribution of one quantity."""
    p05: float
    p50: float
    p95: float
    unit: str  # "bytes", "seconds" or "joules"
    runs: int  # completed runs behind it
    method: str


@dataclass(frozen=True)
class Decision:
    """What foretell would do about the job's memory request."""
    action: str  # "leave", "set", "raise", "trim", "warn" or "reject"
    mem_bytes: Optional[int]  # the new request; None: unchanged
    p_oom: Optional[float]  # probability of running out of memory then; None: unknown
    reason: str  # message of one line; "": none
    rule: str  # as foretell-spank(7) lists them


@dataclass(frozen=True)
class Prediction:
    """Names and units of foretell predict --json; None: not known."""
    app: Optional[str] = None
    peak_memory_bytes: Optional[Quantity] = None
    gpu_memory_bytes: Optional[Quantity] = None
    runtime_seconds: Optional[Quantity] = None
    energy_joules: Optional[Quantity] = None
    decision: Optional[Decision] = None  # of a job
    # of a model file:
    step_seconds: Optional[Quantity] = None  # of a training step or a forward pass
    device: Optional[str] = None
    mig: Optional[str] = None  # the smallest MIG slice of the device that holds it
    p_oom: Optional[float] = None  # probability that the device does not hold it


def predict(script: Optional[Path] = None, *arguments: Value, model: Optional[Path] = None,
            params: Union[None, str, Mapping[str, Value]] = None, **options: Optional[Value]) -> Prediction:
    """Predict a job, or the network in a model file.

    A job: the batch SCRIPT with its ARGUMENTS, as sbatch would get them, or app=NAME. PARAMS are features, and OPTIONS
    those of ft_job_request_set (foretell.h) with underscores: mem="4G", partition="main", predict_mem="trim".
    A network: the file MODEL, with the settings of foretell predict --model: batch=32, device="a100-40gb",
    mode="inference". Both: state=DIRECTORY, user=NAME.
    Raises Error.
    """
    given = {name: _text(value) for name, value in options.items() if value is not None}
    if isinstance(params, Mapping):
        params = ",".join(f"{name}={_text(value)}" for name, value in params.items())
    if model is not None:
        if script is not None:
            raise Error("model: expected a script or a model file, not both")
        return _predict_model(os.fspath(model), params, given)
    return _predict_job(script, [_text(value) for value in arguments], params, given)


def _text(value: Value) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)


def _installed(*patterns: str) -> Optional[str]:
    """Returns the file that make install put beside this module, which is in PREFIX/share/foretell/python; None: none."""
    above = pathlib.Path(__file__).resolve().parents
    if len(above) <= 4 or above[3].name != "share":
        return None
    return next((str(path) for pattern in patterns for path in above[4].glob(pattern)), None)


# ---- jobs: libforetell ----

class _CError(ctypes.Structure):
    _fields_ = [("text", ctypes.c_char * 512)]


class _CDecided(ctypes.Structure):
    _fields_ = [("action", ctypes.c_char_p), ("mem_bytes", ctypes.c_uint64), ("p_oom", ctypes.c_double),
                ("reason", ctypes.c_char_p), ("rule", ctypes.c_char_p)]


_FUNCTIONS: Dict[str, Any] = {  # as foretell.h declares them: result, parameters; handles and errors are pointers
    "ft_predictor_open": (ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(_CError)),
    "ft_predictor_close": (None, ctypes.c_void_p),
    "ft_job_request_new": (ctypes.c_void_p, ctypes.c_uint32, ctypes.POINTER(_CError)),
    "ft_job_request_free": (None, ctypes.c_void_p),
    "ft_job_request_set": (ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.POINTER(_CError)),
    "ft_job_request_set_script": (ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_char_p),
                                  ctypes.c_size_t, ctypes.POINTER(_CError)),
    "ft_forecast_make": (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(_CError)),
    "ft_forecast_free": (None, ctypes.c_void_p),
    "ft_forecast_app": (ctypes.c_char_p, ctypes.c_void_p),
    "ft_forecast_quantity": (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p),
    "ft_forecast_decision": (ctypes.POINTER(_CDecided), ctypes.c_void_p),
    "ft_prediction_quantile": (ctypes.c_double, ctypes.c_void_p, ctypes.c_double),
    "ft_prediction_unit": (ctypes.c_char_p, ctypes.c_void_p),
    "ft_prediction_runs": (ctypes.c_uint, ctypes.c_void_p),
    "ft_prediction_method": (ctypes.c_char_p, ctypes.c_void_p),
}

_loaded: Optional[ctypes.CDLL] = None


def _library() -> ctypes.CDLL:
    global _loaded
    if _loaded is None:
        name = os.environ.get("FORETELL_LIBRARY") or _installed(
            "lib/libforetell.so.0", "lib64/libforetell.so.0", "lib/*/libforetell.so.0") or "libforetell.so.0"
        try:
            library = ctypes.CDLL(name)
            for function, (result, *parameters) in _FUNCTIONS.items():
                entry = getattr(library, function)
                entry.restype, entry.argtypes = result, parameters
        except (AttributeError, OSError) as err:
            raise Error(f"{name}: {err}; FORETELL_LIBRARY names another libforetell.so") from None
        _loaded = library
    return _loaded


def _string(text: Optional[bytes]) -> str:
    return (text or b"").decode("utf-8", "replace")


def _submitter(user: Optional[str]) -> pwd.struct_passwd:
    try:
        if user is None or user.isdecimal():
            return pwd.getpwuid(os.getuid() if user is None else int(user))
        return pwd.getpwnam(user)
    except (KeyError, OverflowError):
        raise Error(f"user: no such user: {user}") from None


def _quantity(library: ctypes.CDLL, forecast: int, name: str) -> Optional[Quantity]:
    p = library.ft_forecast_quantity(forecast, name.encode())
    if not p:
        return None
    unit = _string(library.ft_prediction_unit(p))
    levels = (library.ft_prediction_quantile(p, level) for level in (0.05, 0.5, 0.95))
    p05, p50, p95 = (value if unit == "seconds" else round(value) for value in levels)
    return Quantity(p05, p50, p95, unit, library.ft_prediction_runs(p), _string(library.ft_prediction_method(p)))


def _prediction(library: ctypes.CDLL, forecast: int) -> Prediction:
    d = library.ft_forecast_decision(forecast).contents
    return Prediction(_string(library.ft_forecast_app(forecast)),
                      *(_quantity(library, forecast, name) for name in
                        ("peak_memory_bytes", "gpu_memory_bytes", "runtime_seconds", "energy_joules")),
                      decision=Decision(_string(d.action), d.mem_bytes or None,
                                        None if math.isnan(d.p_oom) else d.p_oom, _string(d.reason), _string(d.rule)))


def _predict_job(script: Optional[Path], arguments: List[str], params: Optional[str],
                 options: Dict[str, str]) -> Prediction:
    library, err = _library(), _CError()
    state, entry = options.pop("state", None), _submitter(options.pop("user", None))
    wanted = {"user": entry.pw_name, "predict-mem": "", "params": params,
              **{name.replace("_", "-"): value for name, value in options.items()}}
    predictor = job = forecast = None

    def check(result: Any) -> Any:
        if not result:
            raise Error(_string(err.text))
        return result

    try:
        predictor = check(library.ft_predictor_open(os.fsencode(state) if state else None, err))
        job = check(library.ft_job_request_new(entry.pw_uid, err))
        if script is not None:
            words = (ctypes.c_char_p * len(arguments))(*map(os.fsencode, arguments))
            check(library.ft_job_request_set_script(job, os.fsencode(script), words, len(arguments), err) == 0)
        for name, value in wanted.items():
            if value is not None:
                check(library.ft_job_request_set(job, name.encode(), os.fsencode(value), err) == 0)
        forecast = check(library.ft_forecast_make(predictor, job, err))
        return _prediction(library, forecast)
    finally:
        library.ft_forecast_free(forecast)
        library.ft_job_request_free(job)
        library.ft_predictor_close(predictor)


# ---- model files: the command ----

def _command() -> str:
    found = _installed("bin/foretell") or shutil.which("foretell")
    if not found:
        raise Error("foretell: the command that reads model files is not in PATH")
    return found


def _json_quantity(answer: Mapping[str, Any], name: str) -> Optional[Quantity]:
    levels = answer[name]
    if levels is None:
        return None
    return Quantity(levels["p05"], levels["p50"], levels["p95"], name.rsplit("_", 1)[1], answer["runs"], answer["method"])


def _predict_model(model: str, params: Optional[str], options: Dict[str, str]) -> Prediction:
    settings = [params] if params else []
    words = []
    for name, value in options.items():
        if name in _COMMAND_OPTIONS:
            words.append(f"--{name.replace('_', '-')}={value}")
        else:
            settings.append(f"{name}={value}")
    if options.get("device") == "all":
        raise Error("device: expected one device")
    if settings:
        words.append("--params=" + ",".join(settings))
    done = subprocess.run([_command(), "predict", "--json", f"--model={model}", *words], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1) or not done.stdout:
        lines = done.stderr.splitlines() or [f"foretell predict ended with status {done.returncode}"]
        raise Error(lines[0].replace("foretell predict: ", "", 1))
    answer = json.loads(done.stdout)
    return Prediction(answer["app"], _json_quantity(answer, "peak_memory_bytes"), _json_quantity(answer, "gpu_memory_bytes"),
                      step_seconds=_json_quantity(answer, "step_seconds"), device=answer["device"],
                      mig=answer["mig"]["profile"] if answer["mig"] else None, p_oom=answer["p_oom"])
