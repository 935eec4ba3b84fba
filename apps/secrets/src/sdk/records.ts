import { jsonText } from '@keystead/envelope';
import { z } from 'zod';
import type { Call } from './call';
import type { Collection } from './collection';
import { PageInput, pageOf } from './paging';
import { type Operation, type Params, type Path, type PathSpec, path } from './path';
import { data, dataText, empty, keys, missing } from './reply';

/** The path that lists the names of records. */
export function namesPath<T>(
  pattern: string,
  records: Collection<T>,
  { list, ...about }: { readonly summary: string; readonly spec?: string; readonly list: string },
): Path {
  return path(pattern, {
    ...about,
    list: {
      summary: list,
      input: PageInput,
      output: z.object({ keys: z.array(z.string()) }),
      run: async ({ input, storage }) => keys(await records.list(storage, pageOf(input))),
    },
  });
}

/** What differs between paths of records. */
interface RecordSpec<P extends string, T, W extends z.ZodObject> extends Omit<PathSpec<P, T>, 'stored' | 'exists'> {
  readonly read: {
    readonly summary: string;
    readonly output?: z.ZodType;
    /** Null: what is not there is answered with 200 and no data, as clients of the endpoint know it. */
    readonly absent?: null;
    /** Numbers inside of objects are shown with the digits they were sent with. */
    readonly exact?: boolean;
    /** What of a record is shown. */
    show(
      record: T,
      call: Call<Params<P>>,
    ): Readonly<Record<string, unknown>> | Promise<Readonly<Record<string, unknown>>>;
  };
  readonly write: Operation<Params<P>, W, T>;
  /** What deleting a record says of itself. Deleting what is not there succeeds. */
  readonly delete: string;
}

/** The path of one record, which the last parameter of the pattern names: read, written, deleted. */
export function recordPath<const P extends `${string}:${string}`, T, W extends z.ZodObject>(
  pattern: P,
  records: Pick<Collection<T>, 'find' | 'delete'>,
  { read, write, delete: gone, ...about }: RecordSpec<P, T, W>,
): Path {
  const parameter = pattern.slice(pattern.lastIndexOf(':') + 1) as keyof Params<P>;
  const find = ({ params, storage }: Call<Params<P>>) => records.find(storage, params[parameter]);
  return path<P, T>(pattern, {
    ...about,
    stored: find,
    read: {
      summary: read.summary,
      output: read.output,
      async run(call) {
        const record = await find(call);
        if (record === undefined) return read.absent === null ? data(null) : missing;
        const shown = await read.show(record, call);
        return read.exact ? dataText(jsonText(shown)) : data(shown);
      },
    },
    write: write as unknown as Operation<Params<P>>,
    delete: {
      summary: gone,
      run({ params, storage }) {
        records.delete(storage, params[parameter]);
        return empty;
      },
    },
  } as Parameters<typeof path<P, T>>[1]);
}
