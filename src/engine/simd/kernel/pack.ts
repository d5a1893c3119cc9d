// Weights from the order of the flat array into that of the kernel: see ../packing.ts. A model that is not resident
// is packed for every forecast, so this must cost little beside it.

/** `table`: for each matrix its first number, rows and columns, as int32. All else is copied as it is. */
export function pack(from: usize, to: usize, count: i32, table: usize, matrices: i32): void {
  let done = 0;
  for (let i = 0; i < matrices; i++) {
    const entry: usize = table + i * 12;
    const start = load<i32>(entry);
    const quads = load<i32>(entry, 4) >> 2;
    const columns = load<i32>(entry, 8);
    copyNumbers(from, to, done, start);
    for (let quad = 0; quad < quads; quad++) {
      const at: usize = (start + quad * 4 * columns) << 2;
      packQuad(from + at, to + at, columns);
    }
    done = start + quads * 4 * columns;
  }
  copyNumbers(from, to, done, count);
}

@inline
function copyNumbers(from: usize, to: usize, first: i32, end: i32): void {
  if (end > first) memory.copy(to + (first << 2), from + (first << 2), (end - first) << 2);
}

/** Four rows become columns of four. */
function packQuad(from: usize, to: usize, columns: i32): void {
  const row: usize = columns << 2;
  let a = from;
  let y = to;
  let column = columns;
  for (; column >= 4; column -= 4) {
    const r0 = v128.load(a);
    const r1 = v128.load(a + row);
    const r2 = v128.load(a + 2 * row);
    const r3 = v128.load(a + 3 * row);
    const low01 = v128.shuffle<f32>(r0, r1, 0, 4, 1, 5);
    const low23 = v128.shuffle<f32>(r2, r3, 0, 4, 1, 5);
    const high01 = v128.shuffle<f32>(r0, r1, 2, 6, 3, 7);
    const high23 = v128.shuffle<f32>(r2, r3, 2, 6, 3, 7);
    v128.store(y, v128.shuffle<f32>(low01, low23, 0, 1, 4, 5));
    v128.store(y, v128.shuffle<f32>(low01, low23, 2, 3, 6, 7), 16);
    v128.store(y, v128.shuffle<f32>(high01, high23, 0, 1, 4, 5), 32);
    v128.store(y, v128.shuffle<f32>(high01, high23, 2, 3, 6, 7), 48);
    a += 16;
    y += 64;
  }
  for (; column > 0; column--) {
    store<f32>(y, load<f32>(a));
    store<f32>(y, load<f32>(a + row), 4);
    store<f32>(y, load<f32>(a + 2 * row), 8);
    store<f32>(y, load<f32>(a + 3 * row), 12);
    a += 4;
    y += 16;
  }
}
