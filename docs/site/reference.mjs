const verbs = ['get', 'post', 'put', 'patch', 'delete'];

/** The pages of a reference: one for each group of operations, made from the OpenAPI documents of the services. */
export function referenceOf(documents) {
  return Object.entries(documents).flatMap(([api, document]) => {
    const groups = new Map();
    for (const [address, methods] of Object.entries(document.paths)) {
      for (const verb of verbs.filter((one) => methods[one] !== undefined)) {
        const operation = methods[verb];
        const name = groupOf(address, operation);
        groups.set(name, [...(groups.get(name) ?? []), { address, verb, operation, shared: methods.parameters ?? [] }]);
      }
    }
    return [...groups]
      .sort(([one], [other]) => one.localeCompare(other, 'en'))
      .map(([title, operations]) => ({
        api,
        title,
        file: `api/${slug(api)}/${slug(title)}.md`,
        text: pageOf(`${title}: ${api}`, operations, document),
      }));
  });
}

const slug = (text) =>
  text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '');

/** Operations of the secrets API belong to the mount in their path, those of the workspaces API to their kind of resource. */
function groupOf(address, { tags }) {
  if (
    address.startsWith('/api/v2') ||
    address.startsWith('/api/') ||
    !/^(auth|secrets|identity|system)$/.test(tags?.[0])
  ) {
    return tags?.[0] ?? 'other';
  }
  const [first, second] = address.split('/').filter(Boolean);
  return first === 'auth' || first === 'sys' ? [first, second].join('/') : first;
}

function pageOf(title, operations, document) {
  const parts = operations.map((one) => operationOf(one, document));
  return `---\noutline: [2, 2]\n---\n\n# ${escaped(title)}\n\n${parts.join('\n')}`;
}

function operationOf({ address, verb, operation, shared }, document) {
  const parameters = [...shared, ...(operation.parameters ?? [])].map((one) => found(one, document));
  const bodies = Object.entries(found(operation.requestBody, document)?.content ?? {});
  const lines = [
    `## ${verb.toUpperCase()} ${escaped(address)}`,
    '',
    escaped(operation.summary ?? ''),
    '',
    ...(operation.description ? [escaped(operation.description), ''] : []),
    ...table(
      'Parameters',
      parameters.map(({ name, in: where, required, description, schema }) => [
        code(name),
        where,
        typeOf(schema, document),
        required ? 'required' : '',
        description ?? '',
      ]),
      ['Name', 'In', 'Type', '', 'Meaning'],
    ),
    ...bodies
      .slice(0, 1)
      .flatMap(([media, { schema }]) => [
        ...table(`Body (${media})`, fieldsOf(schema, document), ['Field', 'Type', '', 'Meaning']),
      ]),
    ...answersOf(operation, document),
  ];
  return lines.join('\n');
}

function answersOf({ responses }, document) {
  const good = Object.entries(responses).find(([status]) => /^2/.test(status));
  const schema = Object.values(found(good?.[1], document)?.content ?? {})[0]?.schema;
  const codes = Object.keys(responses).map(code).join(', ');
  return [...table('Answer', fieldsOf(schema, document), ['Field', 'Type', '', 'Meaning']), `Answers: ${codes}.`, ''];
}

/** The fields of an object; fields of resources and envelopes have their paths. */
function fieldsOf(schema, document, before = '', depth = 0) {
  const whole = found(schema, document);
  if (whole === undefined || depth > 5) return [];
  const all = [whole, ...(whole.allOf ?? []).map((one) => found(one, document))];
  const properties = Object.assign({}, ...all.map((one) => one?.properties ?? {}));
  const required = new Set(all.flatMap((one) => one?.required ?? []));
  return Object.entries(properties).flatMap(([name, given]) => {
    const field = found(given, document) ?? {};
    const place = `${before}${name}`;
    if (['links', 'relationships', 'included', 'meta', 'errors'].includes(name) && depth < 3) return [];
    const inner = found(field.type === 'array' ? field.items : field, document);
    const goesOn = ['data', 'attributes', 'auth'].includes(name) && inner?.properties !== undefined;
    if (goesOn) return fieldsOf(inner, document, `${place}${field.type === 'array' ? '[]' : ''}.`, depth + 1);
    return [[code(place), typeOf(field, document), required.has(name) ? 'required' : '', field.description ?? '']];
  });
}

function typeOf(schema, document) {
  const one = found(schema, document);
  if (one === undefined) return '';
  if (one.enum !== undefined) return one.enum.map((value) => code(String(value))).join(', ');
  if (one.type === 'array') return `list of ${typeOf(one.items, document) || 'values'}`;
  const kind = one.type ?? (one.oneOf || one.anyOf ? 'several' : 'any');
  const usual = one.default === undefined ? '' : ` (${code(JSON.stringify(one.default))})`;
  return `${one.format ?? kind}${usual}`;
}

/** The target of a reference. */
function found(part, document) {
  if (part?.$ref === undefined) return part;
  return part.$ref
    .slice(2)
    .split('/')
    .reduce((at, step) => at?.[step], document);
}

function table(title, rows, heads) {
  if (rows.length === 0) return [];
  const used = heads.map((_, at) => rows.some((row) => row[at] !== ''));
  const line = (cells) => `| ${cells.filter((_, at) => used[at]).join(' | ')} |`;
  const cell = (text, at) => (at === 0 || text.includes('`') ? piped(text) : piped(escaped(text)));
  return [`**${title}**`, '', line(heads), line(heads.map(() => '---')), ...rows.map((row) => line(row.map(cell))), ''];
}

const piped = (text) => text.replaceAll('|', '\\|').replace(/\s+/g, ' ');
const code = (text) => (text === '' ? '``""``' : `\`${text.replaceAll('`', "'")}\``);
/** Text in which no character is Markdown. */
const escaped = (text) => text.replace(/[\\`*_{}[\]<>#|~]/g, (mark) => `&#${mark.charCodeAt(0)};`);
