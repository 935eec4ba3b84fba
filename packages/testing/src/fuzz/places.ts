import { Few } from './few';
import type { Operations } from './operations';
import type { Random } from './random';

interface Step {
  readonly words: Map<string, Step>;
  /** The step of a parameter that matches any text here. */
  any?: { readonly name: string; readonly step: Step };
  /** A path of the document ends here. */
  ends: boolean;
}

const perPlace = 64;

/**
 * Where something lives: the paths that answers told of, by the part of a template that ends with a parameter, so that
 * `/runs/{run_id}/actions/apply` is sent to a run that is there. What is answered 404 is forgotten.
 */
export class Places {
  private readonly start: Step = { words: new Map(), ends: false };
  private readonly known = new Map<string, Few>();
  /** Whole links that carry a query, by template. */
  private readonly links = new Map<string, Few>();
  private readonly ofType = new Map<string, string[]>();
  private readonly typeOf = new Map<string, string>();
  private readonly prefixes = new Map<string, readonly string[]>();

  /** `never` are ids and names that must not be sent. */
  constructor(
    operations: Operations,
    private readonly never: ReadonlySet<string>,
    /** Called with the values of parameters that are not ids and no names, such as the secrets of links. */
    private readonly seen: (parameter: string, value: string) => void = () => undefined,
  ) {
    for (const { template } of operations.all) {
      if (this.prefixes.has(template)) continue;
      this.addTemplate(template);
      const ends = [...template.matchAll(/\}/g)].map(({ index }) => index + 1);
      this.prefixes.set(template, ends.map((end) => template.slice(0, end)).reverse());
    }
    for (const prefix of new Set([...this.prefixes.values()].flat())) {
      if (prefix.split('{').length !== 2) continue;
      const shown = operations.all.find(({ template, method }) => template === prefix && method === 'get');
      const type = (shown && operations.typeShown(shown)) ?? prefix.split('/').at(-2)!;
      this.typeOf.set(prefix, type);
      this.ofType.set(type, [...(this.ofType.get(type) ?? []), prefix]);
    }
  }

  /** A path, of the document and maybe with a query, leads somewhere. */
  learn(link: string): void {
    const [path, query] = link.split('?', 2) as [string, string?];
    const { passed, template } = this.follow(path);
    for (const [prefix, at] of passed) {
      this.add(prefix, at);
      if (!/(?:id|name)\}$/.test(prefix))
        this.seen(prefix.slice(prefix.lastIndexOf('{') + 1, -1), at.split('/').at(-1)!);
    }
    if (query !== undefined && template !== undefined) fewOf(this.links, template).add(link);
  }

  /** There is a resource of a type. */
  learnResource(type: string, id: string): void {
    for (const prefix of this.ofType.get(type) ?? [])
      this.add(prefix, `${prefix.slice(0, prefix.indexOf('{'))}${encodeURIComponent(id)}`);
  }

  /** Below a path that lists things there is one with an id or a name. */
  learnBelow(path: string, id: string, name?: string): void {
    const step = this.follow(path).step?.any;
    const value = step?.name === 'name' ? (name ?? id) : id;
    if (step !== undefined) this.learn(`${path}/${encodeURIComponent(value)}`);
  }

  /** Nothing is there any more. Answers the type and the id, where there is one. */
  forget(path: string): { type: string; id: string } | undefined {
    const last = this.follow(path).passed.at(-1);
    if (last === undefined) return undefined;
    const [prefix, at] = last;
    this.known.get(prefix)?.remove(at);
    const type = this.typeOf.get(prefix);
    return type === undefined ? undefined : { type, id: decoded(at.slice(at.lastIndexOf('/') + 1)) };
  }

  /** The longest part of a template that is known to lead somewhere, and what of the template is left. */
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
          next = { words: new Map(), ends: false };
          step.words.set(part, next);
        }
        step = next;
      } else {
        step.any ??= { name, step: { words: new Map(), ends: false } };
        step = step.any.step;
      }
    }
    step.ends = true;
  }

  /** The parameters that a path passes, each as the template and the path up to it; and where it ends. */
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
        // A parameter that holds slashes.
        passed[passed.length - 1] = [template, at];
      } else {
        return { passed: [] };
      }
    }
    return { passed, step, template: step.ends ? template : undefined };
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

/** A part of a path as it was before it was encoded; as it is when it cannot be read. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
