// Code that is not mutated, because nothing depends on it: the messages of errors and the names of their classes. The
// text of a Refusal is an answer to callers, so it is mutated.
const texts = new Set(['StringLiteral', 'TemplateLiteral', 'TemplateElement']);
const isError = (node) =>
  node.type === 'NewExpression' &&
  /Error$|^(NotAuthentic|WrongSealKey|UnknownKeyVersion)$/.test(node.callee.name ?? '');
const isSuper = (node) => node.type === 'CallExpression' && node.callee.type === 'Super';

export const strykerPlugins = [
  {
    kind: 'Ignore',
    name: 'error-texts',
    value: {
      shouldIgnore(path) {
        if (!texts.has(path.node.type)) return undefined;
        const around = path.parent;
        if (isError(around) || isSuper(around)) return 'the text of an error';
        if (around.type === 'ClassProperty' && around.key.name === 'name') return 'the name of an error class';
        return undefined;
      },
    },
  },
];
