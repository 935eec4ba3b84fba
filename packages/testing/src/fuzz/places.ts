import { Few } from './few';
import type { Operations } from './operations';
import type { Random } from './random';

interface Step {
  readonly words: Map<string, Step>;
  /** The step of a parameter that matches any text here. */
  any?: { readonly name: string; readonly step: Step };
  /** A path of the document ends here. */
  isEnd: boolean;
}

const perPlace = 64;

/**
 * Known resources: the paths that answers mentioned, by the part of a template that ends with a parameter, so that
 * `/runs/{run_id}/actions/apply` is sent to a run that exists. Paths that are answered 404 are forgotten.
 */
export class Places {
  private readonly start: Step = { words: new Map(), isEnd: false };
  private readonly known = new Map<string, Few>();
  /** Whole links with a query, by template. */
  private readonly links = new Map<string, Few>();
  private readonly ofType = new Map<string, string[]>();
  private readonly typeOf = new Map<string, string>();
  private readonly prefixes = new Map<string, readonly string[]>();

  /** `never` are ids and names that must not be sent. */
  constructor(
    operations: Operations,
    private readonly never: ReadonlySet<string>,
    /** Called with the values of parameters that are neither ids nor names, such as the secrets of links. */
    private readonly onValue: (parameter: string, value: string) => void = () => undefined,
  ) {
    for (const { template } of operations.all) {
      if (this.prefixes.has(template)) continue;
      this.addTemplate(template);
      const isEnd = [...template.matchAll(/\}/g)].map(({ index }) => index + 1);
      this.prefixes.set(template, isEnd.map((end) => template.slice(0, end)).reverse());
    }
    for (const prefix of new Set([...this.prefixes.values()].flat())) {
      if (prefix.split('{').length !== 2) continue;
      const operation = operations.all.find(({ template, method }) => template === prefix && method === 'get');
      const type = (operation && operations.typeShown(operation)) ?? prefix.split('/').at(-2)!;
      this.typeOf.set(prefix, type);
      this.ofType.set(type, [...(this.ofType.get(type) ?? []), prefix]);
    }
  }

  /** Records a path of an existing resource, perhaps with a query. */
  learn(link: string): void {
    const [path, query] = link.split('?', 2) as [string, string?];
    const { passed, template } = this.follow(path);
    for (const [prefix, at] of passed) {
      this.add(prefix, at);
      if (!/(?:id|name)\}$/.test(prefix))
        this.onValue(prefix.slice(prefix.lastIndexOf('{') + 1, -1), at.split('/').at(-1)!);
    }
    if (query !== undefined && template !== undefined) fewOf(this.links, template).add(link);
  }

  /** Records a resource of a type. */
  learnResource(type: string, id: string): void {
    for (const prefix of this.ofType.get(type) ?? [])
      this.add(prefix, `${prefix.slice(0, prefix.indexOf('{'))}${encodeURIComponent(id)}`);
  }

  /** Records an id or name from the list at a path. */
  learnBelow(path: string, id: string, name?: string): void {
    const step = this.follow(path).step?.any;
    const value = step?.name === 'name' ? (name ?? id) : id;
    if (step !== undefined) this.learn(`${path}/${encodeURIComponent(value)}`);
  }

  /** Forgets a path. Returns its type and id, if it has one. */
  forget(path: string): { type: string; id: string } | undefined {
    const last = this.follow(path).passed.at(-1);
    if (last === undefined) return undefined;
    const [prefix, at] = last;
    this.known.get(prefix)?.remove(at);
    const type = this.typeOf.get(prefix);
    return type === undefined ? undefined : { type, id: decoded(at.slice(at.lastIndexOf('/') + 1)) };
  }

  /** The longest known part of a template, and the rest of the template. */
  pick(template: string, random: Random): { path: string; rest: string } | undefined {
    for (const prefix of this.prefixes.get(template)!) {
      const path = this.known.get(prefix)?.pick(random);
      if (path !== undefined) return { path, rest: template.slice(prefix.length) };
    }
    return undefined;
  }

  /** A whole link with its query. */
  link(template: string, random: Random): string | undefined {
    return this.links.get(template)?.pick(random);
  }

  private add(prefix: string, at: string): void {
    if (at.length < 600 && !this.never.has(decoded(at.slice(at.lastIndexOf('/') + 1))))
      fewOf(this.known, prefix).add(at);
  }

  private addTemplate(template: string): void {
    let step = this.start;
    for (const part of template.split('/').slice(1)) {
      const name = /^\{(\w+)\}$/.exec(part)?.[1];
      if (name === undefined) {
        let next = step.words.get(part);
        if (next === undefined) {
          next = { words: new Map(), isEnd: false };
          step.words.set(part, next);
        }
        step = next;
      } else {
        step.any ??= { name, step: { words: new Map(), isEnd: false } };
        step = step.any.step;
      }
    }
    step.isEnd = true;
  }

  /** The parameters in a path, each as the template and the path up to it, and the last step. */
  private follow(path: string): { passed: [string, string][]; step?: Step; template?: string } {
    let step = this.start;
    let template = '';
    let at = '';
    const passed: [string, string][] = [];
    for (const part of path.split('/').slice(1)) {
      at += `/${part}`;
      const word = step.words.get(part);
      if (word !== undefined) {
        step = word;
        template += `/${part}`;
      } else if (step.any !== undefined) {
        template += `/{${step.any.name}}`;
        step = step.any.step;
        passed.push([template, at]);
      } else if (passed.length > 0 && template.endsWith('}')) {
        // A parameter with slashes.
        passed[passed.length - 1] = [template, at];
      } else {
        return { passed: [] };
      }
    }
    return { passed, step, template: step.isEnd ? template : undefined };
  }
}

function fewOf(all: Map<string, Few>, key: string): Few {
  let few = all.get(key);
  if (few === undefined) {
    few = new Few(perPlace);
    all.set(key, few);
  }
  return few;
}

/** A decoded part of a path; unchanged if it cannot be decoded. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
