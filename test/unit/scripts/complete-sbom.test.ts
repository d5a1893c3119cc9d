// The bill of materials: reproducible, and complete with the libraries from wheels.

import assert from "node:assert/strict";
import { test } from "node:test";
import { completeSbom, type SpdxDocument } from "../../../scripts/sbom/complete-sbom.ts";

function fromNpm(mark: string): SpdxDocument {
  return {
    name: "forecastnet@0.1.0",
    documentNamespace: `http://spdx.org/spdxdocs/forecastnet-0.1.0-${mark}`,
    creationInfo: { created: `2026-01-01T00:00:0${mark}.123Z`, creators: ["Tool: npm"] },
    documentDescribes: ["SPDXRef-Package-forecastnet-0.1.0"],
    packages: [],
    relationships: [],
  };
}

test("two bills of materials made at different times are identical", () => {
  const [first, second] = ["1", "2"].map((mark) => completeSbom(fromNpm(mark), [], 86_400_000));
  assert.equal(JSON.stringify(first), JSON.stringify(second));
  assert.equal(first?.creationInfo.created, "1970-01-02T00:00:00Z");
});

test("wheels are listed as packages of the product, with their checksums", () => {
  const wheel = { name: "tensorflow", version: "2.15.1", sha256: "ab".repeat(32) };
  const sbom = completeSbom(fromNpm("1"), [wheel], 0);
  assert.equal(sbom.packages[0]?.name, "tensorflow");
  assert.deepEqual(sbom.packages[0]?.checksums, [{ algorithm: "SHA256", checksumValue: wheel.sha256 }]);
  assert.deepEqual(sbom.relationships, [
    {
      spdxElementId: "SPDXRef-Package-forecastnet-0.1.0",
      relatedSpdxElement: "SPDXRef-Package-pypi-tensorflow-2.15.1",
      relationshipType: "CONTAINS",
    },
  ]);
  assert.notEqual(sbom.documentNamespace, completeSbom(fromNpm("1"), [], 0).documentNamespace);
});
