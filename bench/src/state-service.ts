import type { EmbeddedServer } from '@keystead/postgres';
import { onGround, runProgram } from './program';
import { startWorkspaces } from './service';

/** A separate workspace service with its PostgreSQL, and the token of its administrator. */
export interface StateService {
  readonly url: string;
  readonly pid: number;
  readonly token: string;
  readonly postgres: EmbeddedServer;
}

/** Runs a program on a separate workspace service, which is removed afterwards. */
export function runOnStateService(work: (service: StateService) => Promise<void>): void {
  runProgram('', () =>
    onGround({}, async (ground) => {
      const service = await startWorkspaces({ ...ground, cores: undefined });
      await work({ ...service, postgres: ground.postgres });
    }),
  );
}
