import { Refusal } from '@keystead/refusal';
import type { RouteMatch } from '../kernel/routing/route-match';
import type { BodyBounds, RequestFields } from './request';

/** For callers without a known token: logins, shares of keys and wrapping tokens need no more. */
const unknownCaller: BodyBounds = { bytes: 64 * 1024, values: 1000 };
/** Of a known caller, for everything with declared fields. */
const declaredFields: BodyBounds = { bytes: 2 * 1024 * 1024, values: 50_000 };
/** Where the whole body is what is stored. */
const freeForm: BodyBounds = { bytes: 32 * 1024 * 1024, values: 50_000 };

const text = 'http: request body too large';

/** How much of a request's body is read, once it is known where it leads and who sends it. Decision 0060. */
export function boundsOf(match: RouteMatch, authenticated: boolean): BodyBounds {
  const { operation } = match;
  const bounds = !authenticated
    ? unknownCaller
    : operation?.freeform || operation?.largeBody
      ? freeForm
      : declaredFields;
  return operation?.wholeBody ? { ...bounds, wholeBody: operation.wholeBody } : bounds;
}

/** While the service is sealed no caller is known. */
export const sealedBounds = unknownCaller;

/** Holds the fields of a query to the bounds. Throws `too-large`. */
export function requireWithin({ fields, bytes }: RequestFields, { values }: BodyBounds): void {
  // A name and what separates it from the next take two bytes.
  if (bytes > 2 * values && Object.keys(fields).length > values) throw tooManyValues(values);
}

/** The refusal of a body with too many bytes; of the largest, in the words clients know. */
export function tooManyBytes(limit: number): Refusal {
  if (limit === freeForm.bytes) return new Refusal('too-large', text);
  const mebibytes = limit / (1024 * 1024);
  return new Refusal('too-large', `${text}: more than ${mebibytes >= 1 ? `${mebibytes} MiB` : `${limit / 1024} KiB`}`);
}

/** The refusal of a body with too many values. */
export function tooManyValues(limit: number): Refusal {
  return new Refusal('too-large', `${text}: more than ${limit} values`);
}
