import { existsSync, readFileSync, statSync } from 'node:fs';
import type { Context } from '../context';
import { workspaceSettings } from '../global-settings';
import { Remote } from '../migration/remote';
import type { RemoteResource } from '../migration/resource';
import { exitCodes, Problem } from '../problem';
import { findVariable } from '../settings';

/** The flags of commands that work in an organization, or in one of its workspaces. */
export interface ServiceFlags {
  organization?: string;
  workspace?: string;
}

/** The organization flag, for the declaration of a command. */
export const organizationFlag = {
  '--organization <name>': {
    help: `organization to work in (${workspaceSettings.organization.variables.join(', ')})`,
    also: ['--org'],
  },
} as const;
export const workspaceFlags = {
  ...organizationFlag,
  '--workspace <name>': {
    help: `workspace to work in: its name, or its id (${workspaceSettings.workspace.variables.join(', ')})`,
    also: ['--ws'],
  },
} as const;

/** A client of the workspace service of this command line. Throws `Problem` if its address or token is not known. */
export function findService({ settings, env }: Context): Remote {
  const configured = settings.givenAddress ?? findVariable(workspaceSettings.address, env)?.value;
  if (!configured) {
    throw new Problem(`no address: give --address, or set ${workspaceSettings.address.variables.join(' or ')}`);
  }
  const address = (configured.includes('://') ? configured : `https://${configured}`).replace(/\/$/, '');
  const { token, tokenFrom } = findToken(address, env);
  const name = URL.canParse(address) ? new URL(address).host : address;
  return new Remote(name, address, token, { patient: false, tokenFrom });
}

/** The token for calls, and its source. */
function findToken(address: string, env: NodeJS.ProcessEnv): { token: string; tokenFrom: string } {
  const { variables } = workspaceSettings.token;
  const set = variables.find((name) => env[name] !== undefined);
  // An empty variable for a token must not turn the caller into another user.
  if (set && !env[set]?.trim()) throw new Problem(`${set} is set but empty: unset it to use another token`);
  if (set) return { token: env[set]?.trim() ?? '', tokenFrom: set };
  const file = env.WORKSPACES_TOKEN_FILE;
  if (file) return { token: tokenIn(file), tokenFrom: file };
  const hostname = URL.canParse(address) ? new URL(address).hostname : undefined;
  const found = hostname && tokenOfHost(hostname, env);
  if (found) return found;
  const ofHost = hostname ? ` or ${OF_HOST}${hostname.replaceAll('-', '__').replaceAll('.', '_')}` : '';
  throw new Problem(`no token: set ${variables.join(' or ')}, WORKSPACES_TOKEN_FILE${ofHost}`);
}

const OF_HOST = 'TF_TOKEN_';

/** The token that the infrastructure tool would use for a host, in any spelling of the host. */
function tokenOfHost(hostname: string, env: NodeJS.ProcessEnv): { token: string; tokenFrom: string } | undefined {
  const spelled = Object.keys(env).filter((name) => name.startsWith(OF_HOST));
  const tokenFrom = spelled.find((name) => {
    const host = name.slice(OF_HOST.length).replaceAll('__', '-').replaceAll('_', '.');
    return URL.canParse(`https://${host}`) && new URL(`https://${host}`).hostname === hostname;
  });
  const token = tokenFrom && env[tokenFrom]?.trim();
  return token ? { token, tokenFrom } : undefined;
}

function tokenIn(file: string): string {
  if (!existsSync(file)) throw new Problem(`${file} does not exist (WORKSPACES_TOKEN_FILE)`, exitCodes.file);
  if ((statSync(file).mode & 0o077) !== 0) throw new Problem(`${file} can be read by others: chmod 600 ${file}`);
  const token = readFileSync(file, 'utf8').trim();
  if (!token) throw new Problem(`${file} holds no token`, exitCodes.file);
  return token;
}

/** The given organization. */
export function organizationOf({ env }: Context, flags: ServiceFlags): string {
  const name = flags.organization ?? findVariable(workspaceSettings.organization, env)?.value;
  if (!name)
    throw new Problem(
      `no organization: give --organization, or set ${workspaceSettings.organization.variables.join(' or ')}`,
    );
  return encodeURIComponent(name);
}

/** The given workspace, by name or id. */
export async function workspaceOf(
  context: Context,
  service: Remote,
  flags: ServiceFlags,
  named?: string,
): Promise<RemoteResource> {
  const name = named ?? flags.workspace ?? findVariable(workspaceSettings.workspace, context.env)?.value;
  if (!name)
    throw new Problem(`no workspace: give --workspace, or set ${workspaceSettings.workspace.variables.join(' or ')}`);
  const path = /^ws-[A-Za-z0-9]{8,}$/.test(name)
    ? `workspaces/${name}`
    : `organizations/${organizationOf(context, flags)}/workspaces/${encodeURIComponent(name)}`;
  return service.get(path);
}

/** Attributes of a resource by readable names. */
export function attributesOf(found: RemoteResource, names: readonly string[]): Record<string, unknown> {
  const { attributes = {} } = found;
  return Object.fromEntries(names.map((name) => [name.replaceAll('-', ' '), attributes[name]]));
}
