import { hostname } from 'node:os';
import {
  BadConfig,
  describeSettings,
  logLevel,
  readSettingFile,
  readSettings,
  tracesHeaders,
  tracesUrl,
} from '@keystead/settings';
import { z } from 'zod';
import { proxyFor } from './agent/proxy';
import { readOwnConfig } from './config';
import { Forwarding, type ForwardingTo } from './forwarding/forwarding';

/** Environment variables that configure agents of the reference product, and are also accepted here. */
const alsoCalled = {
  AGENT_ADDRESS: 'TFC_ADDRESS',
  AGENT_TOKEN: 'TFC_AGENT_TOKEN',
  AGENT_NAME: 'TFC_AGENT_NAME',
  AGENT_LOG_LEVEL: 'TFC_AGENT_LOG_LEVEL',
  AGENT_REQUEST_FORWARDING: 'TFC_AGENT_REQUEST_FORWARDING',
} as const;

const Variables = z.object({
  AGENT_ADDRESS: z
    .url({ protocol: /^https?$/ })
    .describe('Address of the service, such as https://workspaces.example.com. Also as TFC_ADDRESS.'),
  AGENT_TOKEN: z
    .string()
    .min(1)
    .regex(/^[\x21-\x7e]+$/, 'is not a token')
    .describe('Token of an agent pool. Also as TFC_AGENT_TOKEN, or in the file AGENT_TOKEN_FILE.'),
  AGENT_NAME: z
    .string()
    .regex(/^[\w .:@-]{1,255}$/, 'can contain only letters, numbers, spaces and . : @ _ -')
    .default(
      () =>
        hostname()
          .replace(/[^\w .:@-]/g, '-')
          .slice(0, 255) || 'agent',
    )
    .describe('Name of the agent in lists. Default: the name of the machine. Also as TFC_AGENT_NAME.'),
  AGENT_SERVER_NAME: z
    .string()
    .regex(/^[a-z\d]([a-z\d.-]*[a-z\d])?$/i, 'must be a host name')
    .optional()
    .describe('Host name in the service’s certificate, if it differs from AGENT_ADDRESS.'),
  AGENT_CA_FILE: z
    .string()
    .optional()
    .describe('PEM file of CA certificates that are trusted for the service, instead of the system’s CAs.'),
  AGENT_REQUEST_FORWARDING: z
    .string()
    .default('false')
    .transform((text, context): ForwardingTo | undefined => {
      if (text === 'false') return undefined;
      if (text === 'true') return 'any';
      const hosts = text.split(',').map((one) => one.trim());
      if (hosts.every((one) => URL.canParse(one) && /^https?:\/\/[^/]+\/?$/.test(one))) return hosts;
      context.addIssue('must be true, false, or addresses such as https://git.example.com, separated by commas');
      return z.NEVER;
    })
    .describe(
      'Whether the agent calls the Git hosts of connections that name its pool: true, false, or only the addresses of certain hosts, separated by commas. Also as TFC_AGENT_REQUEST_FORWARDING.',
    ),
  AGENT_TRACES_URL: tracesUrl,
  AGENT_TRACES_HEADERS: tracesHeaders('AGENT'),
  AGENT_LOG_LEVEL: z
    .string()
    .toLowerCase()
    .pipe(logLevel)
    .default('info')
    .describe('Lowest level of log lines that are written. Also as TFC_AGENT_LOG_LEVEL.'),
});

const fromFile = ['AGENT_TOKEN', 'AGENT_TRACES_HEADERS'];

/** The settings of an agent process. */
export type AgentConfig = ReturnType<typeof readAgentConfig>;

/** Whether the environment contains the settings of an agent. */
export const isAgent = (environment: NodeJS.ProcessEnv): boolean =>
  ['AGENT_TOKEN', 'AGENT_TOKEN_FILE', 'TFC_AGENT_TOKEN'].some((name) => environment[name]);

/** Reads the configuration of an agent. Throws `BadConfig` naming every bad variable. */
export function readAgentConfig(environment: NodeJS.ProcessEnv) {
  const names = [...Object.keys(Variables.shape), ...fromFile.map((name) => `${name}_FILE`)];
  const values: NodeJS.ProcessEnv = Object.fromEntries(names.map((name) => [name, environment[name] || '']));
  for (const [name, other] of Object.entries(alsoCalled)) values[name] = environment[name] || environment[other] || '';
  const { settings, problems } = readSettings(Variables, values, { own: /^AGENT_/, fromFile });
  const ca = settings.AGENT_CA_FILE && readSettingFile('AGENT_CA_FILE', settings.AGENT_CA_FILE, problems);
  if (problems.length > 0) throw new BadConfig(problems);
  const url = new URL(settings.AGENT_ADDRESS);
  return {
    ...readOwnConfig(environment),
    address: url,
    token: settings.AGENT_TOKEN,
    name: settings.AGENT_NAME,
    trust: {
      ...(ca && { ca }),
      ...(settings.AGENT_SERVER_NAME && { servername: settings.AGENT_SERVER_NAME }),
    },
    logLevel: settings.AGENT_LOG_LEVEL,
    forwarding: settings.AGENT_REQUEST_FORWARDING && new Forwarding(settings.AGENT_REQUEST_FORWARDING),
    traces:
      settings.AGENT_TRACES_URL === undefined
        ? undefined
        : // Whether a run is traced is decided where it is created.
          { url: settings.AGENT_TRACES_URL, headers: settings.AGENT_TRACES_HEADERS ?? {}, share: 0 },
    proxy: proxyFor(url, environment),
  };
}

/** Two lines per variable, for `--help`. */
export const describeAgentConfig = (): string => describeSettings(Variables);
