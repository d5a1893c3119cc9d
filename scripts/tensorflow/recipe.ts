// The recipe of the native part of TensorFlow.js: the wheels with their checksums, how to download them, which files to
// extract, and how to compile the binding. Data and pure functions only.

import { join } from "node:path";

export type Variant = "cpu" | "gpu";

export interface Wheel {
  readonly name: string;
  readonly version: string;
  /** Of the file for Linux x64; pip refuses any other file. */
  readonly sha256: string;
}

export interface Recipe {
  readonly variant: Variant;
  readonly wheels: readonly Wheel[];
  /** Size of the finished folder. */
  readonly diskMb: number;
  /** Free space needed during the build: the folder and the largest wheel. */
  readonly peakMb: number;
}

export const tensorflowVersion = "2.15.1";

/** Raise it when the same versions are built differently, so that old caches are not used. */
export const recipeRevision = 1;

const nvidiaWheels: readonly Wheel[] = [
  {
    name: "nvidia-cuda-runtime-cu12",
    version: "12.2.140",
    sha256: "acb9cb7e44594a3512533497ea790d9f0b0e399abcc888584c157d1ffa080e41",
  },
  {
    name: "nvidia-cublas-cu12",
    version: "12.2.5.6",
    sha256: "f448d8db463f9a2c7dd9a1e607c0961d3e95f825b86839c5882f7d073d406df0",
  },
  {
    name: "nvidia-cudnn-cu12",
    version: "8.9.4.25",
    sha256: "9f882d5b11753c566fd32427839089eb4f8ba7a58c28446ad359e32c40229723",
  },
  {
    name: "nvidia-cufft-cu12",
    version: "11.0.8.103",
    sha256: "72e961e578f9be9e316ccb4db8652c421dd0b57442624faa71061d452f449a67",
  },
  {
    name: "nvidia-cusolver-cu12",
    version: "11.5.2.141",
    sha256: "5a85c4653ce34339a5688137f494a0f903e0f0532418550998167f00844161da",
  },
  {
    name: "nvidia-cusparse-cu12",
    version: "12.1.2.141",
    sha256: "4e13d6a51d2303dcb2a023ba09546811161f0334fc64e13689397bbd3b1eb126",
  },
  {
    name: "nvidia-nvjitlink-cu12",
    version: "12.2.140",
    sha256: "95635cafbf9f96c38bea5200ab145a2e6aefbb5405e0b04c1e4ba54df2d84ec9",
  },
  {
    name: "nvidia-cuda-cupti-cu12",
    version: "12.2.142",
    sha256: "ce68d1009dd14215e38ed49643d31374c71d6fea381181cb0b9da7f19dfd1624",
  },
];

export const recipes: Readonly<Record<Variant, Recipe>> = {
  cpu: {
    variant: "cpu",
    wheels: [
      {
        name: "tensorflow-cpu",
        version: tensorflowVersion,
        sha256: "ba9503db2c5357ea21938555323581fbdabf3d051b6bc1b5f73c5b0ae034d077",
      },
    ],
    diskMb: 590,
    peakMb: 900,
  },
  gpu: {
    variant: "gpu",
    wheels: [
      {
        name: "tensorflow",
        version: tensorflowVersion,
        sha256: "ea290e435464cf0794f657b48786e5fa413362abe55ed771c172c25980d070ce",
      },
      ...nvidiaWheels,
    ],
    diskMb: 3400,
    peakMb: 4300,
  },
};

/** The folder below the cache's base for one variant, one pair of versions and one platform. */
export function cacheName(variant: Variant, tfjsVersion: string): string {
  const versions = `${tensorflowVersion}-tfjs-${tfjsVersion}-r${recipeRevision}`;
  return join("tensorflow", `${variant}-${versions}-linux-x64`);
}

/** A line of pip's requirements file. With a checksum, pip refuses every other file of that name. */
export function requirementOf({ name, version, sha256 }: Wheel): string {
  return `${name}==${version} --hash=sha256:${sha256}\n`;
}

/** For `python -m pip`. Any version of Python works: platform and Python version of the wheel are explicit. */
export function pipArgs(requirementsFile: string, folder: string, isTerminal: boolean): string[] {
  return [
    ...["-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--require-hashes"],
    ...["--python-version", "3.10"],
    ...["manylinux_2_17", "manylinux2014", "manylinux1"].flatMap((tag) => ["--platform", `${tag}_x86_64`]),
    // pip's own cache would store a second copy of up to 2 GB.
    ...["--no-cache-dir", "--disable-pip-version-check", "--no-input"],
    ...(isTerminal ? [] : ["--quiet"]),
    ...["--dest", folder, "--requirement", requirementsFile],
  ];
}

/**
 * For `python -c`: extracts the needed files from the wheel (first argument) into the folder (second argument). Each
 * library goes where its own search path and the package expect it: deps/nvidia is next to deps/lib as nvidia is next to
 * tensorflow in Python.
 */
export const unpackProgram = `
import os, re, shutil, sys, zipfile
wheel, folder = sys.argv[1:]
places = [
    (r"tensorflow/(libtensorflow_(?:cc|framework)\\.so\\.2)", "deps/lib"),
    (r"(nvidia/[^/]+/lib/[^/]+\\.so[.0-9]*)", "deps"),
    (r"tensorflow/include/((?:tensorflow/c|tensorflow/core/platform|tsl)/.+\\.h)", "include"),
]
with zipfile.ZipFile(wheel) as archive:
    for name in archive.namelist():
        for pattern, place in places:
            match = re.fullmatch(pattern, name)
            if match:
                target = os.path.join(folder, place, match.group(1))
                os.makedirs(os.path.dirname(target), exist_ok=True)
                with archive.open(name) as source, open(target, "wb") as copy:
                    shutil.copyfileobj(source, copy, 1 << 20)
`;

/**
 * Compiled into the binding: hides TensorFlow's informational lines on standard error, unless the user has set the level.
 * The library reads the variable when it writes its first line.
 */
export const quietSource = `#include <cstdlib>
__attribute__((constructor)) static void hide_informational_lines() {
  setenv("TF_CPP_MIN_LOG_LEVEL", "1", 0);
}
`;

export interface CompileInputs {
  /** The folder of @tensorflow/tfjs-node-gpu, which contains the sources. */
  readonly packageFolder: string;
  /** The folder with node_api.h. */
  readonly nodeHeaders: string;
  /** The folder with tensorflow/c/c_api.h. */
  readonly tensorflowHeaders: string;
  readonly libraries: string;
  readonly quietFile: string;
  readonly output: string;
}

/** For `g++`. Node-API 8 is the newest version that the package supports; Node 16 and newer have it. */
export function compileArgs(inputs: CompileInputs): string[] {
  const source = (name: string): string => join(inputs.packageFolder, "binding", name);
  return [
    ...["-std=c++17", "-O2", "-fPIC", "-shared"],
    ...["-DNAPI_VERSION=8", "-DBUILDING_NODE_EXTENSION", "-DNODE_GYP_MODULE_NAME=tfjs_binding"],
    ...[inputs.nodeHeaders, inputs.tensorflowHeaders, inputs.packageFolder].map((folder) => `-I${folder}`),
    ...[inputs.quietFile, source("tfjs_backend.cc"), source("tfjs_binding.cc")],
    ...[`-L${inputs.libraries}`, "-l:libtensorflow_cc.so.2", "-l:libtensorflow_framework.so.2"],
    // From lib/napi-v8 to deps/lib, wherever the package is.
    "-Wl,-rpath,$ORIGIN/../../deps/lib",
    ...["-o", inputs.output],
  ];
}
