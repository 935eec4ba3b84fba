import type { Keyring } from '@keystead/keyring';
import type { Reach } from '@keystead/outside';
import type { Bell } from '@keystead/postgres';
import type { Gate } from '@keystead/server';
import type { AccessStore } from '../access/access-store';
import type { LinkHolder } from '../access/current-access';
import type { Principal } from '../access/principal';
import type { AccessTrail } from '../audit/access-trail';
import type { KeptBlobs } from '../blobs/kept-blobs';
import type { Edition } from '../installation/edition';
import type { Mailer } from '../installation/mailer';
import type { EventStreams } from './event-streams';
import type { Waiting } from './waiting';
import type { Watches } from './watches';

/** Settings of the whole installation, as site administrators see them. */
export interface SiteSettings {
  limitUserOrganizationCreation: boolean;
  apiRateLimitingEnabled: boolean;
  apiRateLimit: number;
  sendPassingStatusesForUntriggeredSpeculativePlans: boolean;
  allowSpeculativePlansOnPullRequestsFromForks: boolean;
  requireTwoFactorForAdmins: boolean;
  fairRunQueuingEnabled: boolean;
  limitOrganizationsPerUser: boolean;
  defaultOrganizationsPerUserCeiling: number;
  limitWorkspacesPerOrganization: boolean;
  defaultWorkspacesPerOrganizationCeiling: number;
  defaultRemoteStateAccess: boolean;
  costEstimationEnabled: boolean;
  /** Whether users sign in through SAML. */
  samlEnabled: boolean;
  /** Whether a directory may manage users and groups. */
  scimEnabled: boolean;
  /** How long a plan may take if its organization sets no limit, such as `2h`. */
  planTimeout: string;
  applyTimeout: string;
}

/** The owner of a token, and the installation's settings at the time of the look-up. */
export interface AuthenticatedCaller {
  readonly principal: Principal;
  readonly settings: SiteSettings;
}

/** The address at which runs log in to the secrets service, and the issuer that the secrets service trusts. */
export interface SecretsPlace {
  readonly address: string;
  readonly mount: string;
  readonly audience: string;
  readonly issuer: string;
}

/** The parts of a service process that endpoints use. Built once, in `service.ts`. */
export interface Environment {
  readonly edition: Edition;
  /** Whether names that existing clients need are sent and accepted in addition to the neutral names. */
  readonly aliases: boolean;
  /** Whether refusals name the missing permission if the caller may see the target. */
  readonly reasons: boolean;
  /** The URL at which clients reach the service, without a trailing slash. Absolute links begin with it. */
  readonly publicUrl: string;
  /** Whether there are pages below `/ui/`. */
  readonly hasConsole: boolean;
  /** Whether SSH keys are checked. If so, keys that are not private keys, or that have a passphrase, are refused. */
  readonly checksSshKeys: boolean;
  /** Whether invalid SAML certificates are refused. */
  readonly checksSamlCertificates: boolean;
  /** The largest configuration that can be uploaded. */
  readonly configurationBytes: number;
  /** The tier of organizations without a subscription. */
  readonly defaultFeatureSet: string;
  /**
   * The addresses at which the service is reached and from which it calls others, as blocks; undefined if not
   * configured.
   */
  readonly ipRanges: readonly string[] | undefined;
  /** Which addresses Git hosts may have; undefined if no host is called. */
  readonly vcsReach: Reach | undefined;
  /** The private networks among these addresses, for agents and workers that fetch from there. */
  readonly vcsNetworks: readonly string[];
  readonly keyring: Keyring;
  /** Which addresses notifications may go to. */
  readonly notificationReach: Reach;
  /** Undefined if no mail server is set. */
  readonly mailer: Mailer | undefined;
  readonly accessStore: AccessStore;
  /** Records disclosed content, and refused callers. */
  readonly trail: AccessTrail;
  /** The caller of the current request, who is the holder of links in the response. */
  readonly holder?: LinkHolder;
  /** Blobs that many clients download again and again. */
  readonly keptBlobs: KeptBlobs;
  /** Where large uploads wait, because only a few can be processed at the same time. */
  readonly largeUploads: Gate;
  /** The open streams of answers. */
  readonly streams: EventStreams;
  /** The objects that streams watch. */
  readonly watches: Watches;
  /** The requests that wait for an event. */
  readonly waiting: Waiting;
  /** Notified when any node has queued a job. */
  readonly queuedBell: Bell;
  /** The address of the secrets service for agents, if runs get credentials; undefined if there is none. */
  readonly secretsService: SecretsPlace | undefined;
  now(): number;
  /** The installation's settings as they are now. */
  settings(): Promise<SiteSettings>;
  /** The owner of a bearer token; undefined if it is unknown, revoked or expired. */
  authenticate(token: string): Promise<AuthenticatedCaller | undefined>;
  /**
   * The user of a console session, by its id. `background` means that the page sent the request without an action of
   * the user, so the session is still treated as idle.
   */
  authenticateConsole(id: string, background: boolean): Promise<AuthenticatedCaller | undefined>;
}
