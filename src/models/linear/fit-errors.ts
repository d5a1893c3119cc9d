// Fits the distribution of errors to held-out errors, and chooses its form: a spread that depends on the situation or only on
// the step, one shape or two. The form is the one that scores best on each fold when fitted to the others.

import {
  type ErrorItems,
  type ErrorModel,
  featureCount,
  joinItems,
  quantileOf,
  shapePoints,
  spreadOf,
} from "./error-model.ts";

export interface ErrorForm {
  readonly spread: "by step" | "by situation";
  readonly shapes: 1 | 2;
}

const forms: readonly ErrorForm[] = [
  { spread: "by step", shapes: 1 },
  { spread: "by step", shapes: 2 },
  { spread: "by situation", shapes: 1 },
  { spread: "by situation", shapes: 2 },
];

/** A form must score better by this share for the spread, and again for the second shape, than the plain form. */
const priceOfForm = 0.005;

/**
 * Held-out errors are those of maps that were weighted by how small their errors were, so the next ones will be larger, the
 * more so the fewer there were to judge by. The factor is 1 + this / √(spans of τ steps judged).
 */
const optimism = 0.3;

/**
 * The median of few held-out errors says more about those days than about the model. Its share in the forecast is
 * spans / (spans + this).
 */
const spansForMedian = 40;

/** Multiplicative updates of the weights. */
const updates = 20;

export interface ErrorScope {
  readonly season: number;
  readonly channels: number;
  /** τ·C */
  readonly outputs: number;
  /** How many times τ steps the errors cover. */
  readonly spans: number;
}

export interface CrossFit {
  /** The form that scores best on folds that it was not fitted to. */
  readonly form: ErrorForm;
  /** For each fold, that form fitted to the other folds, or to the fold itself where the others have no errors. Null without errors. */
  readonly models: readonly (ErrorModel | null)[];
}

export function crossFit(folds: readonly ErrorItems[], scope: ErrorScope): CrossFit {
  const isJudged = folds.filter(({ errors }) => errors.length > 0).length > 1;
  const fits = folds.map((fold) => {
    if (fold.errors.length === 0) return null;
    const others = folds.filter((other) => other !== fold && other.errors.length > 0);
    const known = joinItems(isJudged ? others : [fold]);
    const spans =
      (scope.spans * known.errors.length) / folds.reduce((sum, { errors }) => sum + errors.length, 0);
    return fitForms(known, isJudged ? forms : [forms[0]], { ...scope, spans });
  });
  const scores = forms.map(({ spread, shapes }, i) => {
    const price = 1 + priceOfForm * (Number(spread === "by situation") + shapes - 1);
    const losses = folds.map((fold, f) => (fits[f]?.[i] === undefined ? 0 : pinballLoss(fold, fits[f][i])));
    return price * losses.reduce((sum, loss) => sum + loss, 0);
  });
  const best = isJudged ? Math.max(0, scores.indexOf(Math.min(...scores))) : 0;
  return { form: forms[best], models: fits.map((own) => own?.[best] ?? null) };
}

/** At least one item. */
export function fitErrors(items: ErrorItems, form: ErrorForm, scope: ErrorScope): ErrorModel {
  return fitForms(items, [form], scope)[0];
}

function fitForms(items: ErrorItems, wanted: readonly ErrorForm[], scope: ErrorScope): readonly ErrorModel[] {
  const spreads = [...new Set(wanted.map(({ spread }) => spread))].map((spread) => {
    const { weights, steps } = fitSpread(items, spread, scope);
    const model = { season: scope.season, steps, weights, limits: limitsOf(items, weights) };
    const ratios = items.errors.map((error, i) => {
      const own = spreadOf(model, items.features, i * featureCount, items.outputs[i]);
      return own > 0 ? error / own : 0;
    });
    return { spread, model, sorted: { ratios, order: orderOf(ratios) } };
  });
  return wanted.map((form) => {
    const { model, sorted } = spreads.find(({ spread }) => spread === form.spread) ?? spreads[0];
    const { heights } = items;
    if (form.shapes === 1) {
      const shape = shapeOf(sorted, () => 1, scope.spans);
      return { ...model, low: shape, high: shape };
    }
    return {
      ...model,
      low: shapeOf(sorted, (i) => 1 - heights[i], scope.spans),
      high: shapeOf(sorted, (i) => heights[i], scope.spans),
    };
  });
}

/** Indices of the values, by ascending value. Sorting numbers and finding each among them is several times as fast as sorting indices. */
function orderOf(values: Float64Array): Uint32Array {
  const sorted = values.slice().sort();
  const order = new Uint32Array(values.length);
  const placed = new Uint32Array(values.length);
  for (let i = 0; i < values.length; i++) {
    let low = 0;
    let high = sorted.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (sorted[middle] < values[i]) low = middle + 1;
      else high = middle;
    }
    order[low + placed[low]++] = i;
  }
  return order;
}

/**
 * The weights for which the spread is nearest the absolute errors in Kullback–Leibler divergence: an error of the spread then counts
 * as it does in the CRPS, in proportion to its square over the spread. Multiplicative updates keep weights from becoming negative.
 */
function fitSpread(items: ErrorItems, spread: ErrorForm["spread"], { outputs, channels }: ErrorScope) {
  const { errors, features } = items;
  const used = spread === "by step" ? 1 : featureCount;
  const means = new Float64Array(used);
  const errorSums = new Float64Array(outputs);
  for (let i = 0; i < errors.length; i++) {
    errorSums[items.outputs[i]] += Math.abs(errors[i]);
    for (let f = 0; f < used; f++) means[f] += features[i * featureCount + f] / errors.length;
  }
  const meanError = errorSums.reduce((sum, one) => sum + one, 0) / errors.length;
  const weights = new Float32Array(featureCount);
  for (let f = 0; f < used; f++) weights[f] = means[f] > 0 ? meanError / used / means[f] : 0;
  let steps = new Float32Array(outputs).fill(1);
  for (let round = 0; round < (used === 1 ? 2 : updates); round++) {
    const expected = new Float64Array(outputs);
    const wanted = new Float64Array(used);
    const given = new Float64Array(used);
    for (let i = 0, at = 0; i < errors.length; i++, at += featureCount) {
      const step = steps[items.outputs[i]];
      let sum = 0;
      for (let f = 0; f < used; f++) sum += weights[f] * features[at + f];
      expected[items.outputs[i]] += sum;
      // A step whose errors are all zero has no spread.
      const ratio = step * sum > 0 ? Math.abs(errors[i]) / (step * sum) : 0;
      for (let f = 0; f < used; f++) {
        wanted[f] += ratio * step * features[at + f];
        given[f] += step * features[at + f];
      }
    }
    for (let f = 0; f < used; f++) if (given[f] > 0) weights[f] *= wanted[f] / given[f];
    steps = smoothSteps(errorSums, expected, channels);
  }
  return { weights, steps };
}

/** Per output, observed over expected errors, averaged with the steps beside it. A step without an error is as wide as the widest. */
function smoothSteps(
  errorSums: Float64Array,
  expected: Float64Array,
  channels: number,
): Float32Array<ArrayBuffer> {
  const ratios = errorSums.map((sum, o) => (expected[o] > 0 ? sum / expected[o] : Number.NaN));
  const steps = Float32Array.from(ratios, (_, o) => {
    const near = [ratios[o - channels], ratios[o], ratios[o + channels]].filter((ratio) => ratio >= 0);
    return near.reduce((sum, ratio) => sum + ratio, 0) / near.length;
  });
  // Without any error at all, any number will do: it is multiplied by zero.
  const widest = Math.max(0, ...steps.filter((step) => step >= 0));
  return steps.map((step) => (step >= 0 ? step : widest));
}

/** A spread below a hundredth of the usual one, or beyond twice the widest, was never seen to be right. */
function limitsOf({ errors, features }: ErrorItems, weights: Float32Array): Float32Array {
  let total = 0;
  let widest = 0;
  for (let i = 0, at = 0; i < errors.length; i++, at += featureCount) {
    let sum = 0;
    for (let f = 0; f < featureCount; f++) sum += weights[f] * features[at + f];
    const spread = features[at] > 0 ? sum / features[at] : 0;
    total += spread;
    if (spread > widest) widest = spread;
  }
  return Float32Array.of((0.01 * total) / errors.length, 2 * widest);
}

/** Weighted quantiles of the ratios, which `order` sorts, moved towards the median of the model. */
function shapeOf(
  { ratios, order }: { readonly ratios: Float64Array; readonly order: Uint32Array },
  weightOf: (item: number) => number,
  spans: number,
): Float32Array {
  let total = 0;
  for (const i of order) total += weightOf(i);
  const found = new Float64Array(shapePoints).fill(ratios[order[order.length - 1]]);
  let next = 0;
  let passed = 0;
  let [below, ratioBelow] = [0, ratios[order[0]]];
  for (const i of order) {
    // Forecasts may all be low, or all be high: then there is nothing to weigh by.
    const weight = total > 0 ? weightOf(i) / total : 1 / order.length;
    const middle = passed + weight / 2;
    for (; next < shapePoints && (next + 0.5) / shapePoints <= middle; next++) {
      const part = passed > 0 ? ((next + 0.5) / shapePoints - below) / (middle - below) : 1;
      found[next] = ratioBelow + part * (ratios[i] - ratioBelow);
    }
    passed += weight;
    if (weight > 0) [below, ratioBelow] = [middle, ratios[i]];
  }
  const offset = (quantileOf(found, 0.5) * spansForMedian) / (spans + spansForMedian);
  const factor = 1 + optimism / Math.sqrt(spans);
  return Float32Array.from(found, (ratio) => factor * (ratio - offset));
}

const judgedLevels = [0.1, 0.3, 0.5, 0.7, 0.9];

function pinballLoss(items: ErrorItems, model: ErrorModel): number {
  const low = judgedLevels.map((level) => quantileOf(model.low, level));
  const high = judgedLevels.map((level) => quantileOf(model.high, level));
  let sum = 0;
  for (let i = 0; i < items.errors.length; i++) {
    const spread = spreadOf(model, items.features, i * featureCount, items.outputs[i]);
    for (let l = 0; l < judgedLevels.length; l++) {
      const quantile = low[l] + items.heights[i] * (high[l] - low[l]);
      const error = items.errors[i] - spread * quantile;
      sum += Math.max(judgedLevels[l] * error, (judgedLevels[l] - 1) * error);
    }
  }
  return sum;
}
