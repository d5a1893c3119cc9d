"""ForecastNet in PyTorch, to be timed against: the way its authors published it, and many models stacked.

A child process of bench/engine.ts. Reads one JSON question a line from standard input and answers each with one JSON
line on standard output; bench/engine/protocol.ts tells what they hold. Numbers come and go in binary files.

    python torch_rivals.py [--authors DIR]

With --authors the rival "authors" is there as well: the authors' own modules, imported from a checkout of their
repository, run through the same loops as our restatement of them.
"""

import argparse
import json
import sys
import time
from contextlib import contextmanager

import numpy as np
import torch

from published_nets import authors_nets, published_nets
from stacked_net import StackedNet

# As in protocol.ts.
COMPARED_STEPS = 3


def read(path, dtype=np.float32):
    return torch.from_numpy(np.fromfile(path, dtype=dtype).astype(np.float32))


class Work:
    """The numbers of one piece of work: what is computed, whoever computes it."""

    def __init__(self, question):
        self.kind = question["kind"]
        self.plan = question["plan"]
        self.models = question["models"]
        self.learning_rate = question.get("learningRate", 0.0)
        files = question["files"]
        self.weights = read(files["weights"]).reshape(self.models, -1)
        horizon, window = len(self.plan["cells"]), self.plan["windowSize"]
        if self.kind == "forecast":
            self.windows = read(files["windows"]).reshape(self.models, window)
            self.noise = read(files["noise"]).reshape(horizon, 1, question["paths"])
        else:
            self.batch = question["batch"]
            self.windows = read(files["windows"]).reshape(self.models, -1, window)
            self.targets = read(files["targets"]).reshape(self.models, -1, horizon)

    def rows_at(self, step):
        """Minibatches are consecutive blocks of rows, round and round."""
        blocks = self.windows.shape[1] // self.batch
        at = (step % blocks) * self.batch
        return slice(at, at + self.batch)


@contextmanager
def given_noise(noise):
    """Puts the table of the work in the place of PyTorch's own draws, so that outputs can be compared."""
    draw = torch.normal
    step = 0

    def from_table(mean, deviation):
        nonlocal step
        step += 1
        return mean + deviation * noise[(step - 1) % len(noise)].reshape(-1, 1)

    torch.normal = from_table
    try:
        yield
    finally:
        torch.normal = draw


class PublishedForecast:
    """One model after the other, the sample paths of a model as its batch."""

    def __init__(self, work, nets, models):
        self.work = work
        self.nets = nets.make(work.plan, work.weights[:models])
        paths = work.noise.shape[2]
        self.inputs = [window.repeat(paths, 1) for window in work.windows[:models]]
        self.no_targets = torch.empty((len(work.plan["cells"]), paths, 1))
        for net in self.nets:
            net.eval()

    def once(self):
        with torch.no_grad():
            return [net(x, self.no_targets, False) for net, x in zip(self.nets, self.inputs)]

    def result(self):
        with given_noise(self.work.noise):
            return torch.stack([torch.stack(outputs[1:]).squeeze(-1) for outputs in self.once()])

    def begin(self):
        pass


class PublishedTraining:
    """One model after the other: gradients to zero, forward, loss, backward, Adam."""

    def __init__(self, work, nets, models):
        self.work = work
        self.nets_kind = nets
        self.count = models
        self.windows = work.windows[:models]
        # Time-major, as the published code keeps its targets.
        self.targets = work.targets[:models].transpose(1, 2).unsqueeze(-1).contiguous()
        self.begin()

    def begin(self):
        self.nets = self.nets_kind.make(self.work.plan, self.work.weights[: self.count])
        rate = self.work.learning_rate
        self.optimizers = [torch.optim.Adam(net.parameters(), lr=rate) for net in self.nets]
        self.step = 0

    def once(self):
        rows = self.work.rows_at(self.step)
        self.step += 1
        losses = []
        for m, (net, optimizer) in enumerate(zip(self.nets, self.optimizers)):
            window, target = self.windows[m, rows], self.targets[m, :, rows]
            optimizer.zero_grad()
            _, mean, deviation = net(window, target, True)
            loss = self.nets_kind.loss(target, mean, deviation)
            losses.append(loss.item())
            loss.backward()
            optimizer.step()
        return losses

    def result(self):
        return losses_of(self)


class StackedForecast:
    """All models at once."""

    def __init__(self, work, models, shares_window):
        self.work = work
        self.net = StackedNet(work.plan, work.weights[:models], shares_window)
        self.windows = work.windows[:models]

    def once(self):
        with torch.inference_mode():
            return self.net.sample(self.windows, self.work.noise)

    def result(self):
        return torch.stack(self.once(), dim=1)

    def begin(self):
        pass


class StackedTraining:
    """All models take their step at once; their losses do not touch one another."""

    def __init__(self, work, models):
        self.work = work
        self.count = models
        self.begin()

    def begin(self):
        self.net = StackedNet(self.work.plan, self.work.weights[: self.count], False)
        parameters = self.net.require_gradients()
        self.optimizer = torch.optim.Adam(parameters, lr=self.work.learning_rate, fused=True)
        self.step = 0

    def once(self):
        rows = self.work.rows_at(self.step)
        self.step += 1
        windows, targets = self.work.windows[: self.count, rows], self.work.targets[: self.count, rows]
        self.optimizer.zero_grad()
        mean, deviation = self.net.forced(windows, targets)
        error = (targets.permute(0, 2, 1) - mean) / deviation
        losses = (torch.log(deviation) + 0.5 * error * error).mean(dim=(1, 2))
        losses.sum().backward()
        self.optimizer.step()
        return losses.tolist()

    def result(self):
        return losses_of(self)


def losses_of(training):
    """The loss before each of the first steps: wrong gradients or a wrong optimiser would show in it."""
    training.begin()
    losses = [training.once() for _ in range(COMPARED_STEPS)]
    training.begin()
    return torch.tensor(losses, dtype=torch.float64).T


class Rivals:
    def __init__(self, authors):
        self.nets = {"published": published_nets}
        if authors is not None:
            self.nets["authors"] = authors_nets(authors)
        self.works = {}
        self.ready = {}

    def answer(self, question):
        return getattr(self, question["do"])(question)

    def hello(self, _):
        return {"about": f"PyTorch {torch.__version__.split('+')[0]}, {torch.get_num_threads()} thread"}

    def load(self, question):
        self.works = {question["name"]: Work(question)}
        self.ready = {}
        return {}

    def runner(self, question):
        key = (question["rival"], question["work"], question["models"])
        if key not in self.ready:
            # Only the newest size of a rival's work is kept: a calibration must not sit in the caches' way.
            self.ready = {k: v for k, v in self.ready.items() if k[:2] != key[:2]}
            self.ready[key] = self.make(*key)
        return self.ready[key]

    def make(self, rival, name, models):
        work = self.works[name]
        forecasts = work.kind == "forecast"
        if rival in self.nets:
            published = PublishedForecast if forecasts else PublishedTraining
            return published(work, self.nets[rival], models)
        shares_window = rival == "stacked-once"
        if shares_window and not (forecasts and work.plan["cells"][0]["layers"][0]["kind"] == "dense"):
            raise ValueError("only forecasts of dense cells have a product with the window to share")
        return StackedForecast(work, models, shares_window) if forecasts else StackedTraining(work, models)

    def run(self, question):
        runner = self.runner(question)
        clock = Clock()
        result = runner.result()
        steps = 1 if self.works[question["work"]].kind == "forecast" else COMPARED_STEPS
        timing = clock.elapsed(steps * question["models"])
        result.to(torch.float64).numpy().tofile(question["file"])
        return timing

    def time(self, question):
        runner = self.runner(question)
        runner.begin()
        if question["warmUp"]:
            runner.once()
        clock, passes = Clock(), 0
        while True:
            runner.once()
            passes += 1
            timing = clock.elapsed(passes * question["models"])
            if timing["ms"] >= question["minMs"]:
                return timing


class Clock:
    def __init__(self):
        self.begin, self.begin_cpu = time.perf_counter(), time.process_time()

    def elapsed(self, units):
        ms = 1000 * (time.perf_counter() - self.begin)
        return {"units": units, "ms": ms, "cpuMs": 1000 * (time.process_time() - self.begin_cpu)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--authors")
    torch.set_num_threads(1)
    rivals = Rivals(parser.parse_args().authors)
    for line in sys.stdin:
        try:
            answer = rivals.answer(json.loads(line))
        except Exception as error:
            answer = {"error": str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


main()
