import { Refusal } from '@keystead/refusal';
import { FOLDER_SETTING } from '../../../kernel/audit/device-folder';
import { type NodeParts, RECEIVERS_SETTING, type StoredDevice } from '../../../kernel/audit/enabled-device';
import {
  type AuditReceiver,
  type Endpoint,
  facilityOf,
  isTag,
  LOCAL_SYSLOG,
  parseEndpoint,
  parseHostPort,
} from '../../../kernel/audit/receiver';
import { parseDuration } from '../../../sdk/duration';

const common = ['prefix', 'format', 'hmac_accessor', 'log_raw'] as const;
const own = {
  file: ['file_path', 'path', 'mode'],
  socket: ['address', 'socket_type', 'write_timeout', 'ca_cert'],
  syslog: ['address', 'facility', 'tag', 'write_timeout', 'ca_cert'],
  http: ['uri', 'headers', 'write_timeout', 'batch_lines', 'ca_cert'],
} as const;
const trueTexts = new Set(['1', 't', 'T', 'TRUE', 'true', 'True']);
const falseTexts = new Set(['0', 'f', 'F', 'FALSE', 'false', 'False']);
const longestWaitSeconds = 30;
const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/;
const headerValue = /^[\x20-\x7e\t]{0,4096}$/;
/** Headers that only the service sets, because they frame the message. */
const framing = new Set([
  'host',
  'content-length',
  'content-type',
  'transfer-encoding',
  'connection',
  'upgrade',
  'expect',
]);

type Options = Readonly<Record<string, string>>;

/** The input for enabling a device. */
export interface DeviceInput {
  readonly type?: string;
  readonly description?: string;
  readonly local?: boolean;
  readonly options?: Options;
}

/** Converts the input to the stored form. Throws `invalid`, naming the field or option. */
export function readDevice(input: DeviceInput, node: NodeParts): StoredDevice {
  const { type = '', description = '', local = false, options = {} } = input;
  if (!isType(type)) {
    throw new Refusal(
      'invalid',
      `unknown audit device type ${JSON.stringify(type.slice(0, 64))}: type must be file, socket, syslog or http`,
    );
  }
  if (description.length > 1024) throw new Refusal('invalid', 'description can have at most 1024 characters');
  const names: readonly string[] = [...own[type], ...common];
  for (const name of Object.keys(options)) {
    if (!names.includes(name)) {
      throw new Refusal(
        'invalid',
        `unknown option ${JSON.stringify(name.slice(0, 64))}: an audit device of type ${type} has the options ${names.join(', ')}`,
      );
    }
  }
  const { prefix = '', format = 'json', hmac_accessor, log_raw } = options;
  if (format !== 'json') throw new Refusal('invalid', 'format must be json');
  if (readFlag('log_raw', log_raw, false)) {
    throw new Refusal('invalid', 'log_raw must be false: audit lines never contain secrets in clear');
  }
  if (prefix.length > 128 || !/^[\x20-\x7e]*$/.test(prefix)) {
    throw new Refusal('invalid', 'prefix can have at most 128 visible ASCII characters');
  }
  const showsAccessors = !readFlag('hmac_accessor', hmac_accessor, true);
  const all = { description, local, prefix, showsAccessors };
  return type === 'file'
    ? { ...all, ...readFile(options, node) }
    : { ...all, receiver: readReceiver(type, options, node), options: shownOptions(options) };
}

const isType = (type: string): type is keyof typeof own => Object.hasOwn(own, type);

function readFile(options: Options, { folder }: NodeParts) {
  const { file_path, path, mode } = options;
  const sentPath = file_path ?? path;
  if (sentPath === undefined) throw new Refusal('invalid', 'file_path is required');
  if (!folder)
    throw new Refusal('invalid', `file_path: files are not allowed here; set ${FOLDER_SETTING} to their directory`);
  const { path: _path, ...shown } = options;
  return { file: folder.nameOf(sentPath), whole: sentPath.startsWith('/'), options: shown, mode: readMode(mode) };
}

function readReceiver(type: AuditReceiver['type'], options: Options, node: NodeParts): AuditReceiver {
  const { receivers } = node;
  const seconds = readCount('write_timeout', parseDuration(options.write_timeout ?? (type === 'http' ? '5s' : '2s')), {
    most: longestWaitSeconds,
    unit: 'a duration of whole seconds',
  });
  const timeoutMs = seconds * 1000;
  const caCert = readCertificates(options.ca_cert);
  const ca = caCert === undefined ? {} : { caCert };
  if (type === 'http') {
    const batchLines = readCount('batch_lines', Number(options.batch_lines ?? 100), { most: 1000, unit: 'a number' });
    const uri = readUri(options.uri);
    if (!receivers) throw receiversOff('uri');
    return { type, uri, headers: readHeaders(options.headers), batchLines, timeoutMs, ...ca };
  }
  const endpoint = type === 'socket' ? readSocket(options, node) : readSyslog(options.address);
  if (endpoint.network !== 'unix' && !receivers) throw receiversOff('address');
  if (caCert !== undefined && endpoint.network !== 'tls') throw new Refusal('invalid', 'ca_cert is for tls');
  if (type === 'socket') return { type, ...endpoint, ...ca, timeoutMs };
  if (endpoint.network === 'unix' && !receivers?.syslog) {
    throw new Refusal(
      'invalid',
      `address is required: ${RECEIVERS_SETTING} does not contain syslog (the daemon of this machine)`,
    );
  }
  const facility = facilityOf(options.facility ?? 'AUTH');
  if (facility === undefined) throw new Refusal('invalid', 'facility must be one of syslog, such as AUTH or LOCAL0');
  const { tag = 'keystead' } = options;
  if (!isTag(tag)) throw new Refusal('invalid', 'tag must have 1 to 48 visible ASCII characters without spaces');
  return { type, ...endpoint, ...ca, facility, tag, timeoutMs };
}

function receiversOff(option: string): Refusal {
  return new Refusal(
    'invalid',
    `${option}: receivers are not allowed here; set ${RECEIVERS_SETTING} to their addresses`,
  );
}

function readSocket({ address, socket_type = 'tcp' }: Options, { folder }: NodeParts): Endpoint {
  if (!address) throw new Refusal('invalid', 'address is required');
  if (socket_type === 'unix') {
    if (!folder)
      throw new Refusal('invalid', `address: ${FOLDER_SETTING} names the directory of local sockets, and is not set`);
    return { network: 'unix', host: folder.nameOf(address), port: 0 };
  }
  if (socket_type !== 'tcp' && socket_type !== 'udp' && socket_type !== 'tls') {
    throw new Refusal('invalid', 'socket_type must be tcp, udp, tls or unix');
  }
  const at = parseHostPort(address);
  if (!at) throw new Refusal('invalid', 'address must be host:port');
  return { network: socket_type, ...at };
}

function readSyslog(address: string | undefined): Endpoint {
  if (address === undefined) return { network: 'unix', host: LOCAL_SYSLOG, port: 0 };
  const endpoint = parseEndpoint(address);
  if (!endpoint || endpoint.network === 'unix') {
    throw new Refusal('invalid', 'address must be udp://host:port, tcp://host:port or tls://host:port');
  }
  return endpoint;
}

function readUri(text: string | undefined): string {
  if (!text) throw new Refusal('invalid', 'uri is required');
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || text.length > 2048) {
    throw new Refusal('invalid', 'uri must be an http or https address');
  }
  if (url.username !== '' || url.password !== '') {
    throw new Refusal('invalid', 'uri must not contain a name and password, because it is shown: use headers');
  }
  return url.href;
}

function readHeaders(text: string | undefined): Record<string, string> {
  const headers: Record<string, string> = {};
  if (text === undefined || text === '') return headers;
  const bad = (what: string) => new Refusal('invalid', `headers: ${what}`);
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw bad('must be a JSON object with a list of values for each name');
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    throw bad('must be a JSON object with a list of values for each name');
  }
  const entries = Object.entries(parsed);
  if (entries.length > 32) throw bad('there may be 32 at most');
  for (const [name, values] of entries) {
    const all: unknown[] = Array.isArray(values) ? values : [values];
    if (!headerName.test(name)) throw bad(`${JSON.stringify(name.slice(0, 64))} is not the name of a header`);
    if (framing.has(name.toLowerCase())) throw bad(`${name} is set by the service`);
    for (const value of all) {
      if (typeof value !== 'string' || !headerValue.test(value)) throw bad(`a value of ${name} cannot be sent`);
      if (/^(env|file):\/\//.test(value))
        throw bad(`${name}: values from the environment or from files are not allowed by API`);
    }
    if (all.length > 0) headers[name] = all.join(', ');
  }
  return headers;
}

/** Options as shown: header values authenticate the service to receivers, so they are hidden. */
function shownOptions(options: Options): Options {
  if (options.headers === undefined || options.headers === '') return options;
  const names = Object.keys(JSON.parse(options.headers) as object);
  return { ...options, headers: JSON.stringify(Object.fromEntries(names.map((name) => [name, ['(hidden)']]))) };
}

function readCertificates(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  if (text.length <= 65_536 && /-----BEGIN CERTIFICATE-----[\s\S]+-----END CERTIFICATE-----/.test(text)) return text;
  throw new Refusal('invalid', 'ca_cert must be certificates in PEM');
}

function readCount(name: string, value: number | undefined, { most, unit }: { most: number; unit: string }): number {
  if (value !== undefined && Number.isInteger(value) && value >= 1 && value <= most) return value;
  throw new Refusal('invalid', `${name} must be ${unit} from 1 to ${most}`);
}

function readFlag(name: string, text: string | undefined, fallback: boolean): boolean {
  if (text === undefined) return fallback;
  if (trueTexts.has(text)) return true;
  if (falseTexts.has(text)) return false;
  throw new Refusal('invalid', `${name} must be true or false`);
}

/**
 * Parses the permissions of a file. Only permissions to read and write are allowed, because the file must not become
 * executable.
 */
function readMode(text: string | undefined): number {
  if (text === undefined) return 0o600;
  const mode = Number.parseInt(text.replace('o', ''), 8);
  if (/^(0o)?[0-7]{1,4}$/.test(text) && (mode & ~0o664) === 0) return mode;
  throw new Refusal('invalid', 'mode must be octal permissions to read and write, such as 0600 or 0640, or 0000');
}
