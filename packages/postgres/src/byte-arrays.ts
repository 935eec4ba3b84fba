/** The type number of `bytea`. */
const BYTEA = 17;
const HEADER_BYTES = 20;

/**
 * The values of a statement, with arrays of bytes in binary. The driver would write them as hexadecimal digits, which the
 * server would have to parse.
 */
export function withByteArrays(values: readonly unknown[]): readonly unknown[] {
  return values.some(isBytes) ? values.map((value) => (isBytes(value) ? byteArray(value) : value)) : values;
}

/** Checks only one element, because all elements of an array have the same type. */
const isBytes = (value: unknown): value is readonly (Buffer | null)[] =>
  Array.isArray(value) && value.length > 0 && Buffer.isBuffer(value.find((element) => element !== null));

function byteArray(elements: readonly (Buffer | null)[]): Buffer {
  let bytes = HEADER_BYTES;
  let nulls = 0;
  for (const element of elements) {
    bytes += 4;
    if (element === null) nulls = 1;
    else bytes += element.length;
  }
  const array = Buffer.allocUnsafe(bytes);
  // The header of an array: number of dimensions (one), whether there are nulls, the type, the number of elements, and
  // the first index.
  let at = 0;
  for (const number of [1, nulls, BYTEA, elements.length, 1]) at = array.writeInt32BE(number, at);
  for (const element of elements) {
    at = array.writeInt32BE(element?.length ?? -1, at);
    if (element !== null) at += element.copy(array, at);
  }
  return array;
}
