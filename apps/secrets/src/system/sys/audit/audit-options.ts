import { Refusal } from '@keystead/refusal';
import type { DeviceFolder } from '../../../kernel/audit/device-folder';
import type { StoredDevice } from '../../../kernel/audit/enabled-device';

const known = ['file_path', 'path', 'mode', 'prefix', 'format', 'hmac_accessor', 'log_raw'] as const;
const trueTexts = new Set(['1', 't', 'T', 'TRUE', 'true', 'True']);
const falseTexts = new Set(['0', 'f', 'F', 'FALSE', 'false', 'False']);

/** What a client sends to enable a device. */
export interface DeviceInput {
  readonly type?: string;
  readonly description?: string;
  readonly local?: boolean;
  readonly options?: Readonly<Record<string, string>>;
}

/** Makes of it what is stored. Throws `invalid`, naming the field or option. */
export function readDevice(input: DeviceInput, folder: DeviceFolder): StoredDevice {
  const { type = '', description = '', local = false, options = {} } = input;
  if (type !== 'file') {
    throw new Refusal('invalid', `unknown audit device type ${JSON.stringify(type.slice(0, 64))}: type must be file`);
  }
  if (description.length > 1024) throw new Refusal('invalid', 'description may have 1024 characters at most');
  for (const name of Object.keys(options)) {
    if (!(known as readonly string[]).includes(name)) {
      throw new Refusal(
        'invalid',
        `unknown option ${JSON.stringify(name.slice(0, 64))}: an audit device of type file takes ${known.join(', ')}`,
      );
    }
  }
  const { file_path, path, mode, prefix = '', format = 'json', hmac_accessor, log_raw } = options;
  const sentPath = file_path ?? path;
  if (sentPath === undefined) throw new Refusal('invalid', 'file_path is required');
  if (format !== 'json') throw new Refusal('invalid', 'format must be json');
  if (readFlag('log_raw', log_raw, false)) {
    throw new Refusal('invalid', 'log_raw must be false: audit lines never hold secrets as they are');
  }
  if (prefix.length > 128 || !/^[\x20-\x7e]*$/.test(prefix)) {
    throw new Refusal('invalid', 'prefix may have 128 visible ASCII characters at most');
  }
  const { path: _path, ...shown } = options;
  return {
    description,
    local,
    file: folder.nameOf(sentPath),
    whole: sentPath.startsWith('/'),
    options: shown,
    mode: readMode(mode),
    prefix,
    showsAccessors: !readFlag('hmac_accessor', hmac_accessor, true),
  };
}

function readFlag(name: string, text: string | undefined, fallback: boolean): boolean {
  if (text === undefined) return fallback;
  if (trueTexts.has(text)) return true;
  if (falseTexts.has(text)) return false;
  throw new Refusal('invalid', `${name} must be true or false`);
}

/** Of a file that is read and written, not of a program: who may run it could be made to. */
function readMode(text: string | undefined): number {
  if (text === undefined) return 0o600;
  const mode = Number.parseInt(text.replace('o', ''), 8);
  if (/^(0o)?[0-7]{1,4}$/.test(text) && (mode & ~0o664) === 0) return mode;
  throw new Refusal('invalid', 'mode must be octal permissions to read and write, such as 0600 or 0640, or 0000');
}
