import { encode, type FuzzRequest } from './requests';

/** Whether a smaller request still shows the same fault. */
type Shows<T> = (candidate: T) => Promise<boolean>;

const attempts = 150;
/** The maximum number of attempts with bytes: fewer than with requests, because truncated requests take a while. */
const attemptsAtBytes = 40;

/** Removes from a request what is not needed to show the fault. */
export async function minimiseRequest(request: FuzzRequest, fails: Shows<FuzzRequest>): Promise<FuzzRequest> {
  let remaining = attempts;
  let best = request;
  const better = async (candidate: FuzzRequest): Promise<boolean> => {
    if (remaining-- <= 0 || !(await fails(candidate))) return false;
    best = candidate;
    return true;
  };
  for (let again = true; again && remaining > 0; ) {
    again = false;
    for (const candidate of smaller(best)) {
      if (await better(candidate)) {
        again = true;
        break;
      }
    }
  }
  return best;
}

function* smaller(request: FuzzRequest): Generator<FuzzRequest> {
  for (const name of Object.keys(request.headers)) {
    const { [name]: _left, ...headers } = request.headers;
    yield { ...request, headers };
  }
  for (const at of request.query.keys()) {
    yield { ...request, query: request.query.filter((_pair, i) => i !== at) };
  }
  if (request.body === undefined) return;
  if ('bytes' in request.body) {
    for (const bytes of halves(Buffer.from(request.body.bytes as string))) yield { ...request, body: { bytes } };
  } else {
    for (const value of lesser(request.body.value)) yield { ...request, body: { value } };
  }
}

function* lesser(value: unknown): Generator<unknown> {
  if (typeof value === 'string' && value.length > 8) {
    yield value.slice(0, value.length >> 1);
    yield value.slice(value.length >> 1);
  }
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) === null) return;
  if (Array.isArray(value)) {
    for (const at of value.keys()) yield value.filter((_item, i) => i !== at);
    for (const at of value.keys()) {
      for (const item of lesser(value[at])) yield value.map((old, i) => (i === at ? item : old));
    }
    return;
  }
  if (Object.getPrototypeOf(value) !== Object.prototype) return;
  const entries = Object.entries(value);
  for (const at of entries.keys()) yield Object.fromEntries(entries.filter((_entry, i) => i !== at));
  for (const at of entries.keys()) {
    for (const item of lesser(entries[at]![1])) {
      yield Object.fromEntries(entries.map(([key, old], i) => [key, i === at ? item : old]));
    }
  }
}

/** Removes from bytes what is not needed to show the fault. */
export async function minimiseBytes(bytes: Buffer, fails: Shows<Buffer>): Promise<Buffer> {
  let remaining = attemptsAtBytes;
  let best = bytes;
  for (let again = true; again && remaining > 0; ) {
    again = false;
    for (const candidate of halves(best)) {
      if (remaining-- <= 0) break;
      if (await fails(candidate)) {
        best = candidate;
        again = true;
        break;
      }
    }
  }
  return best;
}

/** The bytes without one of their pieces: large pieces first. */
function* halves(bytes: Buffer): Generator<Buffer> {
  for (let size = bytes.length >> 1; size >= 1; size >>= 1) {
    if (bytes.length / size > 64) return;
    for (let at = 0; at < bytes.length; at += size) {
      yield Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + size)]);
    }
  }
}

/** Bytes in readable form, to paste into `printf` or a JavaScript string. */
export function printable(bytes: Buffer): string {
  const text = JSON.stringify(bytes.toString('latin1'));
  return text.length > 3000 ? `${text.slice(0, 2000)} … (${bytes.length} bytes)` : text;
}

export const shownRequest = (request: FuzzRequest, host: string): string => printable(encode(request, host));
