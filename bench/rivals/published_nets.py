"""ForecastNet as its authors published it in PyTorch, told in our own words.

The same structure and the same operations in the same order: one module per layer and step in lists, a relu after each
hidden layer, a linear mean and a softplus deviation, results written into tensors of zeros, a draw from the normal
distribution at every step (in training too), and the next cell's input concatenated. Weights come from the flat layout
of src/models/forecastnet/plan.ts.
"""

import importlib
import os
import sys

import torch
import torch.nn.functional as F
from torch import nn


class DenseNet(nn.Module):
    """Two dense layers a cell."""

    def __init__(self, window, hidden, horizon):
        super().__init__()
        self.horizon = horizon
        widths = [window] + [window + hidden + 1] * (horizon - 1)
        self.first = nn.ModuleList([nn.Linear(width, hidden) for width in widths])
        self.second = nn.ModuleList([nn.Linear(hidden, hidden) for _ in widths])
        self.mean = nn.ModuleList([nn.Linear(hidden, 1) for _ in widths])
        self.deviation = nn.ModuleList([nn.Linear(hidden, 1) for _ in widths])

    def layers(self):
        return self.first, self.second, self.mean, self.deviation

    def forward(self, window, targets, is_forced):
        rows = window.shape[0]
        samples = torch.zeros((self.horizon, rows, 1))
        means = torch.zeros((self.horizon, rows, 1))
        deviations = torch.zeros((self.horizon, rows, 1))
        x = window
        for h in range(self.horizon):
            hidden = F.relu(self.first[h](x))
            hidden = F.relu(self.second[h](hidden))
            mean = self.mean[h](hidden)
            deviation = F.softplus(self.deviation[h](hidden))
            means[h, :, :] = mean
            deviations[h, :, :] = deviation
            samples[h, :, :] = torch.normal(mean, deviation)
            fed = targets if is_forced else samples
            x = torch.cat((window, hidden, fed[h, :, :]), dim=1)
        return samples, means, deviations


class ConvNet(nn.Module):
    """Two convolutions over the one-channel concatenation, then one dense layer."""

    kernels = (5, 3)
    paddings = (2, 1)

    def __init__(self, window, hidden, horizon):
        super().__init__()
        self.horizon = horizon
        lengths = [window] + [window + hidden + 1] * (horizon - 1)
        convolution = lambda channels, i: nn.Conv1d(
            channels, hidden, kernel_size=self.kernels[i], padding=self.paddings[i]
        )
        self.first = nn.ModuleList([convolution(1, 0) for _ in lengths])
        self.second = nn.ModuleList([convolution(hidden, 1) for _ in lengths])
        self.flat = nn.ModuleList([nn.Linear(hidden * self.flattened(length), hidden) for length in lengths])
        self.mean = nn.ModuleList([nn.Linear(hidden, 1) for _ in lengths])
        self.deviation = nn.ModuleList([nn.Linear(hidden, 1) for _ in lengths])

    def layers(self):
        return self.first, self.second, self.flat, self.mean, self.deviation

    def forward(self, window, targets, is_forced):
        rows = window.shape[0]
        samples = torch.zeros((self.horizon, rows, 1))
        means = torch.zeros((self.horizon, rows, 1))
        deviations = torch.zeros((self.horizon, rows, 1))
        x = window.unsqueeze(dim=1)
        for h in range(self.horizon):
            hidden = self.pooled(F.relu(self.first[h](x)))
            hidden = self.pooled(F.relu(self.second[h](hidden)))
            hidden = F.relu(self.flat[h](hidden.reshape((rows, -1))))
            mean = self.mean[h](hidden)
            deviation = F.softplus(self.deviation[h](hidden))
            means[h, :, :] = mean
            deviations[h, :, :] = deviation
            samples[h, :, :] = torch.normal(mean, deviation)
            fed = targets if is_forced else samples
            x = torch.cat((window, hidden, fed[h, :, :]), dim=1).unsqueeze(dim=1)
        return samples, means, deviations


    def flattened(self, length):
        """Positions that reach the dense layer."""
        return length

    def pooled(self, hidden):
        return hidden


class PaperConvNet(ConvNet):
    """The cell as the paper describes it: kernels of two, each followed by an average over two neighbours."""

    kernels = (2, 2)
    paddings = (0, 0)

    def flattened(self, length):
        return length - 4

    def pooled(self, hidden):
        return F.avg_pool1d(hidden, kernel_size=2, stride=1)


def gaussian_loss(targets, mean, deviation):
    return torch.mean(torch.log(deviation) + 0.5 * ((targets - mean) ** 2 / deviation**2))


class Nets:
    """Makes modules of the published structure and puts the weights of a work in them."""

    def __init__(self, dense, conv, paper_conv, loss):
        self.create = {"dense": dense, "conv": conv, "pooled conv": paper_conv}
        self.loss = loss

    def make(self, plan, weights):
        return [self.filled(plan, flat) for flat in weights]

    def filled(self, plan, flat):
        kinds = [layer["kind"] for layer in plan["cells"][0]["layers"]]
        kind = "pooled conv" if "pool" in kinds else kinds[0]
        if self.create[kind] is None:
            raise ValueError("the authors' code has no pooling cell")
        net, lists = self.create[kind](plan["windowSize"], plan["cells"][0]["outputs"], len(plan["cells"]))
        with torch.no_grad():
            for h, cell in enumerate(plan["cells"]):
                weighted = [layer for layer in cell["layers"] if layer["kind"] != "pool"]
                for modules, layer in zip(lists, [*weighted, cell["mean"], cell["deviation"]], strict=True):
                    put(modules[h], flat, layer)
        return net


def put(module, flat, layer):
    weights = flat[layer["weightsAt"] : layer["biasesAt"]]
    module.weight.copy_(weights.reshape(module.weight.shape))
    module.bias.copy_(flat[layer["biasesAt"] : layer["biasesAt"] + len(module.bias)])


def restated(kind):
    def create(window, hidden, horizon):
        net = kind(window, hidden, horizon)
        return net, net.layers()

    return create


published_nets = Nets(restated(DenseNet), restated(ConvNet), restated(PaperConvNet), gaussian_loss)


def authors_nets(checkout):
    """The authors' own modules; `checkout` is their repository, or the folder of its PyTorch code."""
    below = os.path.join(checkout, "Pytorch")
    sys.path.insert(0, below if os.path.isdir(below) else checkout)
    dense = importlib.import_module("denseForecastNet").ForecastNetDenseModel
    conv = importlib.import_module("convForecastNet").ForecastNetConvModel
    loss = importlib.import_module("gaussian").gaussian_loss

    def create(kind, names):
        def of_shape(window, hidden, horizon):
            net = kind(1, hidden, 1, window, horizon, torch.device("cpu"))
            return net, [getattr(net, name) for name in names]

        return of_shape

    outputs = ["mu_layer", "sigma_layer"]
    return Nets(
        create(dense, ["hidden_layer1", "hidden_layer2", *outputs]),
        create(conv, ["conv_layer1", "conv_layer2", "flatten_layer", *outputs]),
        None,
        loss,
    )
