import { hostname } from 'node:os';
import { BadConfig, describeSettings, logLevel, readSettings } from '@keystead/settings';
import { z } from 'zod';
import { proxyFor } from './agent/proxy';
import { readOwnConfig } from './config';

/** Names that agents of the reference are set up with. */
const alsoCalled = {
  AGENT_ADDRESS: 'TFC_ADDRESS',
  AGENT_TOKEN: 'TFC_AGENT_TOKEN',
  AGENT_NAME: 'TFC_AGENT_NAME',
  AGENT_LOG_LEVEL: 'TFC_AGENT_LOG_LEVEL',
} as const;

const Variables = z.object({
  AGENT_ADDRESS: z
    .url({ protocol: /^https?$/ })
    .describe('Where the service is, such as https://workspaces.example.com. Also as TFC_ADDRESS.'),
  AGENT_TOKEN: z
    .string()
    .min(1)
    .regex(/^[\x21-\x7e]+$/, 'is no token')
    .describe('Token of an agent pool. Also as AGENT_TOKEN_FILE, which holds it, and as TFC_AGENT_TOKEN.'),
  AGENT_NAME: z
    .string()
    .regex(/^[\w .:@-]{1,255}$/, 'may have letters, numbers, spaces and . : @ _ -')
    .default(
      () =>
        hostname()
          .replace(/[^\w .:@-]/g, '-')
          .slice(0, 255) || 'agent',
    )
    .describe('What people see it as; the name of the machine unless set. Also as TFC_AGENT_NAME.'),
  AGENT_SERVER_NAME: z
    .string()
    .regex(/^[a-z\d]([a-z\d.-]*[a-z\d])?$/i, 'must be a host name')
    .optional()
    .describe('Name in the certificate of the service, where it is not that of AGENT_ADDRESS.'),
  AGENT_LOG_LEVEL: z
    .string()
    .toLowerCase()
    .pipe(logLevel)
    .default('info')
    .describe('What is logged. Also as TFC_AGENT_LOG_LEVEL.'),
});

/** How an agent process is set up. */
export type AgentConfig = ReturnType<typeof readAgentConfig>;

/** Whether the environment is that of an agent. */
export const isAgent = (environment: NodeJS.ProcessEnv): boolean =>
  ['AGENT_TOKEN', 'AGENT_TOKEN_FILE', 'TFC_AGENT_TOKEN'].some((name) => environment[name]);

/** Reads the configuration of an agent. Throws `BadConfig` naming every bad variable. */
export function readAgentConfig(environment: NodeJS.ProcessEnv) {
  const values: NodeJS.ProcessEnv = { AGENT_TOKEN_FILE: environment.AGENT_TOKEN_FILE || '' };
  for (const [name, other] of Object.entries(alsoCalled)) values[name] = environment[name] || environment[other] || '';
  const { given, problems } = readSettings(Variables, values, { ours: /^AGENT_/, fromFile: ['AGENT_TOKEN'] });
  if (problems.length > 0) throw new BadConfig(problems);
  const { AGENT_ADDRESS: address, AGENT_TOKEN: token, AGENT_NAME: name, AGENT_LOG_LEVEL: level, AGENT_SERVER_NAME: serverName } = given;
  const url = new URL(address);
  return {
    ...readOwnConfig(environment),
    address: url,
    token,
    name,
    serverName,
    logLevel: level,
    proxy: proxyFor(url, environment),
  };
}

/** Two lines per variable, for `--help`. */
export const describeAgentConfig = (): string => describeSettings(Variables);
