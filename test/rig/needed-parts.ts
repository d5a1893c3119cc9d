// The parts that some test files need from the machine and that are put in place once, before any file runs:
// fetching them takes longer than a test may. A real broker is not among them; it is started for all files together.

import { missingChartTools } from "./chart.ts";
import { missingChromium } from "./chromium.ts";
import { missingHadolint } from "./hadolint.ts";
import { missingLibrdkafka } from "./librdkafka.ts";
import { missingOtherNodes } from "./other-nodes.ts";
import { missingPrometheus } from "./prometheus.ts";
import { missingTensorFlow } from "./tensorflow.ts";

export interface NeededPart {
  readonly name: string;
  /** Told the path of a test file from the repository's root. */
  readonly isNeededBy: (path: string) => boolean;
  /** Null when the part is in place, after putting it there where that may be done; otherwise what to install. */
  readonly missing: () => Promise<string | null>;
}

export const neededParts: readonly NeededPart[] = [
  {
    name: "native TensorFlow",
    isNeededBy: (path) => path.includes("tensorflow"),
    missing: missingTensorFlow,
  },
  {
    name: "the Helm chart",
    isNeededBy: (path) => path.startsWith("test/deploy/chart-"),
    missing: missingChartTools,
  },
  {
    name: "Dockerfiles",
    isNeededBy: (path) => path === "test/deploy/dockerfiles.test.ts",
    missing: missingHadolint,
  },
  {
    name: "clusters and record batches, with librdkafka as the independent client",
    isNeededBy: (path) =>
      path.startsWith("test/integrity/cluster-") || path === "test/contract/kafka-record-batch.test.ts",
    missing: missingLibrdkafka,
  },
  {
    name: "other versions of Node",
    isNeededBy: (path) => path.endsWith("/node-versions.test.ts"),
    missing: missingOtherNodes,
  },
  {
    name: "pages in a browser",
    isNeededBy: (path) => path.startsWith("test/browser/"),
    missing: missingChromium,
  },
  {
    name: "Prometheus",
    isNeededBy: (path) => path.includes("prometheus"),
    missing: missingPrometheus,
  },
];
