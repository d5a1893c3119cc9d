// The shapes of tensors that the files of this folder exchange.

import type * as tfjs from "@tensorflow/tfjs";

export type Tensor = tfjs.Tensor;
export type Tensor2D = tfjs.Tensor2D;
export type Tensor3D = tfjs.Tensor3D;
export type Tensor4D = tfjs.Tensor4D;
