import { statusOf } from '@keystead/jsonapi';
import { Refusal } from '@keystead/refusal';
import type { Dialect } from '../../../kernel/endpoints/dialect';

/** The reasons of refusals, with the keywords that clients expect (RFC 7644, 3.12). */
export type ScimType =
  | 'invalidFilter'
  | 'uniqueness'
  | 'mutability'
  | 'invalidSyntax'
  | 'invalidPath'
  | 'noTarget'
  | 'invalidValue';

/** A refusal with the keyword of its reason. */
export class ScimRefusal extends Refusal {
  constructor(
    readonly scimType: ScimType,
    message: string,
  ) {
    super(scimType === 'uniqueness' ? 'conflict' : 'malformed', message);
  }
}

const errorUrn = 'urn:ietf:params:scim:api:messages:2.0:Error';

/** The reason for a refusal. If two requests use the same name at the same time, the database refuses the second. */
function errorOf(refusal: Refusal | undefined): { status: number; scimType?: ScimType; detail: string } {
  if (refusal === undefined) return { status: 500, detail: 'internal server error' };
  if (refusal instanceof ScimRefusal) {
    return { status: statusOf(refusal.kind), scimType: refusal.scimType, detail: refusal.message };
  }
  const issue = refusal.issues[0]?.message;
  if (refusal.kind === 'invalid') {
    const isTaken = issue === 'has already been taken';
    return isTaken
      ? { status: 409, scimType: 'uniqueness', detail: 'Another resource has this value already.' }
      : { status: 400, scimType: 'invalidValue', detail: issue ?? refusal.message };
  }
  const scimType = refusal.kind === 'malformed' && refusal.issues.length === 0 ? 'invalidSyntax' : undefined;
  const usual = { unauthenticated: 'Send a valid SCIM token.', missing: 'There is no such resource.' };
  const detail = refusal.message || (usual[refusal.kind as keyof typeof usual] ?? 'The request is refused.');
  return { status: statusOf(refusal.kind), scimType, detail };
}

/** The SCIM 2.0 dialect. */
export const scim: Dialect = {
  prefix: '/scim/v2/',
  mediaTypes: ['application/scim+json', 'application/json'],
  refusal(refusal) {
    const { status, scimType, detail } = errorOf(refusal);
    const body = { schemas: [errorUrn], status: String(status), ...(scimType ? { scimType } : {}), detail };
    return { status, text: JSON.stringify(body) };
  },
  refusalSchema: {
    type: 'object',
    required: ['schemas', 'status', 'detail'],
    properties: {
      schemas: { type: 'array', items: { type: 'string', enum: [errorUrn] } },
      status: { type: 'string' },
      scimType: { type: 'string' },
      detail: { type: 'string' },
    },
  },
};
