import { realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { Refusal } from '@keystead/refusal';

/** The setting for the directory, as errors name it. */
export const FOLDER_SETTING = 'SECRETS_AUDIT_BY_API_DIRECTORY';

const fileName = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$/;
/** Names with a special meaning on other servers. */
const noFiles = new Set(['stdout', 'stderr', 'discard']);

/**
 * The directory of this node for files of devices that are enabled by API. There are no subdirectories, so only the
 * last segment could lead out of it, and links are not followed there.
 */
export class DeviceFolder {
  private constructor(
    /** The directory as configured. */
    readonly shown: string,
    private readonly real: string,
  ) {}

  /** Throws if there is no such directory. */
  static async open(directory: string): Promise<DeviceFolder> {
    const folder = path.resolve(directory);
    try {
      const real = await realpath(folder);
      if (!(await stat(real)).isDirectory()) throw new Error('no directory');
      return new DeviceFolder(folder, real);
    } catch (cause) {
      throw new Error(`${FOLDER_SETTING}: ${folder} is not a directory`, { cause });
    }
  }

  /**
   * The name of a file that a client gives by its name or its whole path. Throws `invalid` for anything outside the
   * directory.
   */
  nameOf(text: string): string {
    const whole = path.isAbsolute(text);
    const inside = !whole || [this.shown, this.real].includes(path.dirname(text));
    const name = whole ? path.basename(text) : text;
    if (inside && fileName.test(name) && !noFiles.has(name.toLowerCase())) return name;
    throw new Refusal(
      'invalid',
      `file_path must name a file directly in ${this.shown}, of letters, digits, ".", "_" and "-": the directory is set by ${FOLDER_SETTING}`,
    );
  }

  /** The path of a file, below the directory as configured. */
  shownAt(name: string): string {
    return path.join(this.shown, name);
  }

  /** The real path of a file. */
  at(name: string): string {
    return path.join(this.real, name);
  }
}
