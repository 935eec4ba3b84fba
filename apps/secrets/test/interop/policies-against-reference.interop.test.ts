import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startSecrets } from '../start-secrets';
import { existingKeys, type GeneratedCase, type GeneratedRequest, generateCases } from './generated-policies';
import { type Answer, type ReferenceServer, type Sent, Speaker, startReferenceServer } from './reference-server';

// The policy language against a reference server, if KEYSTEAD_REFERENCE_SERVER names its program: for the same
// policies, tokens and requests both give the same answer. Decision 0035 lists the intended differences.

const program = process.env.KEYSTEAD_REFERENCE_SERVER;
const compared = program ? it : it.skip;
const why = program ? '' : ' (skipped: KEYSTEAD_REFERENCE_SERVER names no program)';

const long = process.env.KEYSTEAD_LONG === '1';
const requestsPerCase = 20;
const triples = Number(process.env.KEYSTEAD_REFERENCE_TRIPLES ?? (long ? 100_000 : 4_000));
const seed = Number(process.env.KEYSTEAD_REFERENCE_SEED ?? 20_260_801);
/** The number of simultaneous cases, each on a separate mount. */
const lanes = 6;

/** One of the two servers, and the state that cases need. */
class Side {
  accessor = '';

  constructor(
    readonly name: string,
    readonly speaker: Speaker,
    private readonly root: string,
  ) {}

  must(method: string, path: string, body?: object) {
    return this.speaker.must({ method, path, body, token: this.root });
  }

  /** A mount for each lane, and one person with an entity, an alias and a group. */
  async furnish(): Promise<void> {
    for (let lane = 0; lane < lanes; lane += 1) await this.must('POST', `sys/mounts/m${lane}`, { type: 'kv' });
    const { data } = (await this.must('GET', 'sys/auth')) as { data: Record<string, { accessor: string }> };
    this.accessor = data['token/']!.accessor;
    const entity = await this.must('POST', 'identity/entity', { name: 'eve', metadata: { team: 'red' } });
    const canonical_id = (entity.data as { id: string }).id;
    await this.must('POST', 'identity/entity-alias', { name: 'a', canonical_id, mount_accessor: this.accessor });
    await this.must('POST', 'identity/group', { name: 'crew', member_entity_ids: [canonical_id] });
    await this.must('POST', 'identity/group', { name: 'strangers' });
    const aliases = { allowed_entity_aliases: ['a'], allowed_policies_glob: ['*'] };
    await this.must('POST', 'auth/token/roles/eve', aliases);
  }

  /** Writes a policy; false if it is refused. */
  async takes(name: string, text: string, lane: number): Promise<boolean> {
    const policy = text.replaceAll('MOUNT', `m${lane}`).replaceAll('ACCESSOR', this.accessor);
    const answer = await this.speaker.send({
      method: 'PUT',
      path: `sys/policies/acl/${name}`,
      body: { policy },
      token: this.root,
    });
    if (answer.status < 300) return true;
    if (answer.status !== 400) throw new Error(`${this.name}: ${answer.status} for a policy`);
    return false;
  }

  async tokenWith(policies: readonly string[], person: boolean): Promise<string> {
    const body = { policies, no_default_policy: true, ttl: '10m', ...(person && { entity_alias: 'a' }) };
    const made = await this.must('POST', person ? 'auth/token/create/eve' : 'auth/token/create', body);
    return (made.auth as { client_token: string }).client_token;
  }

  /** Restores a key of a mount before every request. */
  async restore(lane: number, key: string): Promise<void> {
    if (existingKeys.includes(key)) await this.must('POST', `m${lane}/${key}`, { seed: 'x' });
    else await this.must('DELETE', `m${lane}/${key}`);
  }
}

function sent(request: GeneratedRequest, lane: number): Sent {
  const { operation, parameters, wrap } = request;
  const headers = wrap === undefined ? undefined : { 'X-Vault-Wrap-TTL': wrap };
  const path = `m${lane}/${request.path}`;
  if (operation === 'write') return { method: 'POST', path, body: parameters, headers };
  if (operation === 'patch') return { method: 'PATCH', path, body: parameters, headers };
  const query = queryOf(parameters);
  const method = { read: 'GET', delete: 'DELETE', list: 'GET' }[operation];
  const target = operation === 'list' ? `${path}?list=true${query && `&${query}`}` : `${path}${query && `?${query}`}`;
  return { method, path: target, headers };
}

function queryOf(parameters: GeneratedRequest['parameters']): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (typeof value !== 'object') query.set(name, String(value));
  return query.toString();
}

/** The part of an answer that a policy decides: refused or not. */
function verdict({ status, body }: Answer): string {
  return status === 403 ? 'refused' : status >= 500 ? `fault ${status} ${JSON.stringify(body)}` : 'granted';
}

describe(`policies against a reference server${why}`, () => {
  const secrets = startSecrets();
  let reference: ReferenceServer;
  let sides: [Side, Side];

  beforeAll(async () => {
    if (!program) return;
    reference = await startReferenceServer(program);
    const { port } = secrets.server.address() as AddressInfo;
    sides = [
      new Side('keystead', new Speaker(port), secrets.rootToken),
      new Side('reference', reference.speaker, reference.rootToken),
    ];
    for (const side of sides) await side.furnish();
    for (const side of sides) {
      for (let lane = 0; lane < lanes; lane += 1) for (const key of existingKeys) await side.restore(lane, key);
    }
  }, 120_000);
  afterAll(async () => {
    sides?.[0].speaker.close();
    await reference?.stop();
  });

  const both = <T>(work: (side: Side) => Promise<T>) => Promise.all([work(sides[0]), work(sides[1])]);

  /** Runs one case on both servers; returns the differences. */
  async function compare({ policies, person, requests }: GeneratedCase, lane: number, seen: Map<string, number>) {
    const differences: string[] = [];
    const names: string[] = [];
    for (const [index, text] of policies.entries()) {
      const name = `lane-${lane}-${index}`;
      const [ours, theirs] = await both((side) => side.takes(name, text, lane));
      if (ours !== theirs) differences.push(`policy taken by us: ${ours}, by them: ${theirs}\n${text}`);
      else if (ours) names.push(name);
    }
    count(seen, names.length === 0 ? 'policy refused by both' : 'policy taken by both');
    if (differences.length > 0 || names.length === 0) return differences;
    const tokens = await both((side) => side.tokenWith(names, person));
    for (const request of requests) {
      const message = sent(request, lane);
      const [ours, theirs] = await Promise.all(
        sides.map((side, i) => side.speaker.send({ ...message, token: tokens[i]! })),
      );
      const [one, other] = [verdict(ours!), verdict(theirs!)];
      count(seen, `${request.operation} ${other}`);
      if (one !== other) {
        const answers = `ours ${ours!.status} ${JSON.stringify(ours!.body)}, theirs ${theirs!.status} ${JSON.stringify(theirs!.body)}`;
        differences.push(`${JSON.stringify(message)}: ${answers}\n${policies.join('\n---\n')}`);
      }
      if (request.operation === 'write' || request.operation === 'delete')
        await both((side) => side.restore(lane, request.path));
    }
    for (const [i, side] of sides.entries()) await side.must('POST', 'auth/token/revoke', { token: tokens[i] });
    return differences;
  }

  compared(
    `decide the same for ${triples} requests`,
    async () => {
      const cases = generateCases(seed, Math.ceil(triples / requestsPerCase), requestsPerCase);
      const differences: string[] = [];
      const seen = new Map<string, number>();
      let next = 0;
      const work = async (lane: number) => {
        while (next < cases.length && differences.length < 10) {
          const one = cases[next]!;
          next += 1;
          differences.push(...(await compare(one, lane, seen)));
        }
      };
      await Promise.all(Array.from({ length: lanes }, (_, lane) => work(lane)));
      if (long) process.stdout.write(`${JSON.stringify(Object.fromEntries([...seen].sort()), undefined, 1)}\n`);
      expect(differences).toEqual([]);
      // If all requests were granted, or all refused, nothing would be compared.
      for (const operation of ['read', 'write', 'delete', 'list', 'patch']) {
        expect(seen.get(`${operation} granted`) ?? 0).toBeGreaterThan(triples / 400);
        expect(seen.get(`${operation} refused`) ?? 0).toBeGreaterThan(triples / 400);
      }
    },
    3_600_000,
  );
});

function count(seen: Map<string, number>, what: string): void {
  seen.set(what, (seen.get(what) ?? 0) + 1);
}
