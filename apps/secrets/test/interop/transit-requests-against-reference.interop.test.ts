import { generateKeyPairSync } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startSecrets } from '../start-secrets';
import { wrapped } from '../transit-examples';
import { generateRuns, isWrappedKey, kinds, plaintexts, type TransitRequest } from './generated-transit';
import { type Answer, type ReferenceServer, Speaker, startReferenceServer } from './reference-server';
import { differences as meant, type Told } from './transit-differences';

// Every path of transit against a reference server, if KEYSTEAD_REFERENCE_SERVER names its program: the same requests
// must get the same answers, except for random keys and messages. Decision 0255 lists the intended differences.

const program = process.env.KEYSTEAD_REFERENCE_SERVER;
const compared = program ? it : it.skip;
const long = process.env.KEYSTEAD_LONG === '1';
const perRun = 60;
const total = Number(process.env.KEYSTEAD_REFERENCE_REQUESTS ?? (long ? 30_000 : 600));
const seed = Number(process.env.KEYSTEAD_REFERENCE_SEED ?? 20_261_128);
const lanes = 3;

const pkcs8 = { type: 'pkcs8', format: 'der' } as const;
const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const material: Readonly<Record<string, Buffer>> = {
  aes32: Buffer.alloc(32, 7),
  aes16: Buffer.alloc(16, 7),
  aes20: Buffer.alloc(20, 7),
  ed25519: generateKeyPairSync('ed25519').privateKey.export(pkcs8),
  'ecdsa-p256': pair.privateKey.export(pkcs8),
};
const publicKey = pair.publicKey.export({ type: 'spki', format: 'pem' });

/** A server, with values from its earlier answers. */
class Side {
  private readonly kept = new Map<string, string[]>();
  private wrappingKey = '';

  constructor(
    private readonly name: string,
    private readonly speaker: Speaker,
    private readonly token: string,
    private readonly mount: string,
  ) {}

  async start(): Promise<void> {
    await this.speaker.must({
      method: 'POST',
      path: `sys/mounts/${this.mount}`,
      body: { type: 'transit' },
      token: this.token,
    });
    const { data } = await this.speaker.must({ method: 'GET', path: `${this.mount}/wrapping_key`, token: this.token });
    this.wrappingKey = (data as { public_key: string }).public_key;
  }

  forget(): void {
    this.kept.clear();
  }

  keep(kind: string, path: string, value: string): void {
    for (const place of [kind, `${kind} of ${keyIn(path)}`]) {
      this.kept.set(place, [...(this.kept.get(place) ?? []), value]);
    }
  }

  send({ method, path, body }: TransitRequest): Promise<Answer> {
    const sent = body && (this.filled(body, keyIn(path)) as object);
    const asked = this.speaker
      .send({ method, path: `${this.mount}/${path}`, body: sent, token: this.token })
      .catch((error) => {
        throw new Error(`${this.name} ${method} ${path} ${JSON.stringify(sent)}: ${error}`);
      });
    // After a panic the lock on a key stays, and the server never answers requests for it again.
    let timer: NodeJS.Timeout;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(
        () => reject(new Error(`${this.name} does not answer ${method} ${path} ${JSON.stringify(sent)}`)),
        30_000,
      );
    });
    return Promise.race([asked, late]).finally(() => clearTimeout(timer));
  }

  private filled(value: unknown, key: string): unknown {
    if (isWrappedKey(value)) return wrapped(material[value.wrap]!, this.wrappingKey, value.hash.toLowerCase());
    if (Array.isArray(value)) return value.map((each) => this.filled(each, key));
    if (typeof value === 'object' && value !== null) {
      return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, this.filled(each, key)]));
    }
    if (value === '«public»') return publicKey;
    const [, kind, n, mutation] = /^«(\w+):(\d+):(\w*)»$/.exec(String(value)) ?? [];
    if (!kind) return value;
    const kept = this.kept.get(`${kind} of ${key}`) ?? this.kept.get(kind) ?? [];
    return mutated(kept[Number(n) % (kept.length || 1)] ?? 'vault:v1:AAAA', mutation!);
  }
}

/** The reference failed in the middle of an answer. */
const brokenOff = /^theirs .*: Error: socket hang up$/s;

/** The key in a path. */
const keyIn = (path: string): string => /\br\d+-\w/.exec(path)?.[0] ?? '';

function mutated(text: string, mutation: string): string {
  const [, version, payload = ''] = /^vault:(v\d+):(.*)$/s.exec(text) ?? [];
  switch (mutation) {
    case 'cut':
      return text.slice(0, -8);
    case 'flip':
      return `${text.slice(0, -12)}${text.at(-12) === 'A' ? 'B' : 'A'}${text.slice(-11)}`;
    case 'bare':
      return payload;
    case 'prefix':
      return text.replace('vault:', 'Vault:');
    case 'url':
      return text.replace(/:.([^:]*)$/, ':-$1');
    case 'empty':
      return `vault:${version}:`;
    case 'space':
      return ` ${text}`;
    default:
      return mutation === '' ? text : `vault:${mutation}:${payload}`;
  }
}

/**
 * The reference creates a key for a string that it cannot encrypt, or imports one that we refuse; that key is removed.
 */
async function settle(sides: readonly Side[], name: string): Promise<void> {
  const path = `keys/${name}`;
  const [ours, theirs] = await Promise.all(sides.map((side) => side.send({ method: 'GET', path })));
  if (ours!.status !== 404 || theirs!.status !== 200) return;
  await sides[1]!.send({ method: 'POST', path: `${path}/config`, body: { deletion_allowed: true } });
  await sides[1]!.send({ method: 'DELETE', path });
}

type Json = unknown;

/** An answer without random parts and times; their lengths stay. */
function plain(value: Json, name = ''): Json {
  if (Array.isArray(value)) return value.map((each) => plain(each, name));
  if (typeof value === 'object' && value !== null) {
    const all = Object.entries(value).map(([key, each]) => [key, plain(each, /^\d+$/.test(key) ? 'version' : key)]);
    return Object.fromEntries(all.sort());
  }
  if (typeof value === 'number') return name === 'version' && value > 1e9 ? '«seconds»' : value;
  if (typeof value !== 'string') return value;
  const made = /^(vault:v\d+:)(.*)$/s.exec(value);
  if (name === 'signature' && made) return `${made[1]}«signature»`;
  if (made) return `${made[1]}«${made[2]!.length}»`;
  if (/^-----BEGIN/.test(value)) return `«${/^-----BEGIN [A-Z ]+-----/.exec(value)}»${value.endsWith('\n')}`;
  if (name === 'creation_time' || name === 'time') return /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value) ? '«time»' : value;
  if (['random_bytes', 'version', 'public_key'].includes(name)) return `«${value.length}»`;
  if (name === 'plaintext' && !plaintexts.includes(value)) return `«${value.length}»`;
  if (name === 'backup') return '«backup»';
  return value;
}

/** The text of an answer: errors without the prefix of the reference's internal errors. */
function told({ status, body }: Answer): Told {
  const errors = (body.errors as string[] | undefined)?.map((text) =>
    text
      .replace(/^\d errors? occurred:\n\t\* (.*?)\n\n$/s, '$1')
      // Messages for values that cannot be converted differ between releases.
      .replace(/^(?:Field validation failed: )?(error converting input ).*?(for field "\w+"): .*$/s, '$1$2'),
  );
  const data = (body.data ?? null) as { keys?: unknown } | null;
  // The reference lists a folder of its storage.
  if (data && Array.isArray(data.keys)) data.keys = data.keys.filter((name: string) => name !== 'import/');
  const warnings = ((body.warnings as string[] | null) ?? [])
    .map((text) =>
      text.replace(/^since Vault 0\.3 .*$/, 'key versions start at 1: min_decryption_version was set to 1'),
    )
    .sort();
  return { status: status === 500 ? 400 : status, errors, warnings, data: plain(data) };
}

describe('transit against a reference server', () => {
  const secrets = startSecrets();
  let reference: ReferenceServer;
  let speaker: Speaker;
  beforeAll(async () => {
    if (!program) return;
    reference = await startReferenceServer(program);
    speaker = new Speaker((secrets.server.address() as AddressInfo).port);
  }, 60_000);
  afterAll(async () => {
    speaker?.close();
    await reference?.stop();
  });

  compared(
    `gives the same answers to ${total} requests of seed ${seed}`,
    async () => {
      const runs = generateRuns(seed, Math.ceil(total / perRun), perRun);
      /** One example of each kind. */
      const differences = new Map<string, string>();
      const seen = new Map<string, number>();
      const count = (what: string) => seen.set(what, (seen.get(what) ?? 0) + 1);
      let next = 0;
      const work = async (lane: number) => {
        const sides = [
          new Side('ours', speaker, secrets.rootToken, `t${lane}`),
          new Side('theirs', reference.speaker, reference.rootToken, `t${lane}`),
        ] as const;
        await Promise.all(sides.map((side) => side.start()));
        const both = (request: TransitRequest) => Promise.all(sides.map((side) => side.send(request)));
        while (next < runs.length && differences.size < Number(process.env.KEYSTEAD_REFERENCE_DIFFERENCES ?? 20)) {
          const index = next++;
          // The remaining keys are compared, too.
          const left = ['a', 'b', 'c', 'd'].map((end) => ({ method: 'GET' as const, path: `keys/r${index}-${end}` }));
          for (const request of [...runs[index]!, ...left]) {
            const answers = await both(request).catch((error: Error) => {
              if (!brokenOff.test(error.message)) throw error;
              count('the reference breaks off');
            });
            // Its lock on the key stays, so the rest of the run gets no answers.
            if (!answers) break;
            const [ours, theirs] = answers as [Answer, Answer];
            const says = [ours, theirs].map((each) => told(each)) as [Told, Told];
            const [one, other] = says.map((each) => JSON.stringify(each)) as [string, string];
            const what = `${request.path.split(/[/?]/)[0]} ${Math.floor(theirs.status / 100)}xx`;
            count(what);
            const differ = one !== other;
            const decided = differ ? meant.find(({ fits }) => fits(...says, request)) : undefined;
            if (decided) count(decided.why);
            if (differ && !decided) {
              const kind = [request.path, one, other]
                .join('\n')
                .replace(/\br\d+-/g, '')
                .replace(/\d+/g, '0');
              const told = `${JSON.stringify(request)}\n  ours   ${ours.status} ${one}\n  theirs ${theirs.status} ${other}`;
              differences.set(kind, differences.get(kind) ?? told);
            }
            const [, made] = /^(?:encrypt\/|keys\/(?=[^/]+\/import$))([^/]+)/.exec(request.path) ?? [];
            if (made !== undefined && ours.status === 400) await settle(sides, made);
            for (const kind of kinds) {
              const values = [ours, theirs].map(
                ({ body }) => (body.data as Record<string, unknown> | undefined)?.[kind],
              );
              if (!values.every((value) => typeof value === 'string')) continue;
              for (const [i, side] of sides.entries()) side.keep(kind, request.path, values[i] as string);
            }
          }
          for (const side of sides) side.forget();
          await both({ method: 'POST', path: 'config/keys', body: { disable_upsert: false } });
        }
      };
      await Promise.all(Array.from({ length: lanes }, (_, lane) => work(lane)));
      if (long) process.stdout.write(`${JSON.stringify(Object.fromEntries([...seen].sort()), undefined, 1)}\n`);
      expect([...differences.values()]).toEqual([]);
      // Comparing only refusals, or none, proves little.
      for (const path of [
        'keys',
        'encrypt',
        'decrypt',
        'sign',
        'verify',
        'hmac',
        'export',
        'rewrap',
        'datakey',
        'restore',
      ]) {
        expect([path, (seen.get(`${path} 2xx`) ?? 0) > total / 2000]).toEqual([path, true]);
      }
    },
    3_600_000,
  );
});
