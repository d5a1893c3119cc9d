// `node write-sbom.js FILE`: writes the bill of materials (SPDX) of the installation: the npm packages that `npm sbom`
// finds in node_modules, and the libraries that the TensorFlow setup has added. The same installation and
// SOURCE_DATE_EPOCH give the same bytes.
//
// `npm sbom` refuses an installation that lacks its development dependencies, so an image removes them from package.json
// first.

import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { findNativeBinding } from "../src/engine/tensorflow/native-binding.ts";
import { completeSbom, type SpdxDocument } from "./sbom/complete-sbom.ts";
import { recipes } from "./tensorflow/recipe.ts";

const [target, ...npmOptions] = process.argv.slice(2);
if (target === undefined) throw new Error("usage: write-sbom FILE [options of npm sbom]");

const output = execFileSync("npm", ["sbom", "--sbom-format=spdx", ...npmOptions], { encoding: "utf8" });
const { variant } = findNativeBinding();
const wheels = variant === "cpu" || variant === "gpu" ? recipes[variant].wheels : [];
const createdAtMs = 1000 * Number(process.env.SOURCE_DATE_EPOCH ?? 0);
const sbom = completeSbom(JSON.parse(output) as SpdxDocument, wheels, createdAtMs);
writeFileSync(target, `${JSON.stringify(sbom, null, 2)}\n`);
