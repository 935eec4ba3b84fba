import { AsyncLocalStorage } from 'node:async_hooks';
import diagnostics from 'node:diagnostics_channel';
import type { ClientRequest } from 'node:http';
import type { Database } from '../src/kernel/database/database';

/**
 * Calls to other systems within a transaction: it holds its connection and its locks for as long as the other system
 * likes, and a retry repeats the call.
 */
export class CallsInTransactions {
  readonly found: string[] = [];
  private readonly inside = new AsyncLocalStorage<true>();
  private readonly watch = (message: unknown) => {
    const { request } = message as { request: ClientRequest };
    if (this.inside.getStore())
      this.found.push(`${request.method} ${request.host}${request.path} within a transaction`);
  };

  /** Watches the transactions of a database, until `end`. */
  begin(db: Database): void {
    const within = (own: Database): Database['transaction'] => {
      const { transaction } = own;
      return (run) => transaction((tx) => this.inside.run(true, () => run(tx)));
    };
    const { inTurn } = db;
    Object.assign(db, {
      transaction: within(db),
      inTurn: (name: string) => {
        const turn = inTurn(name);
        return { ...turn, transaction: within(turn) };
      },
    });
    diagnostics.subscribe('http.client.request.start', this.watch);
  }

  end(): void {
    diagnostics.unsubscribe('http.client.request.start', this.watch);
  }
}
