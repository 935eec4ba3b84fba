import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Refusal } from '@keystead/refusal';
import { propertySettings, slice } from '@keystead/testing';
import fc from 'fast-check';
import type { LiveMount } from '../src/kernel/mounts/mount';
import { RuleAccess } from '../src/kernel/policy/access-list';
import { type RouteMatch, SentPath } from '../src/kernel/routing/sent-path';
import type { RequestCall } from '../src/pipeline/request-call';
import { type Call, isListing, type Verb } from '../src/sdk/call';
import type { AnyOperation, Path } from '../src/sdk/path';
import { empty } from '../src/sdk/reply';
import { authMethods, secretsEngines } from './auth-methods';
import { RawClient } from './raw-client';
import { spellings, verbForms } from './spellings';
import { startSecrets } from './start-secrets';
import { declarationOf } from './visits';

interface Visit {
  readonly mount: LiveMount;
  readonly declared: Path;
  readonly verb: Verb;
  readonly operation: AnyOperation;
  /** In its canonical spelling. */
  readonly plain: string;
}

/** The path that each step of the pipeline reported. */
interface Seen {
  handled?: Call;
  handledAt?: string;
  audited?: string;
  judged?: string;
  counted?: string;
}

// Letters that letters of other alphabets fold to, and no character that a parameter's rule would refuse.
const word = 'ki-is1';
const uuid = 'ab3f4044-0000-4000-8000-00000000000e';

function plainPath(mount: LiveMount, declared: Path): string {
  const below = declared.pattern.replace(/:(\w+)\*?/g, (_all, name: string) => {
    const rule = declared.params[name];
    if (rule === 'uuid') return uuid;
    if (!(rule instanceof RegExp)) return word;
    const words = rule.source.match(/[\w-]+/g) ?? [];
    return [word, '1', uuid, ...words].find((text) => rule.test(text))!;
  });
  return mount.path + below;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** A policy that allows everything, and the rules on the plain paths that a spelling might bypass. */
const rules = {
  deny: 'capabilities = ["deny"]',
  'step-up': 'capabilities = [ALL] mfa_methods = ["never"]',
  wrapping: 'capabilities = [ALL] min_wrapping_ttl = "1m"',
  parameters: 'capabilities = [ALL] denied_parameters = { "probe" = [] }',
  required: 'capabilities = [ALL] required_parameters = ["wanted"]',
} as const;
const all = '"create", "read", "update", "delete", "list", "scan", "patch", "sudo"';

// Handlers are replaced by ones that only report their input; everything before them is real.
describe('every declared path, in any spelling', () => {
  const secrets = startSecrets();
  const seen: Seen = {};
  const tokens: Record<string, string> = {};
  let free: string;
  let visits: Visit[] = [];
  let client: RawClient;

  beforeAll(async () => {
    await secrets.root.write('sys/mounts/one', { type: 'kv' }).expect(204);
    await secrets.root.write('sys/mounts/two', { type: 'kv', options: { version: '2' } }).expect(204);
    for (const type of secretsEngines) await secrets.root.write(`sys/mounts/${type}`, { type }).expect(204);
    for (const type of authMethods) await secrets.root.write(`sys/auth/${type}`, { type }).expect(204);
    await secrets.root.write('sys/namespaces/inner', {}).expect(200);
    const { kernel } = secrets.service;
    visits = kernel.mounts.list(kernel.namespaces.root.uuid).flatMap((mount) =>
      mount.backend.paths.flatMap((declared) =>
        (Object.entries(declared.operations) as [Verb, AnyOperation][]).map(([verb, operation]) => {
          const plain = plainPath(mount, declared);
          return { mount, declared, verb, operation, plain: isListing(verb) ? `${plain}/`.replace('//', '/') : plain };
        }),
      ),
    );
    // Requests to this path leave no audit lines.
    visits = visits.filter(({ plain }) => plain !== 'sys/health');
    for (const [kind, rule] of Object.entries(rules)) {
      const plains = [...new Set(visits.map(({ plain }) => plain))];
      const text = [...plains, ...plains.map((plain) => `inner/${plain}`)].map((path) => `path "${path}" { ${rule} }`);
      const policy = [`path "*" { capabilities = [ALL] }`, ...text].join('\n').replaceAll('ALL', all);
      tokens[kind] = await tokenWith(kind, policy);
    }
    free = await tokenWith('free', `path "*" { capabilities = [${all}] }`);
    watchEveryStep();
    client = new RawClient((secrets.server.address() as AddressInfo).port);
  });
  afterAll(() => {
    client.close();
    jest.restoreAllMocks();
  });

  async function tokenWith(name: string, policy: string): Promise<string> {
    const written = await secrets.root.write(`sys/policies/acl/${name}`, { policy });
    expect(written.status).toBeLessThan(300);
    const made = await secrets.root.write('auth/token/create', { policies: [name], no_default_policy: true });
    return made.body.auth.client_token;
  }

  function watchEveryStep(): void {
    const { kernel } = secrets.service;
    for (const operation of new Set(visits.map((visit) => visit.operation))) {
      jest.spyOn(operation, 'run').mockImplementation((call) => {
        seen.handled = call;
        seen.handledAt = call.namespace.path + call.mount.path + call.path;
        return empty;
      });
    }
    for (const declared of new Set(visits.map((visit) => visit.declared))) {
      if (declared.stored) jest.spyOn(declared as unknown as { stored: () => unknown }, 'stored').mockReturnValue({});
    }
    // Only the path matters here, not the fields.
    jest.spyOn(kernel.inputs, 'parse').mockReturnValue({});
    jest.spyOn(kernel.mfa.stepUp, 'prove').mockRejectedValue(new Refusal('denied', 'permission denied'));
    const { decide } = RuleAccess.prototype;
    jest.spyOn(RuleAccess.prototype, 'decide').mockImplementation(function (this: RuleAccess, question) {
      seen.judged = question.path;
      return decide.call(this, question);
    });
    jest.spyOn(kernel.quotas, 'hasRates', 'get').mockReturnValue(true);
    jest.spyOn(kernel.quotas, 'check').mockImplementation(({ path }) => {
      seen.counted = path;
    });
    jest.spyOn(kernel.audit, 'active', 'get').mockReturnValue(true);
    jest.spyOn(kernel.audit, 'request').mockImplementation(async ({ namespace, path }) => {
      seen.audited = namespace.path + path;
    });
    jest.spyOn(kernel.audit, 'response').mockImplementation(async () => {});
  }

  async function ask(token: string, method: string, target: string, body?: string, header?: string): Promise<number> {
    for (const key of Object.keys(seen) as (keyof Seen)[]) delete seen[key];
    const headers: Record<string, string> = { 'X-Service-Token': token };
    if (header !== undefined) headers['X-Service-Namespace'] = header;
    if (body !== undefined) headers['Content-Type'] = method === 'PATCH' ? 'application/merge-patch+json' : body;
    const { status } = await client.send(method, `/v1/${target}`, headers, body && '{"probe":1}');
    return status;
  }
  /** Parameter rules apply where something is read or written. */
  const kindsFor = (verb: Verb) => Object.keys(rules).slice(0, isListing(verb) || verb === 'delete' ? -2 : undefined);
  const hasBody = (verb: Verb) => verb === 'write' || verb === 'patch';
  /** The media type of the body that an operation takes, if it takes one. */
  const mediaOf = ({ verb, operation }: Visit): string | undefined =>
    hasBody(verb) ? (operation.wholeBody?.media ?? 'application/json') : undefined;
  const probed = (verb: Verb, query: string) =>
    hasBody(verb) ? query : query === '' ? '?probe=1' : `${query}&probe=1`;
  const judges = ({ operation, declared }: Visit) => (operation.auth ?? declared.auth) === 'token';

  /** Problems of a request that reached its handler: every step must have seen the same path. */
  function quarrel(judged: boolean): string | undefined {
    const { handled, handledAt, audited, counted } = seen;
    if (!handled) return undefined;
    const inside = handledAt!.slice(handled.namespace.path.length);
    if (judged && seen.judged !== handledAt) return `judged as ${seen.judged}, handled as ${handledAt}`;
    if (audited !== handledAt) return `audited as ${audited}, handled as ${handledAt}`;
    if (counted !== inside) return `counted as ${counted}, handled as ${inside}`;
    const params = handled.params as Readonly<Record<string, string>>;
    const filled = (handled as RequestCall).match.declared!.pattern.replace(
      /:(\w+)\*?/g,
      (_all, name: string) => params[name] ?? '?',
    );
    const text = isListing(handled.verb) && filled !== '' && !filled.endsWith('/') ? `${filled}/` : filled;
    // With an empty rest the slash before it stays.
    if (text !== handled.path && text !== `${handled.path}/`) return `handled as ${handled.path}, but told ${text}`;
    return undefined;
  }

  it('is reached by its canonical spelling, and denied by each rule there', async () => {
    expect(visits.length).toBeGreaterThan(250);
    const failures: string[] = [];
    for (const visit of visits) {
      for (const { method, query } of verbForms[visit.verb]!) {
        const form = `${method} ${visit.plain}${probed(visit.verb, query)}`;
        const status = await ask(free, method, visit.plain + probed(visit.verb, query), mediaOf(visit));
        // Trailing slashes are allowed for a plain list only.
        if (!seen.handled) failures.push(`${form}: ${status}, not reached`);
        const wrong = quarrel(judges(visit));
        if (wrong) failures.push(`${form}: ${wrong}`);
        if (!judges(visit)) continue;
        for (const kind of kindsFor(visit.verb)) {
          const token = tokens[kind]!;
          const refused = await ask(token, method, visit.plain + probed(visit.verb, query), mediaOf(visit));
          if (refused !== 403 || seen.handled) failures.push(`${form} with ${kind}: ${refused}`);
        }
      }
    }
    expect(failures).toEqual([]);
  });

  it('gives every other spelling the same decision, another name, or nothing', async () => {
    const failures: string[] = [];
    const thorough = process.env.KEYSTEAD_LONG === '1';
    let asked = 0;
    const walked = slice(visits, declarationOf);
    for (const [v, visit] of walked.entries()) {
      const bare = visit.plain.endsWith('/') ? visit.plain.slice(0, -1) : visit.plain;
      for (const [s, spelling] of spellings.entries()) {
        const written = spelling.write(bare);
        if (written === bare || (spelling.oneOfMany && !thorough && (v + s) % 3 > 0)) continue;
        const forms = verbForms[visit.verb]!;
        const { method, query } = forms[(v + s) % forms.length]!;
        const kinds = kindsFor(visit.verb);
        // All rules are compared with the same text, so trying them in turn misses none.
        const tried = thorough ? kinds : [kinds[(v + s) % kinds.length]!];
        for (const kind of judges(visit) ? tried : ['deny']) {
          const target = written + probed(visit.verb, query);
          const status = await ask(tokens[kind]!, method, target, mediaOf(visit));
          asked++;
          if (!seen.handled) {
            if (status < 300 || status >= 500) failures.push(`${method} ${target} with ${kind}: ${status}`);
            continue;
          }
          const { match } = seen.handled as RequestCall;
          const wrong = quarrel(match.auth === 'token');
          if (wrong) failures.push(`${method} ${target} (${spelling.name}): ${wrong}`);
          if (judges(visit) && seen.handledAt === visit.plain) {
            failures.push(`${method} ${target} (${spelling.name}) gets past ${kind}`);
          }
        }
      }
    }
    expect(failures).toEqual([]);
    expect(asked).toBeGreaterThan(walked.length * 65);
  });

  it('does not change when its canonical form is parsed again, with any names', () => {
    const { namespaces, mounts } = secrets.service.kernel;
    const read = (text: string, verb: Verb) => {
      const sent = SentPath.read(text);
      return sent instanceof SentPath ? sent.locate(namespaces, mounts, verb, '') : undefined;
    };
    let settled = 0;
    const check = (text: string, verb: Verb) => {
      let match: RouteMatch | undefined;
      try {
        match = read(text, verb);
      } catch {
        return;
      }
      if (!match) return;
      const again = read(match.full, verb);
      const told = ({ full, below, declared, params }: RouteMatch) =>
        JSON.stringify([full, below, declared?.pattern, params]);
      // Compared as text: there are too many of them for matchers.
      if (again && told(again) === told(match)) settled++;
      else throw new Error(`${JSON.stringify(text)} is ${told(match)}, and that is ${again && told(again)}`);
    };
    for (const { plain, verb } of visits) {
      for (const spelling of spellings) check(decoded(spelling.write(plain)), verb);
    }
    const odd = fc.constantFrom(
      ...'aZ0_-.@+%;*~ /kKsSiI\u0130\u212a\u017f\u03a3\u00df\u00e9\u0301\u{1d400}\u0000\u200b'.split(''),
    );
    const name = fc.array(odd, { minLength: 1, maxLength: 6 }).map((characters) => characters.join(''));
    fc.assert(
      fc.property(fc.constantFrom(...visits), name, fc.boolean(), ({ plain, verb }, written, end) => {
        check(plain.replaceAll(word, written).replaceAll(uuid, written) + (end ? '/' : ''), verb);
      }),
      { ...propertySettings, numRuns: 4000 },
    );
    expect(settled).toBeGreaterThan(visits.length * 10);
  });

  it('is the same path in a namespace, regardless of how the request names it', async () => {
    const failures: string[] = [];
    const forms = [
      { header: 'inner', prefix: '' },
      { header: 'inner/', prefix: '' },
      { header: '/inner', prefix: '' },
      { header: '//inner//', prefix: '' },
      { header: undefined, prefix: 'inner/' },
      { header: '', prefix: 'inner/' },
      { header: 'root', prefix: 'inner/' },
      { header: '/', prefix: 'inner/' },
      { header: undefined, prefix: 'inner%2f' },
      { header: undefined, prefix: '%69nner/' },
      { header: undefined, prefix: 'INNER/' },
      { header: 'INNER', prefix: '' },
      { header: 'inner', prefix: 'inner/' },
      { header: 'inner/.', prefix: '' },
      { header: 'x/../inner', prefix: '' },
      { header: '%69nner', prefix: '' },
      { header: undefined, prefix: 'inner;/' },
      { header: undefined, prefix: 'inner/./' },
    ];
    let reached = 0;
    let asked = 0;
    const inNamespaces = visits.filter(
      (visit) => judges(visit) && /^(sys|identity|cubbyhole|auth\/token)\//.test(visit.mount.path),
    );
    for (const [v, visit] of slice(inNamespaces, declarationOf).entries()) {
      asked++;
      for (const [f, { header, prefix }] of forms.entries()) {
        const kinds = kindsFor(visit.verb);
        const kind = kinds[(v + f) % kinds.length]!;
        const { method, query } = verbForms[visit.verb]![0]!;
        const target = prefix + visit.plain + probed(visit.verb, query);
        const status = await ask(tokens[kind]!, method, target, mediaOf(visit), header);
        if (seen.handled) failures.push(`${method} ${target} in ${header} gets past ${kind}`);
        else if (status < 300 || status >= 500) failures.push(`${method} ${target} in ${header}: ${status}`);
        if (seen.judged === `inner/${visit.plain}`) reached++;
      }
    }
    expect(failures).toEqual([]);
    // Eight of the forms name the namespace; paths that exist only in the root namespace are refused earlier.
    expect(reached).toBeGreaterThan(asked * 3);
  });
});
