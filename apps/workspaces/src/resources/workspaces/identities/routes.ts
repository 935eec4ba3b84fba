import { choice, text } from '@keystead/jsonapi';
import type { Keyring } from '@keystead/keyring';
import { z } from 'zod';
import type { Database } from '../../../kernel/database/database';
import { type Call, endpoints, type Resource, serializerOf } from '../../../kernel/endpoints/endpoint';
import { claimsOf, workspaceIdentity } from '../../installation/identity-tokens/identity-token';
import { candidates, openValue } from '../variable-sets/effective-variables';
import { workspacePolicy } from '../workspaces/policy';
import type { Workspace } from '../workspaces/workspace';
import * as workspaces from '../workspaces/workspace';
import { declaredIdentities, identityKinds } from './declared-identities';

const phases = ['plan', 'apply'] as const;

/** An identity of a workspace's plans or applies, to configure systems that will trust it. */
interface Identity {
  readonly id: string;
  readonly organizationId: string;
  readonly phase: (typeof phases)[number];
  readonly kind: (typeof identityKinds)[number] | 'secrets';
  readonly tag: string;
  /** Null if it is in a sensitive variable. */
  readonly audience: string | null;
  readonly issuer: string;
  readonly claims: Readonly<Record<string, string>>;
  readonly settings: readonly { readonly name: string; readonly value: string | null }[];
}

const identitySerializer = serializerOf<Identity>()({
  type: 'workload-identities',
  shape: {
    phase: choice(phases),
    kind: choice([...identityKinds, 'secrets']),
    tag: text,
    audience: text.nullable(),
    issuer: text,
    subject: text,
    claims: z.record(text, text),
    settings: z.array(z.object({ name: text, value: text.nullable() })),
  },
  id: ({ id }) => id,
  attributes: ({ phase, kind, tag, audience, issuer, claims, settings }) => ({
    phase,
    kind,
    tag,
    audience,
    issuer,
    subject: claims.sub ?? '',
    claims,
    settings,
  }),
});

interface Previewed {
  readonly db: Database;
  readonly env: {
    readonly keyring: Keyring;
    readonly publicUrl: string;
    readonly secretsService?: { audience: string };
  };
  readonly target: Workspace;
}

/** The identities that plans and applies of the workspace would get now, and the errors in their variables. */
async function preview({ db, env, target: { id, organizationId } }: Previewed) {
  const of = await workspaceIdentity(db, id);
  if (!of) return { items: [] };
  const environment = new Map<string, string>();
  const hidden: string[] = [];
  for (const one of (await candidates(db, id)).filter(({ category }) => category === 'env')) {
    const value = openValue(env.keyring, one);
    environment.set(one.key, value);
    if (one.sensitive && value !== '' && value !== 'true') hidden.push(value);
  }
  const shown = (value: string) => (hidden.some((secret) => value.includes(secret)) ? null : value);
  const subject = environment.get('WORKLOAD_IDENTITY_SUBJECT') === 'ids' ? 'ids' : 'names';
  const found = phases.map((phase) => {
    const { identities, problems } = declaredIdentities(environment, phase);
    const items = identities.map(({ kind, tag, audience, settings }): Identity => {
      const claims = claimsOf(of, { kind: phase, runId: 'run-…' }, subject);
      const visible = Object.entries(settings).filter(([name]) => name !== 'ENCODED_CACERT');
      return {
        id: [id, phase, kind, tag].filter(Boolean).join('-'),
        organizationId,
        phase,
        kind,
        tag,
        audience: shown(audience),
        issuer: env.publicUrl,
        claims,
        settings: visible.map(([name, value]) => ({ name, value: shown(value) })),
      };
    });
    if (of.role && env.secretsService) {
      items.push({
        ...{ id: `${id}-${phase}-secrets`, organizationId, phase, kind: 'secrets', tag: '', issuer: env.publicUrl },
        audience: env.secretsService.audience,
        claims: claimsOf(of, { kind: phase, runId: 'run-…' }, 'ids'),
        settings: [
          { name: 'ROLE', value: of.role },
          { name: 'NAMESPACE', value: of.namespace },
        ],
      });
    }
    return { items, problems };
  });
  const problems = [...new Set(found.flatMap((one) => one.problems))];
  return { items: found.flatMap(({ items }) => items), meta: { problems } };
}

const list = endpoints(workspacePolicy, identitySerializer, { visible: workspacePolicy['can-read-settings'] }).list(
  '/workspaces/:workspace_id/workload-identities',
  {
    summary: 'Show the workload identities of the runs of a workspace, as trust policies of other systems see them.',
    paging: 'none',
    requires: 'can-read-variable',
    load: ({ db, params }) => workspaces.find(db, params.workspace_id),
    run: (call: Call<string, undefined, Workspace>) => preview(call),
  },
);

/** Identities of runs at clouds and other services. */
export const identityResource: Resource = { name: 'workload-identities', endpoints: [list] };
