import { barcodeOf, codeFor, counterAt, otpauthUrl } from '@keystead/auth';
import { z } from 'zod';
import { backend } from '../../sdk/backend';
import { durationText } from '../../sdk/duration';
import { secretString } from '../../sdk/fields';
import { PageInput, pageOf } from '../../sdk/paging';
import { path } from '../../sdk/path';
import { refuse } from '../../sdk/refuse';
import { data, empty, keys, missing } from '../../sdk/reply';
import { deleteKey, findKey, listKeys, putKey, readAhead, requireKey, schemeOf, spendCode } from './key';
import { keyFields, requestedKey } from './requested-key';

const keyListPath = path('keys', {
  summary: 'The keys of this mount.',
  list: {
    summary: 'List the names of the keys.',
    operationId: 'list-keys',
    input: PageInput,
    output: z.object({ keys: z.array(z.string()) }),
    run: async ({ input, storage }) => keys(await listKeys(storage, pageOf(input))),
  },
});

const keyPath = path('keys/:name', {
  summary: 'A TOTP key.',
  params: { name: 'name-at' },
  read: {
    summary: 'Read the settings of a key. The key is not shown.',
    operationId: 'read-key',
    output: keyFields.output.pick({ account_name: true, algorithm: true, digits: true, issuer: true, period: true }),
    async run({ params, storage }) {
      const key = await findKey(storage, params.name);
      if (!key) return missing;
      const { account_name, algorithm, digits, issuer, period } = key;
      return data({ account_name, algorithm, digits, issuer, period });
    },
  },
  write: {
    summary: 'Generate or import a key. Replaces an existing key.',
    operationId: 'create-key',
    stepUp: true,
    update: 'replace',
    defaults: keyFields.defaults,
    input: keyFields.input,
    output: z.object({ barcode: z.string().optional(), url: z.string() }),
    async run({ input, params, storage }) {
      const key = requestedKey(input);
      putKey(storage, params.name, key);
      if (!input.generate || !input.exported) return empty;
      const url = otpauthUrl(key.issuer, key.account_name, schemeOf(key));
      const barcode = await barcodeOf(url, input.qr_size).catch(() =>
        refuse('the url is too long for a QR code: choose a smaller key_size or shorter names, or set qr_size to 0'),
      );
      return data(barcode === '' ? { url } : { barcode, url });
    },
  },
  delete: {
    summary: 'Delete a key.',
    operationId: 'delete-key',
    stepUp: true,
    run({ params, storage }) {
      deleteKey(storage, params.name);
      return empty;
    },
  },
});

const codePath = path('code/:name', {
  summary: 'Codes of a key.',
  params: { name: 'name-at' },
  read: {
    summary: 'Generate the current code, as an authenticator app does.',
    operationId: 'generate-code',
    output: z.object({ code: z.string(), generated: z.int(), expire_time: z.int(), period: z.string() }),
    async run({ params, storage, nowMs }) {
      const key = await requireKey(storage, params.name);
      const counter = counterAt(nowMs, key.period);
      return data({
        code: codeFor(schemeOf(key), counter),
        expire_time: (counter + 1) * key.period,
        generated: Math.floor(nowMs / 1000),
        period: durationText(key.period),
      });
    },
  },
  write: {
    summary: 'Validate a code. A valid code is accepted only once.',
    description: 'Five wrong codes in a row lock the key for a while: sys/locked-users lists its name.',
    operationId: 'validate-code',
    judges: 'password',
    input: z.object({ code: secretString().optional().describe('The code.') }),
    output: z.object({ valid: z.boolean() }),
    async run(call) {
      const { params, storage, nowMs } = call;
      const { code = '' } = call.input;
      const { digits } = await requireKey(storage, params.name);
      if (code === '') refuse('the code value is required');
      if (code.trim() !== code || Buffer.byteLength(code) !== digits) refuse('invalid number of digits for the code');
      // The used codes are read while the guess is counted.
      readAhead(storage, params.name);
      const right = await call.guess(params.name.toLowerCase(), () => spendCode(storage, params.name, code, nowMs));
      return data({ valid: right ?? false });
    },
  },
});

/** The TOTP secrets engine: generates and validates one-time codes. */
export const totp = backend({
  type: 'totp',
  kind: 'secret',
  summary: 'Generates TOTP codes from keys, and validates codes from authenticator apps.',
  paths: [keyListPath, keyPath, codePath],
});
