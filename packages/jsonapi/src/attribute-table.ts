import type { z } from 'zod';
import { type Aliases, type AttributesOf, type AttributeValue, flag, writeOnly } from './attributes';
import { blankOf } from './blank';
import { type Camelised, camel } from './input';

/** When an attribute can be set: in creates and updates; in both, but required in creates; only in creates. */
type When = 'anytime' | 'required' | 'create';

/** The options of an attribute, apart from its type. */
interface AttributeOptions {
  /** The only edition that accepts and shows it. */
  readonly edition?: string;
  /** Its alias, or the aliases of its parts. */
  readonly alias?: string | Readonly<Record<string, string>>;
}

/** An attribute of a resource; its key in the table is its wire name. */
export interface Attribute extends AttributeOptions {
  /** Its type in responses. If omitted, it is never shown. */
  readonly type?: z.ZodType;
  readonly show?: (item: never, view: never) => unknown;
  /** Its type in bodies; if left out, it cannot be set. */
  readonly takes?: z.ZodType;
  readonly when?: When;
  /** The columns that store it, and their initial values. */
  readonly columns?: object;
  /** The column that stores the sent value unchanged, without rules. */
  readonly column?: string;
  /** Sending null has the same effect as leaving the attribute out. */
  readonly nullSaysNothing?: true;
}

/** The columns whose type matches the type of the attribute. */
type Fitting<Item, Shown extends z.ZodType> = {
  [K in keyof Item]: Item[K] extends AttributeValue<Shown> ? K : never;
}[keyof Item] &
  string;

/** Initial values of columns. An unknown column is a type error. */
type Initial<Item, C> = { [K in keyof C]: K extends keyof Item ? Item[K] : never };

/** Builders for the rows of an attribute table. The compiler checks each row against the columns of `Item`. */
export function attributesOf<Item, View extends { readonly edition: string }>() {
  return {
    /** Stored in a column as sent, and shown from there. */
    setting<
      K extends Fitting<Item, Shown>,
      Shown extends z.ZodType,
      Taken extends z.ZodType<Item[K]>,
      W extends When = 'anytime',
    >(column: K, row: AttributeOptions & { type: Shown; takes: Taken; initial: Item[K]; when?: W }) {
      const { initial, ...rest } = row;
      const columns = { [column]: initial } as { [C in K]: Item[C] };
      return { ...rest, when: (row.when ?? 'anytime') as W, show: (item: Item) => item[column], column, columns };
    },

    /** Like `setting`, for a column that is never null: null is accepted and ignored. */
    lenient<K extends Fitting<Item, Shown>, Shown extends z.ZodType, Taken extends z.ZodType<Item[K]>>(
      column: K,
      row: AttributeOptions & { type: Shown; takes: Taken; initial: Item[K] },
    ) {
      const { initial, takes, ...rest } = row;
      const columns = { [column]: initial } as { [C in K]: Item[C] };
      const when = 'anytime' as const;
      const show = (item: Item) => item[column];
      return { ...rest, takes: takes.nullable(), when, show, column, nullSaysNothing: true as const, columns };
    },

    /** A boolean, stored as sent and shown from there, unless `show` says otherwise. */
    toggle<K extends Fitting<Item, typeof flag>, Shown extends z.ZodType = typeof flag>(
      column: K,
      initial: Item[K],
      row?: AttributeOptions & { type: Shown; show: (item: Item, view: View) => AttributeValue<Shown> },
    ) {
      const columns = { [column]: initial } as { [C in K]: Item[C] };
      const answer = row ?? { type: flag as z.ZodType as Shown, show: (item: Item) => item[column] };
      return { ...answer, takes: flag, when: 'anytime' as const, column, columns };
    },

    /** Sent and shown; rules decide the values of its columns, if it has any. */
    ruled<
      Shown extends z.ZodType,
      Taken extends z.ZodType,
      C extends Initial<Item, C> = Record<never, never>,
      W extends When = 'anytime',
    >(
      row: AttributeOptions & {
        type: Shown;
        takes: Taken;
        show: (item: Item, view: View) => AttributeValue<Shown>;
        columns?: C;
        when?: W;
      },
    ) {
      return { ...row, when: (row.when ?? 'anytime') as W, columns: (row.columns ?? {}) as C };
    },

    /** Sent, but never shown under this name. */
    writeOnly<Taken extends z.ZodType, C extends Initial<Item, C> = Record<never, never>>(takes: Taken, columns?: C) {
      return { takes: writeOnly(takes), when: 'anytime' as const, columns: (columns ?? {}) as C };
    },

    /** Shown, but cannot be set. */
    shown<Shown extends z.ZodType>(
      type: Shown,
      show: (item: Item, view: View) => AttributeValue<Shown>,
      options: AttributeOptions = {},
    ) {
      return { ...options, type, show };
    },

    /** All attributes of a kind of resource, in the order of answers. */
    table<R extends Rows>(rows: R): AttributeTable<Item, View, R> {
      return tableOf(rows);
    },
  };
}

type Rows = Readonly<Record<string, Attribute>>;

/** The types of attributes in answers. */
type ShapeOf<R extends Rows> = {
  readonly [K in keyof R as R[K] extends { type: z.ZodType } ? K : never]: R[K] extends {
    type: infer S extends z.ZodType;
  }
    ? S
    : never;
};

type SentType<A, Of extends 'create' | 'update'> = A extends { takes: infer T extends z.ZodType; when: infer W }
  ? Of extends 'create'
    ? 'required' extends W
      ? T
      : z.ZodOptional<T>
    : z.ZodOptional<T>
  : never;

/** The types of attributes in bodies. */
type BodyOf<R extends Rows, Of extends 'create' | 'update'> = {
  -readonly [K in keyof R as R[K] extends { takes: z.ZodType }
    ? Of extends 'update'
      ? R[K] extends { when: 'create' }
        ? never
        : K
      : K
    : never]: SentType<R[K], Of>;
};

/** All columns that bodies can set. */
type ColumnsOf<Item, R extends Rows> = Pick<
  Item,
  { [K in keyof R]: R[K] extends { columns: infer C extends object } ? keyof C & keyof Item : never }[keyof R]
>;

/** The parts of an attribute table that bodies, responses, columns and rules use. */
export interface AttributeTable<Item, View, R extends Rows> {
  /** The types of shown attributes, for the serializer and the API description. */
  readonly shape: ShapeOf<R>;
  show(item: Item, view: View): AttributesOf<ShapeOf<R>>;
  /** The types of attributes in bodies. */
  readonly create: BodyOf<R, 'create'>;
  readonly update: BodyOf<R, 'update'>;
  readonly aliases: Aliases;
  /** Attributes that only one edition has. */
  readonly editions: Readonly<Record<string, string>>;
  /** The columns that bodies set, with their initial values. */
  readonly initial: ColumnsOf<Item, R>;
  /** An item's values of the columns in `initial`. */
  stored(item: ColumnsOf<Item, R>): ColumnsOf<Item, R>;
  /** The values from a body for columns without rules. */
  plain(sent: Camelised<z.output<z.ZodObject<BodyOf<R, 'update'>>>>): Partial<ColumnsOf<Item, R>>;
}

/** An attribute table before its keys are typed. */
interface Derived<Item, View> {
  shape: Readonly<Record<string, z.ZodType>>;
  show(item: Item, view: View): Record<string, unknown>;
  create: Record<string, z.ZodType>;
  update: Record<string, z.ZodType>;
  aliases: Aliases;
  editions: Readonly<Record<string, string>>;
  initial: object;
  stored(item: object): object;
  plain(sent: object): object;
}

type AttributeRow = Attribute & { show?(item: unknown, view: unknown): unknown };

function tableOf<Item, View extends { readonly edition: string }, R extends Rows>(
  table: R,
): AttributeTable<Item, View, R> {
  const rows = Object.entries(table as Readonly<Record<string, AttributeRow>>);
  const answers = rows.flatMap(([name, { show, edition }]) => (show === undefined ? [] : [{ name, show, edition }]));
  const plain = rows.flatMap(([name, { column, nullSaysNothing }]) =>
    column === undefined ? [] : [[camel(name), column, nullSaysNothing] as const],
  );
  const shape = Object.fromEntries(rows.flatMap(([name, { type }]) => (type === undefined ? [] : [[name, type]])));
  const body = (of: 'create' | 'update') =>
    Object.fromEntries(
      rows.flatMap(([name, { takes, when }]) => {
        if (takes === undefined || (of === 'update' && when === 'create')) return [];
        return [[name, of === 'create' && when === 'required' ? takes : takes.optional()]];
      }),
    );
  const empty = blankOf(answers.map(({ name }) => name));
  const defaults: object = Object.assign({}, ...rows.map(([, { columns }]) => columns));
  const columns = Object.keys(defaults);
  const unset = blankOf(columns);
  const derived: Derived<Item, View> = {
    shape,
    show(item, view) {
      const attributes: Record<string, unknown> = { ...empty };
      for (const { name, show, edition } of answers) {
        attributes[name] = edition === undefined || edition === view.edition ? show(item, view) : undefined;
      }
      return attributes;
    },
    create: body('create'),
    update: body('update'),
    aliases: Object.fromEntries(rows.flatMap(([name, { alias }]) => aliasesOf(name, alias))),
    editions: Object.fromEntries(
      rows.flatMap(([name, { edition }]) => (edition === undefined ? [] : [[name, edition]])),
    ),
    initial: Object.assign({ ...unset }, defaults),
    stored(item: Readonly<Record<string, unknown>>) {
      const values: Record<string, unknown> = { ...unset };
      for (const column of columns) values[column] = item[column];
      return values;
    },
    plain(sent: Readonly<Record<string, unknown>>) {
      return Object.fromEntries(
        plain.flatMap(([key, column, nullSaysNothing]) => {
          const value = sent[key];
          return value === undefined || (nullSaysNothing && value === null) ? [] : [[column, value]];
        }),
      );
    },
  };
  // The compiler cannot follow keys through Object.entries. Each row was checked where it was written.
  return derived as AttributeTable<Item, View, R>;
}

function aliasesOf(name: string, alias: AttributeOptions['alias']): [string, string][] {
  if (alias === undefined) return [];
  if (typeof alias === 'string') return [[name, alias]];
  return Object.entries(alias).map(([part, other]) => [`${name}.${part}`, `${name}.${other}`]);
}
