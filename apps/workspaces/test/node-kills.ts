import { join } from 'node:path';
import { KillsAtSteps, startVictim, urlOf, type Victim } from '@keystead/testing';
import { type Client, clientOf, SEAL_KEY, WORKER_TOKEN, type Workspaces } from './start-workspaces';

/** A call to a process that may die before it answers: then the status is 0. */
export const statusOf = async (asked: PromiseLike<{ status: number }>): Promise<number> => {
  try {
    return (await asked).status;
  } catch {
    return 0;
  }
};

/** Nodes on the database of a service that are killed one after another. */
export class NodeKills extends KillsAtSteps<Victim> {
  constructor(
    private readonly workspaces: () => Workspaces,
    private readonly env: () => Readonly<Record<string, string>> = () => ({}),
  ) {
    super(/./);
  }

  protected launch(): Promise<Victim> {
    return startVictim(join(__dirname, 'crash-program.ts'), {
      env: {
        WORKSPACES_DATABASE_URL: this.workspaces().databaseUrl,
        WORKSPACES_DATABASE_CONNECTIONS: '5',
        WORKSPACES_SEAL_KEY: SEAL_KEY,
        WORKSPACES_AGENT_TOKEN: WORKER_TOKEN,
        WORKSPACES_PUBLIC_URL: 'https://workspaces.test',
        WORKSPACES_RATE_LIMIT: '0',
        WORKSPACES_MIGRATE: 'off',
        ...this.env(),
      },
    });
  }

  /** The administrator, at a node. */
  at({ url }: Pick<Victim, 'url'>): Pick<Workspaces, 'admin'> & { readonly server: string; as(token: string): Client } {
    const as = (token: string) => clientOf(() => url, token);
    return { admin: as(this.workspaces().admin.token!), server: url, as };
  }
}

/** Agents that are killed one after another; they call the service. */
export class AgentKills extends KillsAtSteps<Victim> {
  constructor(private readonly workspaces: () => Workspaces) {
    super(/./);
  }

  protected launch(): Promise<Victim> {
    const env = { AGENT_ADDRESS: urlOf(this.workspaces().server), AGENT_TOKEN: WORKER_TOKEN };
    return startVictim(join(__dirname, 'crash-program.ts'), { env });
  }
}
