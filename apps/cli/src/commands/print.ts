import { exactJson } from '@keystead/envelope';
import type { ResponseBody, ServiceResponse } from '../client';
import type { Context } from '../context';
import { Problem } from '../problem';

/** Prints a response: its data or auth as a table, or the whole response in other formats. */
export function print({ output }: Context, { body }: ServiceResponse): void {
  // Programs find the warnings in the answer.
  if (!output.forPrograms) output.warnings(body?.warnings);
  output.show(withoutEmptyParts(body ?? {}), fieldsOf(body ?? {}));
}

/** A response without its empty parts: `auth` and `wrap_info` are included only if they have content. */
export function withoutEmptyParts(body: ResponseBody): ResponseBody {
  const { auth, wrap_info, ...rest } = body;
  return { ...rest, ...(auth ? { auth } : {}), ...(wrap_info ? { wrap_info } : {}) };
}

/** Prints the content of an answer without its envelope, or one field of it. */
export function printData(context: Context, answer: ServiceResponse, field?: string): void {
  const { body } = answer;
  if (field !== undefined || body?.wrap_info) {
    printOrField(context, answer, field);
  } else {
    context.output.warnings(body?.warnings);
    context.output.show(body?.data ?? {});
  }
}

/** Prints only one field, or the whole response if none was requested. */
export function printOrField(context: Context, answer: ServiceResponse, field: string | undefined): void {
  const { body } = answer;
  if (field === undefined) {
    print(context, answer);
  } else {
    context.output.warnings(body?.warnings);
    printField(context, { ...body, ...body?.data, ...body?.auth, ...wrapping(body) }, field);
  }
}

/** Prints a raw value for pipes, without a line break if there is no terminal. */
export function printField({ output }: Context, fields: Record<string, unknown>, field: string): void {
  const value = fields[field];
  if (value === undefined) throw new Problem(`the answer has no field ${field}`);
  if (output.forPrograms) output.show(value);
  else output.raw(typeof value === 'string' ? value : exactJson(value));
}

/** Confirms that something was done, or prints the answer. */
export function printOrSay(context: Context, answer: ServiceResponse, message: string): void {
  if (answer.body) print(context, answer);
  else context.output.note(message);
}

function fieldsOf(body: NonNullable<ServiceResponse['body']>): Record<string, unknown> {
  const lease = body.lease_id
    ? { lease_id: body.lease_id, lease_duration: body.lease_duration, lease_renewable: body.renewable }
    : {};
  const enveloped = 'data' in body || 'auth' in body || 'wrap_info' in body;
  return enveloped ? { ...lease, ...body.data, ...body.auth, ...wrapping(body) } : body;
}

/** A wrapped answer, with the usual names. */
function wrapping(body: ServiceResponse['body']): Record<string, unknown> {
  const info = body?.wrap_info as Record<string, unknown> | null | undefined;
  if (!info) return {};
  const { token, accessor, ttl, creation_time, creation_path, wrapped_accessor } = info;
  return {
    wrapping_token: token,
    wrapping_accessor: accessor,
    wrapping_token_ttl: ttl,
    wrapping_token_creation_time: creation_time,
    wrapping_token_creation_path: creation_path,
    ...(wrapped_accessor ? { wrapped_accessor } : {}),
  };
}
