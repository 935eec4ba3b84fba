import type { HostApi } from './host-api';
import type { DeliveryHeaders } from './reading';

/** A repository, as its host describes it. */
export interface HostRepository {
  /** The host's own id. It does not change when the repository is renamed. */
  readonly id: string;
  readonly identifier: string;
  readonly httpUrl: string;
  readonly cloneUrl: string;
  readonly defaultBranch: string;
}

/** A repository in a list. */
export interface ListedRepository {
  readonly identifier: string;
  readonly name: string;
  readonly isPrivate: boolean;
}

/** A part of a list of repositories. */
export interface RepositoryPage {
  readonly repositories: readonly ListedRepository[];
  readonly more: boolean;
  /** The total number, if the host returns it. */
  readonly total?: number;
}

/** A commit with the details that people see. */
export interface HostCommit {
  readonly sha: string;
  readonly message: string;
  readonly url: string;
  readonly author: string;
}

/** An open proposal to merge one branch into another: a pull request or merge request. */
export interface PullRequest {
  readonly number: number;
  readonly title: string;
  readonly body: string;
  readonly url: string;
  readonly isOpen: boolean;
  readonly head: string;
  readonly headBranch: string;
  readonly baseBranch: string;
  /** Whether its commits come from another repository. */
  readonly fromFork: boolean;
  /** The other repository, if the target repository does not have the commits. */
  readonly from?: { readonly identifier: string; readonly cloneUrl: string };
}

/** Pull requests that a merge queue has merged on trial, in a separate branch. */
export interface QueuedMerge {
  readonly baseBranch: string;
  /** The number of the last pull request. */
  readonly number: number;
}

/** A tag and the commit behind it. */
export interface HostTag {
  readonly name: string;
  readonly sha: string;
}

/** An event in a repository. Its data is not trusted until it was looked up at the host. */
export type HostEvent = { readonly repositoryId: string; readonly sender: Sender } & (
  | { readonly kind: 'push'; readonly branch: string; readonly before: string | null; readonly after: string | null }
  | { readonly kind: 'tag'; readonly tag: string; readonly after: string | null }
  | { readonly kind: 'pull-request'; readonly number: number }
);

/** The user of the host who caused an event. */
export interface Sender {
  readonly username: string;
  readonly avatarUrl: string | null;
  readonly url: string | null;
}

/** The state of a commit, in the words of most hosts. */
export type CommitState = 'pending' | 'success' | 'failure' | 'error';

/** The status shown next to a commit. */
export interface CommitStatus {
  readonly state: CommitState;
  /** Distinguishes the statuses of a commit. */
  readonly context: string;
  readonly description: string;
  readonly url: string;
  /** The pull request that the commit belongs to. */
  readonly number?: number;
}

/** How a user connects a kind of host in the browser, with the code flow of OAuth 2. */
export interface OauthFlow {
  /** The addresses for the browser, and for exchanging codes and refresh tokens, from the address of the host. */
  authorize(httpUrl: string): string;
  exchange(httpUrl: string): string;
  /** The scopes to request; null if the host has them with the registered application. */
  readonly scope: string | null;
  /** Whether the host binds codes to a verifier (PKCE, S256). */
  readonly pkce: boolean;
  /** Whether the application authenticates by HTTP Basic instead of in the form. */
  readonly basic: boolean;
  /** Where the API names the person who agreed, if it does. */
  readonly person?: { readonly path: string; readonly name: string };
}

/** The API of one kind of Git host. `at` is a repository's identifier. */
export interface GitHost {
  /** The browser flow; undefined for hosts where people use their own token. */
  readonly oauth?: OauthFlow;
  /** The headers that contain a token in calls to the API. */
  authorization(token: string): Readonly<Record<string, string>>;
  findRepository(api: HostApi, at: string): Promise<HostRepository>;
  /**
   * Repositories that the token can use, 50 on a page; the first page is 1. `owner` is an account at the host: some
   * hosts list only the repositories of one account.
   */
  listRepositories(api: HostApi, page: number, owner: string): Promise<RepositoryPage>;
  /** The folders at the top of a commit. */
  listFolders(api: HostApi, at: string, sha: string): Promise<readonly string[]>;
  /** The pull requests that the host's merge queue tests in a branch; undefined for other branches. */
  queuedIn?(branch: string): QueuedMerge | undefined;
  /** The newest commit of a branch; undefined if the branch does not exist. */
  findHead(api: HostApi, at: string, branch: string): Promise<HostCommit | undefined>;
  /** The commit a tag points to. */
  findTag(api: HostApi, at: string, tag: string): Promise<HostCommit | undefined>;
  /** The tags of a repository, newest first if the host can sort them; only some if there are very many. */
  listTags(api: HostApi, at: string): Promise<readonly HostTag[]>;
  findCommit(api: HostApi, at: string, sha: string): Promise<HostCommit | undefined>;
  findPullRequest(api: HostApi, at: string, number: number): Promise<PullRequest | undefined>;
  listPullRequests(api: HostApi, at: string): Promise<readonly PullRequest[]>;
  /** Paths that differ between two commits; undefined if the host cannot list all of them. */
  listChanges(api: HostApi, at: string, base: string, head: string): Promise<readonly string[] | undefined>;
  /** Paths that a pull request changes; undefined if the host cannot list all of them. */
  listProposed(api: HostApi, at: string, number: number): Promise<readonly string[] | undefined>;
  /**
   * Creates a webhook and returns its id for `deleteHook`. If the response to an earlier attempt was lost, its webhook
   * is found and not created twice.
   */
  createHook(api: HostApi, at: string, hook: { url: string; secret: string }): Promise<string>;
  deleteHook(api: HostApi, at: string, id: string): Promise<void>;
  /** Whether the sender of a delivery has the secret; takes constant time. */
  isGenuine(headers: DeliveryHeaders, body: Buffer, secret: string): boolean;
  /** The host's id for a delivery; undefined if there is none. */
  deliveryId(headers: DeliveryHeaders, body: unknown): string | undefined;
  /** The events in a delivery; empty if it contains nothing relevant. */
  eventsOf(headers: DeliveryHeaders, body: unknown): readonly HostEvent[];
  setStatus(api: HostApi, at: string, sha: string, status: CommitStatus): Promise<void>;
  /** The oldest comment on a pull request that has a string in it, by its id. */
  findComment(api: HostApi, at: string, number: number, text: string): Promise<string | undefined>;
  /** Creates a comment on a pull request, or replaces the one with `id`; returns its id. */
  writeComment(api: HostApi, at: string, number: number, text: string, id: string | null): Promise<string>;
  /** The HTTP header that Git sends a token in. */
  gitAuthorization(token: string): string;
}
