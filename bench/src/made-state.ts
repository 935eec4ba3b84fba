import { createHash, randomBytes } from 'node:crypto';

/** A state of about this many bytes, as pieces: generated each time it is read, the same for the same seed. */
export interface MadeState {
  readonly bytes: number;
  readonly md5: string;
  pieces(): Iterable<Buffer>;
}

const resources = 400;

function resource(number: number, noise: (bytes: number) => string): object {
  const id = noise(8);
  return {
    mode: 'managed',
    type: 'example_instance',
    name: `web_${number}`,
    provider: 'provider["registry.example/acme/example"]',
    instances: [0, 1, 2].map((key) => ({
      index_key: key,
      schema_version: 1,
      attributes: {
        arn: `arn:example:compute:eu-west-1:123456789012:instance/i-${id}-${noise(8)}`,
        availability_zone: 'eu-west-1a',
        disable_api_termination: false,
        ebs_block_device: [],
        id: `i-${noise(16)}`,
        instance_type: 'large',
        private_ip: `10.0.${number % 255}.${key}`,
        tags: { Name: `web-${number}`, Environment: 'production', Fingerprint: noise(32) },
      },
      sensitive_attributes: [],
      dependencies: ['example_network.main', 'example_subnet.a'],
    })),
  };
}

function incompressible(number: number): object {
  const content = randomBytes(19_000).toString('base64');
  return { mode: 'managed', type: 'example_file', name: `file_${number}`, instances: [{ attributes: { content } }] };
}

/** A state in the tool's format. It compresses about ten to one; with `noise`, hardly at all. */
export function madeState(mebibytes: number, serial: number, kind: 'realistic' | 'noise' = 'realistic'): MadeState {
  const limit = mebibytes * 1024 * 1024;
  const noise = (bytes: number) => randomBytes(bytes).toString('hex');
  const text =
    kind === 'noise'
      ? Array.from({ length: 40 }, (_, i) => `,\n    ${JSON.stringify(incompressible(i))}`)
      : Array.from({ length: resources }, (_, i) => `,\n    ${JSON.stringify(resource(i, noise), null, 2)}`);
  const blocks = text.map((one) => Buffer.from(one));
  const head = Buffer.from(
    `{\n  "version": 4,\n  "terraform_version": "1.11.4",\n  "serial": ${serial},\n  "lineage": "${noise(16)}",\n` +
      '  "outputs": {"address": {"value": "https://example.com", "type": "string"}},\n  "resources": [\n    {"type":"first"}',
  );
  const tail = Buffer.from('\n  ]\n}\n');
  function* pieces(): Iterable<Buffer> {
    let size = head.length + tail.length;
    yield head;
    for (let i = 0; size + blocks[i % blocks.length]!.length <= limit; i++) {
      size += blocks[i % blocks.length]!.length;
      yield blocks[i % blocks.length]!;
    }
    yield tail;
  }
  const hash = createHash('md5');
  let bytes = 0;
  for (const piece of pieces()) {
    hash.update(piece);
    bytes += piece.length;
  }
  return { bytes, md5: hash.digest('hex'), pieces };
}
