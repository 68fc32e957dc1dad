import { expect, test } from 'vitest';
import { CertificatesInUse } from '../../src/node/files.ts';
import { certificate } from '../support/certificates.ts';

const DAY = 86_400_000;
const END = new Date('2031-05-20T10:00:00Z');

test('the end of a certificate is a warning from 14 days before, once a day, and an error after it', () => {
  const certificates = new CertificatesInUse();
  certificates.take('clients', certificate({ name: 'gateway', notAfter: END }));
  certificates.take('v2', undefined);
  expect(certificates.ends).toEqual([{ use: 'clients', notAfter: END.getTime() }]);
  const told = (days: number): readonly string[] =>
    certificates.dueLines(END.getTime() - days * DAY).map(({ level, message }) => `${level} ${message}`);
  expect(told(15)).toEqual([]);
  expect(told(14)).toEqual([
    expect.stringMatching(/^warn .* for clients ends at 2031-05-20T10:00:00\.000Z, in 14 days;/),
  ]);
  expect(told(13.5)).toEqual([]);
  expect(told(13)).toHaveLength(1);
  expect(told(0.5)).toEqual([expect.stringContaining('in 12 hours;')]);
  expect(told(-1)).toEqual([expect.stringMatching(/^error .* ended at .*: connections fail/)]);
});

test('a renewed certificate is judged again, and texts without a certificate change nothing', () => {
  const certificates = new CertificatesInUse();
  const now = END.getTime() - DAY;
  certificates.take('v2', certificate({ name: 'gateway', notAfter: END }));
  expect(certificates.dueLines(now)).toHaveLength(1);
  const { cert } = certificate({ name: 'other', notAfter: new Date(END.getTime() + 90 * DAY) });
  certificates.take('v2', { cert });
  certificates.take('v2', { ca: cert });
  expect(certificates.dueLines(now)).toEqual([]);
  expect(certificates.ends).toEqual([{ use: 'v2', notAfter: END.getTime() + 90 * DAY }]);
});

test('an expired certificate does not replace a valid one', () => {
  const certificates = new CertificatesInUse();
  const now = END.getTime() - DAY;
  const ended = certificate({ name: 'ended', notAfter: new Date(now - DAY) });
  const renewed = certificate({ name: 'renewed', notAfter: new Date(now + DAY) });
  const refusal = (): string | undefined => certificates.refusal('clients', ended, '--tls-cert', now);
  // There is nothing better to keep.
  expect(refusal()).toBeUndefined();
  certificates.take('clients', renewed);
  expect(refusal()).toMatch(/^--tls-cert has a certificate that ended at 2031-05-18T/);
  expect(certificates.refusal('clients', renewed, '--tls-cert', now)).toBeUndefined();
  expect(certificates.refusal('clients', { ca: ended.cert }, '--tls-cert', now)).toBeUndefined();
  certificates.take('clients', ended);
  expect(refusal()).toBeUndefined();
});
