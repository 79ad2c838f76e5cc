"""The device that networks run on, and torch's settings while they run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import torch
from joblib import effective_n_jobs

ACCELERATORS = ("cuda", "mps", "xpu")
WITHOUT_FLOAT64 = {"mps"}


def find_device(device: str | torch.device) -> torch.device:
    """Return the device, after a small computation there as a test.

    Parameters
    ----------
    device : str or torch.device
        "auto" means the first accelerator of this machine, else the CPU.

    Returns
    -------
    device : torch.device
        Where networks are trained.

    Raises
    ------
    ValueError
        If torch does not know the device, or cannot compute there.
    """
    if isinstance(device, str) and device == "auto":
        return torch.device(available_devices()[-1])
    try:
        wanted = torch.device(device)
        torch.ones(1, dtype=torch.float32, device=wanted).item()
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(
            f"device={str(device)!r} cannot be used here ({reason}). Available: "
            f"{', '.join(available_devices())}. Use one of these, or device='auto'."
        ) from error
    return wanted


def available_devices() -> list[str]:
    """Return the kinds of devices of this machine, the preferred one last."""
    available = [name for name in ACCELERATORS if getattr(torch, name).is_available()]
    return ["cpu", *reversed(available)]


def prediction_device(device: torch.device) -> torch.device:
    """Return the device to predict in float64: the CPU if the other has no float64."""
    return torch.device("cpu") if device.type in WITHOUT_FLOAT64 else device


@contextmanager
def own_settings(
    device: torch.device, n_jobs: int | None, *, training: bool
) -> Iterator[None]:
    """Compute with fixed settings, whatever the user's global settings of torch are.

    Gradients are recorded in training alone. Inference mode, autocast and the default
    device are switched off, and the number of threads is ``n_jobs``: small networks are
    slower with more than one. Layers name their dtype, so the default dtype does not
    matter.
    """
    threads = torch.get_num_threads()
    with ExitStack() as stack:
        stack.callback(torch.set_num_threads, threads)
        torch.set_num_threads(effective_n_jobs(n_jobs))
        stack.enter_context(torch.inference_mode(False))
        stack.enter_context(torch.set_grad_enabled(training))
        for kind in {"cpu", device.type}:
            if torch.is_autocast_enabled(kind):
                stack.enter_context(torch.autocast(kind, enabled=False))
        if torch.get_default_device().type != "cpu":
            # Enter the context only if needed, since it slows each call of torch down.
            stack.enter_context(torch.device("cpu"))
        yield


@contextmanager
def seeded(device: torch.device, seed: int) -> Iterator[None]:
    """Seed torch inside, on the CPU and the device, and no other generator.

    Dropout and first weights use torch's own generators, which are as before at the
    end.
    """
    on_cpu = torch.get_rng_state()
    module = None if device.type == "cpu" else getattr(torch, device.type)
    on_device = None if module is None else module.get_rng_state()
    try:
        # torch.manual_seed would seed the generators of all devices.
        torch.default_generator.manual_seed(seed)
        if module is not None:
            module.manual_seed(seed)
        yield
    finally:
        torch.set_rng_state(on_cpu)
        if module is not None:
            module.set_rng_state(on_device)
