import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** Addresses at which clouds hand credentials to whoever asks. Name service at some of them goes on: it is not TCP. */
export const metadataAddresses: readonly string[] = [
  '169.254.169.254',
  '169.254.170.2',
  '169.254.170.23',
  '100.100.100.200',
  'fd00:ec2::254',
  'fd00:ec2::23',
];

const execute = promisify(execFile);
const preference = '7300';

/**
 * Makes the cloud's metadata addresses unreachable over TCP for a range of uids, by rules of the machine's own routing.
 * Answers why that was not possible, undefined when it was. Rules that are there already stay as they are.
 */
export async function blockMetadata(uids: { first: number; last: number }): Promise<string | undefined> {
  const range = `${uids.first}-${uids.last}`;
  try {
    for (const family of ['-4', '-6']) {
      const { stdout } = await execute('ip', [family, 'rule', 'show', 'pref', preference]);
      for (const address of metadataAddresses) {
        if (address.includes(':') !== (family === '-6')) continue;
        if (stdout.split('\n').some((line) => line.includes(`to ${address} `) && line.includes(`uidrange ${range} `))) {
          continue;
        }
        const rule = ['to', address, 'ipproto', 'tcp', 'uidrange', range, 'prohibit', 'pref', preference];
        await execute('ip', [family, 'rule', 'add', ...rule]);
      }
    }
    return undefined;
  } catch (error) {
    const { code, stderr, message } = error as { code?: unknown; stderr?: string; message: string };
    if (code === 'ENOENT') return 'the program ip is missing';
    return (stderr || message).trim().split('\n')[0];
  }
}
