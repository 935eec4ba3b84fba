import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readSshCertificate } from '../ssh-certificate';
import { startSecrets } from '../start-secrets';
import { runOf } from './generated-ssh';
import { type ReferenceServer, Speaker, startReferenceServer } from './reference-server';
import { compare } from './request-comparison';
import type { Difference, Told } from './transit-differences';

// Every path of ssh against a reference server, where KEYSTEAD_REFERENCE_SERVER names its program. What differs on purpose is
// decision 0266.

const program = process.env.KEYSTEAD_REFERENCE_SERVER;
const compared = program ? it : it.skip;
const perRun = 60;
const total = Number(process.env.KEYSTEAD_REFERENCE_REQUESTS ?? (process.env.KEYSTEAD_LONG === '1' ? 15_000 : 600));
const seed = Number(process.env.KEYSTEAD_REFERENCE_SEED ?? 20_261_128);

/** A certificate without what is random or of its time. */
function shown(line: string): unknown {
  const { serial: _random, signer, validAfter, validBefore, keyId, ...rest } = readSshCertificate(line);
  return {
    ...rest,
    keyId: keyId.replace(/[\da-f]{64}/, '«hash»').replace(/\b(root|token)\b/, '«who»'),
    signer: signer.split(' ')[0],
    seconds: validBefore - validAfter,
    end: line.endsWith('\n'),
  };
}

const uuid = /[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}/g;

function plainValue(field: string, value: unknown): unknown {
  if (field === 'signed_key') return shown(String(value));
  if (field === 'serial_number') return /^[\da-f]{1,16}$/.test(String(value));
  if (field === 'private_key') return String(value).split('\n')[0];
  if (field === 'public_key') return String(value).replace(/ .*/s, (key) => ` «${key.length}»`);
  if (typeof value === 'string') return value.replace(uuid, '«id»');
  if (Array.isArray(value)) return field === 'keys' ? value.map((one) => String(one).replace(uuid, '«id»')) : value;
  if (typeof value !== 'object' || value === null) return value;
  if (field === 'key_info') {
    return Object.values(value)
      .map((one) => JSON.stringify(plainValue('', one)))
      .sort();
  }
  return Object.fromEntries(
    Object.entries(value)
      .sort()
      .map(([name, each]) => [name, plainValue(name, each)]),
  );
}

function plain(told: Told): Told {
  const words = (text: string) =>
    text.replace(uuid, '«id»').replace(/\[[^\]]+\]/, (names) => names.slice(1, -1).split(' ').sort().join(' '));
  const data = typeof told.data === 'string' ? plainValue('public_key', told.data) : plainValue('', told.data);
  return { ...told, data, errors: told.errors?.map(words), warnings: told.warnings.map(words).sort() };
}

const text = ({ errors }: Told): string => errors?.[0] ?? '';
const both = (ours: Told, theirs: Told, one: RegExp, other = one): boolean =>
  ours.status === theirs.status && one.test(text(ours)) && other.test(text(theirs));
const rolesIn = ({ data }: Told): readonly string[] => (data as { roles?: string[] | null } | null)?.roles ?? [];
const differences: readonly Difference[] = [
  { why: 'a field that is null is absent', fits: (_o, _t, { body }) => JSON.stringify(body ?? {}).includes(':null') },
  {
    why: 'unknown parameters are named also where nothing else is answered',
    fits: (ours, theirs) => ours.status === 200 && theirs.status === 204 && /unrecognized/.test(ours.warnings.join()),
  },
  {
    why: 'of several fields that cannot be converted another one is named',
    fits: (ours, theirs) => both(ours, theirs, /^error converting input for field/),
  },
  {
    why: 'what is wrong with a public key',
    fits: (ours, theirs) =>
      both(ours, theirs, /^(failed to parse public_key as SSH key|could not parse public_key provided value): /),
  },
  {
    why: 'true in a map is 1, as in all maps',
    fits: (_ours, _theirs, { body }) => JSON.stringify(body ?? {}).includes('{"a":true}'),
  },
  {
    why: 'which size is wrong',
    fits: (ours, theirs) => both(ours, theirs, /^error processing allowed_user_key_lengths: /),
  },
  {
    why: 'a role is listed once',
    fits: (ours, theirs, { path }) => path === 'lookup' && new Set(rolesIn(theirs)).size === rolesIn(ours).length,
  },
  {
    why: 'roles of one-time passwords refer to no issuer',
    fits: (_ours, theirs, { path }) => path.startsWith('issuer/') && / roles reference ''/.test(theirs.warnings.join()),
  },
  {
    why: 'a redirect has no page',
    fits: (ours, theirs) => ours.status === 307 && theirs.status === 307,
  },
  {
    why: 'the address that is wrong is named',
    fits: (ours, theirs) => both(ours, theirs, /^Invalid IP "/, /^Invalid IP "<nil>"$/),
  },
  {
    why: 'which key an algorithm needs',
    fits: (ours, theirs) => both(ours, theirs, /^algorithm_signer rsa/, /unsupported signature algorithm/),
  },
  {
    why: 'a role may allow types of keys that are made by any of their names',
    fits: (ours, theirs, { path, body }) =>
      path.startsWith('issue/') &&
      body?.key_type === 'ec' &&
      /^provided key_type/.test(text(theirs)) &&
      ours.status <= 400,
  },
];

describe('ssh against a reference server', () => {
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
    `answers the same to ${total} requests of seed ${seed}`,
    async () => {
      const runs = { total, runOf: (index: number) => runOf(seed, index, perRun) };
      const servers = [{ speaker, rootToken: secrets.rootToken }, reference];
      const result = await compare(servers, { type: 'ssh', ...runs, kept: ['issuer_id', 'key'], plain, differences });
      if (process.env.KEYSTEAD_LONG === '1') process.stdout.write(`${JSON.stringify([...result.seen].sort())}\n`);
      expect(result.differences).toEqual([]);
      for (const path of ['POST roles 2xx', 'POST sign 2xx', 'POST creds 2xx', 'POST verify 2xx', 'POST sign 4xx']) {
        expect([path, (result.seen.get(path) ?? 0) > total / 100]).toEqual([path, true]);
      }
    },
    3_600_000,
  );
});
