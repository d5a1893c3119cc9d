// Completes the output of `npm sbom`: makes it reproducible, without time or random number, and adds the wheels whose
// libraries are inside an npm package. Pure.

import { createHash } from "node:crypto";
import type { Wheel } from "../tensorflow/recipe.ts";

interface SpdxPackage {
  readonly name: string;
  readonly SPDXID: string;
  readonly versionInfo: string;
  readonly downloadLocation: string;
  readonly filesAnalyzed: boolean;
  readonly externalRefs?: readonly object[];
  readonly checksums?: readonly object[];
}

/** The part of an SPDX 2.3 document that this file uses. */
export interface SpdxDocument {
  readonly name: string;
  readonly documentNamespace: string;
  readonly creationInfo: { readonly created: string; readonly creators: readonly string[] };
  readonly documentDescribes: readonly string[];
  readonly packages: readonly SpdxPackage[];
  readonly relationships: readonly object[];
}

export function completeSbom(
  document: SpdxDocument,
  wheels: readonly Wheel[],
  createdAtMs: number,
): SpdxDocument {
  const packages = [...document.packages, ...wheels.map(packageOf)];
  const [root] = document.documentDescribes;
  const contained = wheels.map((wheel) => ({
    spdxElementId: root,
    relatedSpdxElement: idOf(wheel),
    relationshipType: "CONTAINS",
  }));
  // SPDX requires a unique name per content; a digest is unique without a random number.
  const digest = createHash("sha256").update(JSON.stringify(packages)).digest("hex").slice(0, 32);
  const slug = document.name.replace("@", "-");
  return {
    ...document,
    documentNamespace: `http://spdx.org/spdxdocs/${slug}-${digest}`,
    creationInfo: { ...document.creationInfo, created: secondsOf(createdAtMs) },
    packages,
    relationships: [...document.relationships, ...contained],
  };
}

function packageOf(wheel: Wheel): SpdxPackage {
  const { name, version, sha256 } = wheel;
  const purl = `pkg:pypi/${name}@${version}`;
  return {
    name,
    SPDXID: idOf(wheel),
    versionInfo: version,
    downloadLocation: "NOASSERTION",
    filesAnalyzed: false,
    externalRefs: [{ referenceCategory: "PACKAGE-MANAGER", referenceType: "purl", referenceLocator: purl }],
    checksums: [{ algorithm: "SHA256", checksumValue: sha256 }],
  };
}

function idOf({ name, version }: Wheel): string {
  return `SPDXRef-Package-pypi-${name}-${version}`;
}

/** SPDX 2.3 allows no fractions of a second. */
function secondsOf(timeMs: number): string {
  return new Date(timeMs).toISOString().replace(/\.\d+Z$/, "Z");
}
