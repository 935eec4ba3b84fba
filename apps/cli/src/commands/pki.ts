import { writeFileSync } from 'node:fs';
import type { ServiceResponse } from '../client';
import type { CommandSpec } from '../command';
import type { Context } from '../context';
import { print } from './print';
import { parseValues, readInput, valuesHelp } from './values';

interface PkiFlags {
  readonly mount: string;
  readonly out?: string;
}

const flags = {
  '--mount <path>': { help: 'mount path of the pki engine', also: ['--mount-point'], default: 'pki' },
} as const;
const toFiles = {
  ...flags,
  '--out <name>': 'write name.pem (the certificate and its chain) and name.key, which only you can read',
} as const;
const below = ({ mount }: PkiFlags, path: string): string => `${mount.replace(/^\/+|\/+$/g, '')}/${path}`;

/** Writes a certificate with its chain, and its key if there is one, to files; otherwise prints the response. */
function keep(context: Context, { out }: PkiFlags, answer: ServiceResponse): void {
  const {
    certificate,
    ca_chain: chain = [],
    private_key: key,
    serial_number,
  } = (answer.body?.data ?? {}) as {
    readonly certificate?: string;
    readonly ca_chain?: readonly string[];
    readonly private_key?: string;
    readonly serial_number?: string;
  };
  if (out === undefined || certificate === undefined) {
    print(context, answer);
    return;
  }
  context.output.warnings(answer.body?.warnings);
  const lines = (pem: string) => `${pem.trim()}\n`;
  if (key !== undefined) writeFileSync(`${out}.key`, lines(key), { mode: 0o600 });
  writeFileSync(`${out}.pem`, [certificate, ...chain].map(lines).join(''));
  context.output.note(`${out}.pem has the certificate ${serial_number}`);
}

/** `pki …`: certificates of an authority in the service. */
export const pkiCommands: readonly CommandSpec[] = [
  {
    name: 'pki issue',
    help: 'Create a key and a certificate with a role.',
    args: {
      '<role>': 'the role that issues',
      '[fields...]': 'name=value: common_name, alt_names, ip_sans, ttl and so on',
    },
    flags: toFiles,
    examples: [
      'pki issue web common_name=a.example.com ttl=72h',
      'pki issue -out=a web common_name=a.example.com alt_names=b.example.com',
    ],
    more: valuesHelp,
    async run(context, flags: PkiFlags, role: string, ...fields: string[]) {
      keep(
        context,
        flags,
        await context.client.post(below(flags, `issue/${role}`), await parseValues(fields.flat(), context.ask)),
      );
    },
  },
  {
    name: 'pki sign',
    help: 'Sign a certificate request (CSR) with a role.',
    args: {
      '<role>': 'the role that signs',
      '<file>': 'the request in PEM; - is standard input',
      '[fields...]': 'name=value',
    },
    flags: toFiles,
    examples: ['pki sign web a.csr', 'pki sign -out=a web a.csr ttl=72h'],
    async run(context, flags: PkiFlags, role: string, file: string, ...fields: string[]) {
      const body = { ...(await parseValues(fields.flat(), context.ask)), csr: await readInput(file, context.ask) };
      keep(context, flags, await context.client.post(below(flags, `sign/${role}`), body));
    },
  },
  {
    name: 'pki revoke',
    help: 'Revoke a certificate.',
    args: { '<certificate>': 'its serial number, or a file with it in PEM' },
    flags,
    examples: ['pki revoke 39:dd:2e:90:b7:23:1f:8d', 'pki revoke a.pem'],
    async run(context, flags: PkiFlags, certificate: string) {
      const isSerial = /^[\da-f]{2}([:-]?[\da-f]{2})*$/i.test(certificate);
      const body = isSerial
        ? { serial_number: certificate }
        : { certificate: await readInput(certificate, context.ask) };
      print(context, await context.client.post(below(flags, 'revoke'), body));
    },
  },
  {
    name: 'pki list',
    help: 'List the stored certificates with their names and expiry.',
    flags,
    examples: ['pki list', 'pki list -mount=team/pki -format=json'],
    async run(context, flags: PkiFlags) {
      const { body } = await context.client.list(below(flags, 'certs/detailed'), { accept: [404] });
      const found = ((body?.data as { key_info?: object } | undefined)?.key_info ?? {}) as Record<string, Certificate>;
      const rows = Object.entries(found).map(([serial, { common_name, not_after }]) => [
        serial,
        common_name,
        not_after,
      ]);
      context.output.rows(found, ['serial', 'name', 'ends'], rows);
    },
  },
];

interface Certificate {
  readonly common_name: string;
  readonly not_after: string;
}
