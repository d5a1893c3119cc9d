"""Many ForecastNets of one shape, stacked: dense layers are batched matrix products, convolutions are grouped ones.

Legend: M models, R rows (sample paths, or windows of a minibatch); activations are [M, R, units].
"""

import torch
import torch.nn.functional as F


def copied(tensor):
    """Of its own, so that training never touches the weights of the work."""
    return tensor.clone(memory_format=torch.contiguous_format)


class StackedNet:
    """`shares_window`: a cell's product with the window, the same for all paths, is taken once; dense cells only."""

    def __init__(self, plan, weights, shares_window):
        self.window = plan["windowSize"]
        self.models = len(weights)
        self.shares_window = shares_window
        self.cells = []
        for cell in plan["cells"]:
            layers = [self.placed(layer, weights) for layer in cell["layers"]]
            # Mean and deviation are one product of two columns.
            outputs = [self.placed(cell[name], weights) for name in ("mean", "deviation")]
            weights_of_both = torch.cat([w for w, _, _ in outputs], dim=2)
            biases_of_both = torch.cat([b for _, b, _ in outputs], dim=2)
            self.cells.append([*layers, (weights_of_both, biases_of_both, None)])

    def placed(self, layer, weights):
        if layer["kind"] == "pool":
            return None, None, layer["size"]
        w = weights[:, layer["weightsAt"] : layer["biasesAt"]]
        if layer["kind"] == "dense":
            b = weights[:, layer["biasesAt"] : layer["biasesAt"] + layer["outputs"]]
            w = w.reshape(self.models, layer["outputs"], layer["inputs"]).transpose(1, 2)
            return copied(w), copied(b.unsqueeze(1)), None
        b = weights[:, layer["biasesAt"] : layer["biasesAt"] + layer["filters"]]
        w = w.reshape(self.models * layer["filters"], layer["channels"], layer["kernel"])
        return copied(w), copied(b.reshape(-1)), layer["padding"]

    def require_gradients(self):
        parameters = [tensor for cell in self.cells for w, b, _ in cell if w is not None for tensor in (w, b)]
        for parameter in parameters:
            parameter.requires_grad_()
        return parameters

    def cell(self, h, x):
        """The cell's output, and its mean and deviation [M, R, 1]."""
        *layers, (head_weights, head_biases, _) = self.cells[h]
        for w, b, padding in layers:
            if w is None:
                x = self.pool(x, padding)
            elif padding is None:
                if x.dim() == 4:
                    x = x.reshape(self.models, x.shape[1], -1)
                x = torch.relu(torch.baddbmm(b, x, w))
            else:
                x = self.convolve(x, w, b, padding)
        return x, *self.outputs(x, head_weights, head_biases)

    def convolve(self, x, w, b, padding):
        """[M, R, length] or [M, R, channels, length] in; [M, R, filters, length] out."""
        rows = x.shape[1]
        x = x.transpose(0, 1).reshape(rows, -1, x.shape[-1])
        y = torch.relu(F.conv1d(x, w, b, padding=padding, groups=self.models))
        return y.reshape(rows, self.models, -1, y.shape[-1]).transpose(0, 1)

    def pool(self, x, size):
        """Averages of neighbours, stride one: [M, R, filters, length]."""
        flat = x.reshape(-1, x.shape[-2], x.shape[-1])
        y = F.avg_pool1d(flat, kernel_size=size, stride=1)
        return y.reshape(*x.shape[:-1], y.shape[-1])

    def outputs(self, hidden, weights, biases):
        both = torch.baddbmm(biases, hidden, weights)
        return both[..., :1], F.softplus(both[..., 1:])

    def sharing_cell(self, h, window, fed):
        (w, b, _), *rest, (head_weights, head_biases, _) = self.cells[h]
        x = torch.baddbmm(b, window, w[:, : self.window])
        if fed is not None:
            x = torch.baddbmm(x, fed, w[:, self.window :])
        else:
            x = x.expand(-1, self.rows, -1)
        x = torch.relu(x)
        for w, b, _ in rest:
            x = torch.relu(torch.baddbmm(b, x, w))
        return x, *self.outputs(x, head_weights, head_biases)

    def sample(self, windows, noise):
        """Free-running paths: windows [M, window], noise [step, 1, R]; mean and deviation [M, step, R]."""
        horizon, _, self.rows = noise.shape
        window = windows.unsqueeze(1)
        repeated = window.expand(-1, self.rows, -1)
        means, deviations = [], []
        fed = None
        for h in range(horizon):
            if self.shares_window:
                hidden, mean, deviation = self.sharing_cell(h, window, fed)
            else:
                x = repeated if fed is None else torch.cat((repeated, fed), dim=2)
                hidden, mean, deviation = self.cell(h, x)
            means.append(mean)
            deviations.append(deviation)
            drawn = torch.addcmul(mean, deviation, noise[h].reshape(1, -1, 1))
            fed = torch.cat((hidden, drawn), dim=2)
        return torch.cat(means, 2).transpose(1, 2), torch.cat(deviations, 2).transpose(1, 2)

    def forced(self, windows, targets):
        """Teacher-forced: windows [M, R, window], targets [M, R, step]; mean and deviation [M, step, R]."""
        means, deviations = [], []
        x = windows
        for h in range(targets.shape[2]):
            hidden, mean, deviation = self.cell(h, x)
            means.append(mean)
            deviations.append(deviation)
            x = torch.cat((windows, hidden, targets[:, :, h : h + 1]), dim=2)
        return torch.cat(means, 2).transpose(1, 2), torch.cat(deviations, 2).transpose(1, 2)
