import { Refusal } from '@keystead/refusal';
import { ROOT_NAMESPACE_ID } from '../kernel/storage/types';
import type { Call, Caller, MountView } from '../sdk/call';
import { withoutEndSlashes } from '../sdk/path-text';
import type { Storage } from '../sdk/storage';
import type { Kernel } from './kernel';
import { markSent, type Outcome, type Request, requireWithin, sealedBounds } from './request';

const anonymous: Caller = { entityId: '', displayName: '', policies: [], root: false, sudo: false, address: '' };

const systemView: MountView = {
  uuid: '',
  accessor: '',
  path: 'sys/',
  type: 'system',
  kind: 'system',
  options: null,
  defaultLeaseTtlSeconds: 0,
  maxLeaseTtlSeconds: 0,
  local: false,
};

const refuse = (): never => {
  throw new Refusal('sealed', 'Service is sealed');
};

/** The fields that are the same in every call while sealed, because the caller is unknown and nothing can be read. */
const sealedCall = {
  written: undefined,
  stored: undefined,
  get storage(): Storage {
    return refuse();
  },
  mount: systemView,
  namespace: { uuid: ROOT_NAMESPACE_ID, id: 'root', path: '' },
  mfa: [],
  alongside: () => {},
  wrapTtlSeconds: 0,
  certificates: () => [],
  filled: () => undefined,
  requireRight: refuse,
  warn: () => {},
  findReusable: async () => undefined,
  liveLeases: refuse,
  guess: async () => undefined,
  isLocked: async () => false,
  forgetGuesses: async () => {},
};

/**
 * The few system paths that answer while the service is sealed or not yet initialised, and the health path at all
 * times. Tokens, storage and audit devices are not available, so everything else is refused.
 */
export async function handleWhileSealed(kernel: Kernel, request: Request): Promise<Outcome> {
  const matched = request.path.locateSystem(kernel.whileSealed, request.verb);
  if (!matched) return refuse();
  request.route = `system/${matched.path.pattern}`;
  if (request.namespace !== '' && withoutEndSlashes(request.namespace) !== 'root') {
    throw new Refusal('invalid', 'operation unavailable in namespaces');
  }
  const operation = matched.path.operations[request.verb];
  if (!operation || (request.headOnly && !operation.answersHead)) throw new Refusal('unsupported-operation', '');
  if (request.readBody) request.sent = await request.readBody(sealedBounds);
  else requireWithin(request.sent, sealedBounds);
  const { fields, exact } = request.sent;
  const call: Call = Object.assign(Object.create(sealedCall) as typeof sealedCall, {
    verb: request.verb,
    path: matched.text,
    params: matched.params,
    input: kernel.inputs.parse(operation, fields, exact, undefined),
    fields: markSent(request.sent),
    fieldsText: () => JSON.stringify(fields),
    caller: { ...anonymous, address: request.address },
    requestId: request.id,
    headOnly: request.headOnly,
    nowMs: kernel.clock.now(),
  });
  const reply = await operation.run(call);
  if (reply.kind === 'empty') return { status: 204 };
  if (reply.kind !== 'raw') throw new Error('paths that answer while sealed have no envelope');
  const { status, body, contentType, headers } = reply;
  return { status, bare: body, contentType, headers };
}
