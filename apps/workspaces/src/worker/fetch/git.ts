import { lookup } from 'node:dns/promises';
import { open } from 'node:fs/promises';
import { isIP } from 'node:net';
import path from 'node:path';
import type { Reach } from '@keystead/outside';
import type { Fetch } from '../../resources/runs/vcs/fetches';
import { cleanPath } from '../isolation/command';
import { environmentFile, type Isolation, type JobFolder, makeFolder } from '../isolation/isolation';

/** A commit that cannot be fetched. The message is for users. */
export class FetchFailed extends Error {
  override readonly name = 'FetchFailed';
  constructor(
    message: string,
    /** Whether another attempt may succeed. */
    readonly again: boolean,
  ) {
    super(message);
  }
}

/**
 * Shell text that fetches one commit from an address and checks it out: `tree` below the job's folder, without its
 * history. Nothing in the repository is executed: there are no hooks, no filters and no other transports. If a host
 * does not serve a commit by its own name, its branch or tag is fetched.
 */
const fetchScript = `
git init --quiet --template= tree
cd tree
git remote add origin "$1"
give='git fetch --quiet --no-tags --no-recurse-submodules'
$give --depth=1 origin "$2" 2>.git/said || {
  cat .git/said >&2
  { [ -n "$4" ] && grep -q 'unadvertised object' .git/said; } || exit 1
  $give --depth=100 origin "$4"
}
git checkout --quiet --detach "$2"
[ "$(git rev-parse HEAD)" = "$2" ] || { echo "the host sent another commit" >&2; exit 1; }
if [ "$3" = submodules ]; then git submodule --quiet update --init --recursive --depth=1; fi
`;

/** The commands of a fetch: the first command checks the commit out, the second prints it as an archive. */
export function fetchCommands({ cloneUrl, commit, ref, submodules }: Fetch): { lay: string[]; pack: string[] } {
  return {
    lay: ['/bin/sh', '-eu', '-c', fetchScript, 'sh', cloneUrl, commit, submodules ? 'submodules' : 'top', ref ?? ''],
    pack: ['tar', '--create', '--gzip', '--exclude=.git', '--directory=tree', '.'],
  };
}

/** The address of a repository, if it may be called. Throws FetchFailed. */
export async function placeOf(cloneUrl: string, reach: Reach): Promise<{ origin: string; pinned: string | undefined }> {
  const url = URL.canParse(cloneUrl) ? new URL(cloneUrl) : undefined;
  if (!url || !['https:', 'http:'].includes(url.protocol) || url.username !== '' || url.password !== '') {
    throw new FetchFailed('the repository is not at an http or https address', false);
  }
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const addresses = isIP(host)
    ? [host]
    : await lookup(host, { all: true }).then(
        (found) => found.map(({ address }) => address),
        () => {
          throw new FetchFailed(`the host ${host} cannot be found`, true);
        },
      );
  const closed = addresses.find((address) => !reach.allows(address));
  if (closed !== undefined)
    throw new FetchFailed(`the address ${closed} of ${host} is closed to calls from here`, false);
  const port = url.port || (url.protocol === 'https:' ? '443' : '80');
  // Git calls the address that was checked.
  return {
    origin: url.origin,
    pinned: isIP(host) ? undefined : `${host}:${port}:${addresses.map(bracketed).join(',')}`,
  };
}

const bracketed = (address: string): string => (isIP(address) === 6 ? `[${address}]` : address);

/** The hosts that a fetch may call in addition to its repository's host. */
interface Given {
  readonly place: { readonly origin: string; readonly pinned: string | undefined };
  readonly proxies: Readonly<Record<string, string>>;
  /** The hosts that may be called; all by default. */
  readonly origins?: ReadonlySet<string>;
}

/**
 * Git settings that leave addresses of some hosts unchanged and rewrite all others to a transport that does not exist.
 * Git uses the longest match.
 */
function onlyTo(origins: ReadonlySet<string>, cloneUrl: string): [string, string][] {
  const open = [cloneUrl, ...[...origins].map((origin) => `${origin}/`)];
  return [
    ...['http://', 'https://'].map((start): [string, string] => ['url.closed://.insteadOf', start]),
    ...open.map((start): [string, string] => [`url.${start}.insteadOf`, start]),
  ];
}

/** The SSH settings that allow only these hosts, on any port. */
const sshHosts = (origins: ReadonlySet<string>): string =>
  `Host ${[...origins].map((origin) => new URL(origin).hostname).join(' ')}\n  ProxyCommand none\nHost *\n  ProxyCommand /bin/false\n`;

/** The Git configuration, which the repository cannot change. */
function settingsOf(fetch: Fetch, { place, origins }: Given): [string, string][] {
  return [
    ...(origins ? onlyTo(origins, fetch.cloneUrl) : []),
    ['protocol.allow', 'never'],
    ['protocol.https.allow', 'always'],
    ...(place.origin.startsWith('http:') ? [['protocol.http.allow', 'always'] as [string, string]] : []),
    ...(fetch.sshKey === undefined ? [] : [['protocol.ssh.allow', 'always'] as [string, string]]),
    ['http.followRedirects', 'false'],
    ['http.lowSpeedLimit', '500'],
    ['http.lowSpeedTime', '30'],
    [`http.${place.origin}/.extraHeader`, fetch.authorization],
    ...(place.pinned === undefined ? [] : [['http.curloptResolve', place.pinned] as [string, string]]),
    ['credential.helper', ''],
    ['core.hooksPath', '/dev/null'],
    ['core.fsmonitor', 'false'],
    ['core.longpaths', 'true'],
    ['gc.auto', '0'],
    ['maintenance.auto', 'false'],
    ['advice.detachedHead', 'false'],
  ];
}

const quoted = (value: string): string => `'${value.replaceAll('\0', '').replaceAll("'", `'\\''`)}'`;

/** Writes the files that Git needs into the folder of a fetch, which only the fetch ever sees. */
export async function writeGitFiles(
  isolation: Isolation,
  jobFolder: JobFolder,
  fetch: Fetch,
  network: Given,
): Promise<void> {
  const home = isolation.inside(jobFolder);
  const settings = settingsOf(fetch, network);
  const hosts = network.origins ? `${home}/home/.ssh/config` : '/dev/null';
  const ssh = `ssh -F ${hosts} -i ${home}/home/.ssh/key -o IdentitiesOnly=yes -o BatchMode=yes -o StrictHostKeyChecking=accept-new`;
  const environment: Record<string, string> = {
    PATH: cleanPath,
    LANG: 'C.UTF-8',
    HOME: `${home}/home`,
    TMPDIR: `${home}/tmp`,
    ...network.proxies,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_ASKPASS: '/bin/false',
    GIT_LFS_SKIP_SMUDGE: '1',
    GIT_CONFIG_COUNT: String(settings.length),
    ...Object.fromEntries(
      settings.flatMap(([key, value], index) => [
        [`GIT_CONFIG_KEY_${index}`, key],
        [`GIT_CONFIG_VALUE_${index}`, value],
      ]),
    ),
    ...(fetch.sshKey === undefined ? {} : { GIT_SSH_COMMAND: ssh }),
  };
  const text = Object.entries(environment).map(([name, value]) => `export ${name}=${quoted(value)}\n`);
  await write(jobFolder, environmentFile, text.join(''));
  if (fetch.sshKey === undefined) return;
  await makeFolder(path.join(jobFolder.folder, 'home', '.ssh'), jobFolder.owner, 0o700);
  if (network.origins) await write(jobFolder, 'home/.ssh/config', sshHosts(network.origins));
  await write(jobFolder, 'home/.ssh/key', `${fetch.sshKey.trimEnd()}\n`);
}

async function write({ folder, owner }: JobFolder, name: string, content: string): Promise<void> {
  const file = await open(path.join(folder, name), 'wx', 0o600);
  try {
    await file.writeFile(content);
    if (owner) await file.chown(owner.uid, owner.gid);
  } finally {
    await file.close();
  }
}
