import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CommandSpec } from '../command';
import { exitCodes, Problem } from '../problem';

interface SshFlags {
  readonly role: string;
  readonly mount: string;
  readonly principals?: string;
  readonly ttl?: string;
  readonly port?: string;
  readonly key?: string;
  readonly option?: readonly string[];
}

/** `ssh`: a key that is signed for one connection. */
export const sshCommands: readonly CommandSpec[] = [
  {
    name: 'ssh',
    help: 'Connect to a host with a certificate: generate a key, have it signed, and run ssh with both.',
    args: { '<destination>': 'the host, or user@host', '[command...]': 'what to run there' },
    flags: {
      '--role <name>': { help: 'role that signs the key', required: true },
      '--mount <path>': { help: 'mount path of the ssh engine', also: ['--mount-point'], default: 'ssh' },
      '--principals <names>':
        'names that the certificate is for; by default the user of the destination, or that of the role',
      '--ttl <duration>': 'lifetime of the certificate; by default that of the role',
      '--key <file>': {
        help: 'sign this key instead of a temporary one; its public key must be in file.pub',
        also: ['--private-key-path'],
      },
      '--port <port>': 'port of the host',
      '--option <option>': { help: 'ssh option, as for ssh -o', repeatable: true },
    },
    examples: [
      'ssh -role=deploy deploy@web.example.com',
      'ssh -role=deploy -mount=team/ssh -ttl=5m deploy@web.example.com uptime',
    ],
    more: 'The exit code is the exit code of ssh.',
    async run(context, flags: SshFlags, destination: string, ...command: string[]) {
      if (destination.startsWith('-')) throw new Problem(`${destination} is not a host`);
      // The parser passes several words as one list.
      const words = command.flat().filter((word) => typeof word === 'string');
      const folder = await mkdtemp(join(tmpdir(), 'keystead-ssh-'));
      try {
        const key = flags.key ?? join(folder, 'key');
        if (flags.key === undefined) {
          await required('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'keystead', '-f', key], context.env);
        }
        const public_key = await readFile(`${key}.pub`, 'utf8').catch(() => {
          throw new Problem(`${key}.pub cannot be read`);
        });
        const user = destination.includes('@') ? destination.slice(0, destination.lastIndexOf('@')) : undefined;
        const { body } = await context.client.post(`${flags.mount.replace(/^\/+|\/+$/g, '')}/sign/${flags.role}`, {
          public_key,
          valid_principals: flags.principals ?? user,
          ttl: flags.ttl,
        });
        const signed = body?.data?.signed_key;
        if (typeof signed !== 'string') throw new Problem('the answer has no signed key', exitCodes.refused);
        const certificate = join(folder, 'certificate.pub');
        await writeFile(certificate, signed, { mode: 0o600 });
        const options = [`CertificateFile=${certificate}`, 'IdentitiesOnly=yes', ...(flags.option ?? [])];
        const port = flags.port === undefined ? [] : ['-p', flags.port];
        const named = options.flatMap((option) => ['-o', option]);
        context.exitWith(await exitOf('ssh', ['-i', key, ...named, ...port, '--', destination, ...words], context.env));
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    },
  },
];

async function required(program: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<void> {
  const code = await exitOf(program, args, env);
  if (code !== 0) throw new Problem(`${program} ended with exit code ${code}`);
}

/** Runs a program of OpenSSH in this terminal. */
function exitOf(program: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  return new Promise((resolve, reject) => {
    const running = spawn(program, args, { stdio: 'inherit', env });
    running.once('error', () => reject(new Problem(`${program} of OpenSSH is not installed`)));
    running.once('exit', (code) => resolve(code ?? 255));
  });
}
