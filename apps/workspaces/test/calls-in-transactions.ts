import { AsyncLocalStorage } from 'node:async_hooks';
import diagnostics from 'node:diagnostics_channel';
import type { ClientRequest } from 'node:http';
import type { Database } from '../src/kernel/database/database';

/**
 * Detects calls to other systems within a transaction: the transaction would hold its connection and locks until the
 * other system answers, and a retry would repeat the call.
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
