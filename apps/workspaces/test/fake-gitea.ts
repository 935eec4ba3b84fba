import { createHmac } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { FakeHost } from './fake-host';

const sha = (text: string): string => createHmac('sha1', 'commits').update(text).digest('hex');

/** A pull request of the fake host. */
export interface FakePull {
  readonly number: number;
  head: string;
  readonly files: readonly string[];
  readonly fork?: boolean;
}

/** The parts of Gitea that are called, with one repository, `team/net`: its answers are fields that tests change. */
export class FakeGitea extends FakeHost {
  readonly branches = new Map<string, string>();
  readonly tags = new Map<string, string>();
  readonly pulls: FakePull[] = [];
  readonly statuses: { sha: string; state: string; context: string; description: string }[] = [];
  readonly comments: string[] = [];
  /** The User-Agent of every call, and its credential. */
  readonly calls: { call: string; authorization: string }[] = [];
  readonly hooks = new Map<string, { url: string; secret: string }>();
  /** Files that differ between two commits, by `base...head`; others cannot be compared. */
  readonly changed = new Map<string, readonly string[]>();
  /** The names of further repositories that the token can use, and the entries at the top of each commit. */
  readonly others: string[] = [];
  readonly entries: { type: string; path: string }[] = [];
  /** Whether it answers 503 to everything. */
  away = false;

  protected async respond(
    { method, url, headers }: IncomingMessage,
    text: string,
  ): Promise<readonly [number, unknown]> {
    this.calls.push({ call: `${method} ${url}`, authorization: headers.authorization ?? '' });
    if (this.away) return [503, {}];
    const body = this.answer(`${method} ${url}`, text);
    return body === undefined ? [404, {}] : [200, body];
  }

  /** A commit with a message. */
  commit(message: string): string {
    const id = sha(message);
    this.messages.set(id, message);
    return id;
  }

  private readonly messages = new Map<string, string>();

  private answer(call: string, text: string): unknown {
    const [, page] = /^GET \/api\/v1\/user\/repos\?page=(\d+)&limit=50&/.exec(call) ?? [];
    if (page) {
      const all = ['team/net', ...this.others];
      const shown = all.slice(50 * (Number(page) - 1), 50 * Number(page));
      return shown.map((name) => ({ full_name: name, name: name.split('/')[1], private: true }));
    }
    const [, method = '', path = ''] = /^(\w+) \/api\/v1\/repos\/team\/net([^?]*)/.exec(call) ?? [];
    const [, kind = '', rest = ''] = /^\/([\w]+)\/?(.*)$/.exec(path) ?? [];
    if (path === '') return method === 'GET' ? this.repository() : undefined;
    if (kind === 'branches') return this.named(this.branches, decodeURIComponent(rest), 'id');
    if (kind === 'tags' && rest === '') return [...this.tags].map(([name, id]) => ({ name, commit: { sha: id } }));
    if (kind === 'tags') return this.named(this.tags, decodeURIComponent(rest), 'sha');
    if (kind === 'git') return this.shown(rest.replace('commits/', ''));
    if (kind === 'pulls') return this.pull(rest);
    if (kind === 'hooks' && method === 'POST') {
      const { config } = JSON.parse(text);
      this.hooks.set(String(this.hooks.size + 1), config);
      return { id: this.hooks.size };
    }
    if (kind === 'hooks' && method === 'GET') {
      return [...this.hooks].map(([id, { url }]) => ({ id: Number(id), config: { url } }));
    }
    if (kind === 'hooks') return this.hooks.delete(rest) ? {} : undefined;
    if (kind === 'issues' && method === 'GET') {
      const shown = this.comments.map((body, at) => ({ id: at + 1, body }));
      return rest.startsWith('comments/') ? shown.find(({ id }) => `comments/${id}` === rest) : shown;
    }
    if (kind === 'issues' && method === 'PATCH') {
      this.comments[Number(rest.replace('comments/', '')) - 1] = JSON.parse(text).body;
      return {};
    }
    if (kind === 'issues' && method === 'POST') {
      this.comments.push(JSON.parse(text).body);
      return { id: this.comments.length };
    }
    if (kind === 'compare') {
      const [base = '', head = ''] = decodeURIComponent(rest).split('...');
      if (this.changed.has(`${head}...${base}`)) return { commits: [], total_commits: 0 };
      const files = this.changed.get(`${base}...${head}`);
      return files && { commits: [{ files: files.map((filename) => ({ filename })) }], total_commits: 1 };
    }
    if (kind === 'contents') return this.entries;
    if (kind === 'statuses') return this.statuses.push({ sha: rest, ...JSON.parse(text) });
    return undefined;
  }

  private repository() {
    return {
      id: 42,
      full_name: 'team/net',
      html_url: `${this.origin}/team/net`,
      clone_url: `${this.origin}/team/net.git`,
      default_branch: 'main',
    };
  }

  private named(among: Map<string, string>, name: string, key: 'id' | 'sha') {
    const id = among.get(name);
    return id === undefined ? undefined : { name, commit: { [key]: id } };
  }

  private shown(id: string) {
    const message = this.messages.get(id);
    return message === undefined
      ? undefined
      : { sha: id, html_url: '', commit: { message }, author: { login: 'grace' } };
  }

  private pull(rest: string): unknown {
    const [number = '', files] = rest.split('/');
    const shown = ({ number: index, head, fork }: FakePull) => ({
      number: index,
      title: `Pull ${index}`,
      body: '',
      html_url: '',
      state: 'open',
      head: { sha: head, ref: 'topic', repo: { id: fork ? 43 : 42 } },
      base: { ref: 'main', repo: { id: 42 } },
    });
    if (number === '') return this.pulls.map(shown);
    const found = this.pulls.find((one) => one.number === Number(number));
    if (files === 'files') return found?.files.map((filename) => ({ filename }));
    return found && shown(found);
  }
}
