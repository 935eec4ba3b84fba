import type { MfaRequirement, ServiceResponse, TokenAuth } from '../client';
import type { CommandSpec } from '../command';
import type { Context } from '../context';
import { exitCodes, Problem } from '../problem';
import { forgetToken, keepToken } from '../settings';
import { signedIdentity } from './aws-login';
import { signInAtProvider } from './oidc-login';
import { parseValues } from './values';

interface LoginFlags {
  method: string;
  path?: string;
  printOnly?: boolean;
  store?: boolean;
}

/** How a method logs in: the field for its first argument, the path, and the prompts. */
interface LoginMethod {
  readonly first?: string;
  readonly path: (fields: Record<string, unknown>) => string;
  /** Prompted for if absent; never an argument. */
  readonly secrets: Readonly<Record<string, string>>;
  /** Required fields. */
  readonly needs: readonly string[];
  /** The request body, from the given values. */
  readonly signed?: (fields: Record<string, unknown>, env: NodeJS.ProcessEnv) => Promise<Record<string, unknown>>;
}

const methods: Readonly<Record<string, LoginMethod>> = {
  userpass: {
    first: 'username',
    path: ({ username }) => `login/${String(username)}`,
    secrets: { password: 'Password' },
    needs: ['username'],
  },
  approle: { first: 'role_id', path: () => 'login', secrets: { secret_id: 'Secret id' }, needs: ['role_id'] },
  ldap: {
    first: 'username',
    path: ({ username }) => `login/${String(username)}`,
    secrets: { password: 'Password' },
    needs: ['username'],
  },
  github: { path: () => 'login', secrets: { token: 'Token of GitHub' }, needs: [] },
  kubernetes: { first: 'role', path: () => 'login', secrets: { jwt: 'Token of the service account' }, needs: ['role'] },
  jwt: { first: 'role', path: () => 'login', secrets: { jwt: 'Signed token' }, needs: [] },
  aws: { first: 'role', path: () => 'login', secrets: {}, needs: [], signed: signedIdentity },
  cert: { first: 'name', path: () => 'login', secrets: {}, needs: [] },
  cloudone: {
    first: 'role',
    path: () => 'login',
    secrets: { jwt: 'Signed token of the machine' },
    needs: ['role', 'subscription_id', 'resource_group_name'],
  },
};
const methodNames = ['token', ...Object.keys(methods), 'oidc'];

/** `login` and `logout`: the identity of the next commands. */
export const loginCommands: readonly CommandSpec[] = [
  {
    name: 'login',
    help: 'Log in and store the token for the next commands, in a file that only you can read.',
    args: {
      '[values...]':
        'user name (userpass), role id (approle) or role (jwt, oidc, cert, aws), and fields of the login, name=value',
    },
    flags: {
      '--method <method>': { help: methodNames.join(', '), default: 'token' },
      '--path <mount>': 'mount path of the method, if it is not the name of the method',
      '--print-only': { help: 'print the token and do not store it', also: ['--token-only'] },
      '--no-store': 'keep nothing',
    },
    examples: [
      'login',
      'login -method=userpass username=ada',
      'login -method=approle role_id=app secret_id=@/run/secrets/id',
      'login -method=jwt role=deploy jwt=@/run/token',
      'login -method=cert -client-cert=web.pem -client-key=web.key name=web',
      'login -method=aws role=deploy region=eu-central-1',
      'login -method=oidc',
      'login -method=oidc role=ops port=8400 skip_browser=true',
    ],
    more:
      'Prompts for token, password, secret id and passcode, or reads them from standard input, one per line. aws signs with the ' +
      'credentials in AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN; header_value binds the login to one server. ' +
      'oidc opens a browser, which is redirected to http://localhost:8250/oidc/callback. port, listenaddress, callbackhost, ' +
      'callbackport and callbackmethod change this address. skip_browser only prints the URL to open. callbackmode=direct is for ' +
      'roles that redirect to the service (callback_mode direct).',
    async run(context, flags: LoginFlags, ...values: string[]) {
      const token = flags.method === 'token' ? await givenToken(context, values) : await logIn(context, values, flags);
      if (flags.printOnly) {
        context.output.line(token);
        return;
      }
      context.settings.token = token;
      const { body } = await context.client.get('auth/token/lookup-self', { unwrapped: true });
      if (flags.store ?? true) keepToken(context.settings, token);
      const { display_name, policies, ttl, entity_id } = body?.data ?? {};
      context.output.show(body, { name: display_name, policies, 'ttl (s)': ttl, entity: entity_id || '-' });
      if (flags.store ?? true) context.output.note(`token stored in ${context.settings.tokenFile}`);
    },
  },
  {
    name: 'logout',
    help: 'Revoke the stored token and delete it.',
    flags: {},
    examples: ['logout'],
    async run({ client, settings, output }) {
      await client.post('auth/token/revoke-self', {}, { accept: [403] });
      forgetToken(settings);
      output.note('logged out');
    },
  },
];

async function givenToken({ ask }: Context, values: readonly string[]): Promise<string> {
  if (values.some((value) => value !== '-' && value !== 'token=-')) {
    throw new Problem(
      'a token cannot be an argument, because shell history and process lists would show it: the command prompts for it',
    );
  }
  return ask('Token');
}

async function logIn(context: Context, values: readonly string[], flags: LoginFlags): Promise<string> {
  if (flags.method === 'oidc') {
    const [role, ...others] = values;
    const named = role !== undefined && !role.includes('=') ? [`role=${role}`, ...others] : values;
    const mount = (flags.path ?? 'oidc').replace(/^auth\/|\/$/g, '');
    return tokenOf(context, await signInAtProvider(context, mount, await parseValues(named, context.ask)));
  }
  const method = Object.hasOwn(methods, flags.method) ? methods[flags.method] : undefined;
  if (!method)
    throw new Problem(`${flags.method} is not a login method of this command: use ${methodNames.join(', ')}`);
  const [first, ...rest] = values;
  const shorthand =
    first !== undefined && !first.includes('=') && method.first ? [`${method.first}=${first}`] : undefined;
  for (const name of Object.keys(method.secrets)) refuseVisible(name, values);
  const fields = await parseValues(shorthand ? [...shorthand, ...rest] : values, context.ask);
  const mount = (flags.path ?? flags.method).replace(/^auth\/|\/$/g, '');
  const absent = method.needs.filter((name) => !fields[name]);
  if (absent.length > 0) {
    const example = absent.map((name) => `${name}=…`).join(' ');
    throw new Problem(`login --method ${flags.method} needs ${absent.join(', ')}: give ${example}`);
  }
  if (flags.method === 'cert' && !context.settings.tls.certFile) {
    throw new Problem('login --method cert needs --client-cert, and --client-key if the key is in another file');
  }
  const { username, ...otherFields } = fields;
  const body = method.signed ? await method.signed(otherFields, context.env) : otherFields;
  for (const [name, question] of Object.entries(method.secrets)) {
    const whom = method.first && fields[method.first] ? ` of ${String(fields[method.first])}` : '';
    body[name] = String(fields[name] ?? (await context.ask(`${question}${whom}`))).trim();
  }
  const path = `auth/${mount}/${method.path(fields)}`;
  return tokenOf(context, await context.client.post(path, body, { anonymous: true }));
}

/** The token of a login, after its second factors. */
async function tokenOf(context: Context, answer: ServiceResponse): Promise<string> {
  context.output.warnings(answer.body?.mfa_requirement ? [] : answer.body?.warnings);
  const auth = answer.body?.auth;
  if (auth?.mfa_requirement) return (await validate(context, auth.mfa_requirement)).client_token;
  if (!auth?.client_token) throw new Problem('the login did not return a token', exitCodes.refused);
  return auth.client_token;
}

/** Refuses a password on the command line, where every user who lists the processes could see it. */
function refuseVisible(name: string, values: readonly string[]): void {
  const argument = values.find((value) => value.startsWith(`${name}=`))?.slice(name.length + 1);
  if (argument === undefined || argument === '-' || argument.startsWith('@')) return;
  throw new Problem(
    `${name} cannot be an argument, because the shell history would show it: omit it to be prompted, or use ${name}=@FILE`,
  );
}

async function validate(context: Context, requirement: MfaRequirement): Promise<TokenAuth> {
  const payload: Record<string, string[]> = {};
  for (const { any } of Object.values(requirement.mfa_constraints)) {
    const method = any[0];
    if (!method || any.some(({ id }) => payload[id])) continue;
    payload[method.id] = [await context.ask(`Passcode (${method.type} ${method.name || method.id})`)];
  }
  const body = { mfa_request_id: requirement.mfa_request_id, mfa_payload: payload };
  const answer = await context.client.post('sys/mfa/validate', body, { anonymous: true });
  if (!answer.body?.auth?.client_token) throw new Problem('the login did not return a token', exitCodes.refused);
  return answer.body.auth;
}
