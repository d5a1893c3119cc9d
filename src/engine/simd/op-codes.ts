// Operations and record fields of the kernel's programs. Both sides import this file: the TypeScript that writes
// programs and the AssemblyScript that runs them. A program is a list of records of `recordBytes`; a field constant
// is the byte offset of its int32.
//
// Legend: data is in rows of 8 lanes (32 bytes); a lane is a sample path or a row of a minibatch.
//   lanes layout      [block of 8 lanes][channel][position][lane]
//   positions layout  [channel][position]: one value per position, the same for all lanes; a block is 8 positions
// Weights of a layer with `outputs` rows and `columns` columns are packed: whole groups of four rows as
// [group][column][4 rows], then the remaining rows as [row][column].

export const recordBytes = 96;

export const opEnd = 0;
/** y = f(b + W·x), or y = f(y + W·x). Also convolutions: `kernel` rows of each channel, sliding over positions. */
export const opForward = 1;
/** y = f(b + W·x) for one vector. */
export const opMatvec = 2;
/** Writes zeros: `kernel` bytes of each channel. */
export const opClear = 3;
/** Broadcasts one value to all lanes of a row. */
export const opSplat = 4;
export const opCopy = 5;
export const opPool = 6;
/** σ = softplus(s), and μ + σz into the next cell's input. */
export const opDraw = 7;
/** The loss, and its derivatives by μ and s. */
export const opLoss = 8;
/** Derivative by the input of a dense layer. */
export const opInputGradient = 9;
/** Rearranges the weights of a convolution into those of the convolution that propagates its gradient back. */
export const opFlip = 10;
/** Derivative through an activation. */
export const opActivationGradient = 11;
export const opPoolGradient = 12;
export const opWeightGradient = 13;
export const opBiasGradient = 14;
/** Copies `kernel` bytes. */
export const opCopyNumbers = 15;

/** A convolution in fewer products. The six `opForward` records that follow belong to it. */
export const opFastConv = 16;

export const atCode = 0;
/** The result: address, bytes to the next block, row (or channel) and position. */
export const atY = 4;
export const atYBlock = 8;
export const atYRow = 12;
export const atYStep = 16;
/** The input, likewise. */
export const atX = 20;
export const atXBlock = 24;
export const atXRow = 28;
export const atXStep = 32;
/** Column of weight (channel, k) = firstColumn + channel·columnStride + k. */
export const atChannels = 36;
export const atKernel = 40;
export const atW = 44;
export const atFirstColumn = 48;
export const atColumnStride = 52;
export const atColumns = 56;
export const atOutputs = 60;
export const atPositions = 64;
/** Blocks of 8, or 0 for all blocks of the run. */
export const atBlocks = 68;
/** Biases, or a third operand. */
export const atB = 72;
export const atBBlock = 76;
export const atBRow = 80;
export const atActivation = 84;
export const atFlags = 88;
/** Of a convolution: bytes from the first column's x to each column's, as int32; or 0. */
export const atTable = 92;

export const activationLinear = 0;
export const activationRelu = 1;
export const activationSigmoid = 2;

/** The address `w` (or `b`) is absolute; otherwise it counts from the start of the net's weights. */
export const flagAbsoluteW = 1;
export const flagAbsoluteB = 2;
/** Adds to y. */
export const flagAccumulate = 4;
/** x is in the positions layout. */
export const flagPositions = 8;
/** The loss alone, no derivatives. */
export const flagLossOnly = 16;
/** The output is Gaussian. */
export const flagGaussian = 32;
/** There is no bias. */
export const flagNoBias = 64;
/** The loss of a Gaussian output is the continuous ranked probability score instead of the likelihood. */
export const flagCrps = 128;
