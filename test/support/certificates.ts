import { createSign, generateKeyPairSync, type KeyObject } from 'node:crypto';

/** A certificate with its key, as PEM. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
  readonly name: string;
  readonly signer: KeyObject;
}

export interface CertificateOptions {
  readonly name: string;
  /** DNS names and IPv4 addresses it is valid for. */
  readonly hosts?: readonly string[];
  /** The issuer; without one it is self-signed, and a CA. */
  readonly issuer?: Certificate;
  readonly notAfter?: Date;
}

/** Makes an X.509 certificate on P-256 (RFC 5280), so that tests need neither files nor openssl. */
export function certificate({ name, hosts = [], issuer, notAfter }: CertificateOptions): Certificate {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const signer = issuer?.signer ?? privateKey;
  const algorithm = sequence(oid('2a8648ce3d040302'));
  const until = notAfter ?? new Date(Date.now() + 86_400_000);
  const extensions = [
    extension('551d13', sequence(...(issuer === undefined ? [Buffer.from([1, 1, 0xff])] : []))),
    ...(hosts.length === 0 ? [] : [extension('551d11', sequence(...hosts.map((host) => alternative(host))))]),
  ];
  const body = sequence(
    tagged(0xa0, Buffer.from([2, 1, 2])),
    tagged(2, Buffer.from([1, ...Buffer.from(String(Math.random()).slice(2, 12))])),
    algorithm,
    distinguished(issuer?.name ?? name),
    sequence(time(new Date(until.getTime() - 10 * 86_400_000)), time(until)),
    distinguished(name),
    publicKey.export({ type: 'spki', format: 'der' }),
    tagged(0xa3, sequence(...extensions)),
  );
  const signature = createSign('sha256').update(body).sign(signer);
  const der = sequence(body, algorithm, tagged(3, Buffer.concat([Buffer.from([0]), signature])));
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    name,
    signer: privateKey,
  };
}

function tagged(tag: number, content: Buffer): Buffer {
  const { length } = content;
  if (length < 128) return Buffer.concat([Buffer.from([tag, length]), content]);
  if (length < 256) return Buffer.concat([Buffer.from([tag, 0x81, length]), content]);
  return Buffer.concat([Buffer.from([tag, 0x82, length >> 8, length & 0xff]), content]);
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return tagged(0x30, Buffer.concat(parts));
}

function oid(hex: string): Buffer {
  return tagged(6, Buffer.from(hex, 'hex'));
}

function distinguished(name: string): Buffer {
  return sequence(tagged(0x31, sequence(oid('550403'), tagged(0x0c, Buffer.from(name)))));
}

function time(date: Date): Buffer {
  const text = date.toISOString().replaceAll(/[-:T]/g, '').slice(2, 14);
  return tagged(0x17, Buffer.from(`${text}Z`));
}

function extension(id: string, value: Buffer): Buffer {
  return sequence(oid(id), tagged(4, value));
}

function alternative(host: string): Buffer {
  const four = host.split('.').map(Number);
  return four.length === 4 && four.every((part) => part >= 0)
    ? tagged(0x87, Buffer.from(four))
    : tagged(0x82, Buffer.from(host));
}
