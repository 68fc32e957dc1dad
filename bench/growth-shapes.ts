import { deepJson, longString, smallObjects } from './attack/bodies.ts';

/** A name, and a V1 body of about so many bytes. */
type Shape = readonly [name: string, body: (bytes: number) => string];

/** Shapes of JSON that an attacker would choose. */
export const shapes: readonly Shape[] = [
  ['one long string', longString],
  ['deep, 250 levels', (bytes) => deepJson(bytes, 245)],
  ['deep, 500 levels', (bytes) => deepJson(bytes, 495)],
  ['wide', (bytes) => object(bytes, (k) => `"name_${k}":1`)],
  ['tiny members', smallObjects],
  ['escapes in values', (bytes) => object(bytes, (k) => `"n${k}":"${String.raw`\u0041\n\/`.repeat(20)}"`)],
  ['escapes in names', (bytes) => object(bytes, (k) => `"${String.raw`\u0041`.repeat(5)}${k}":1`)],
  ['long names', (bytes) => object(bytes, (k) => `"${String(k).repeat(4000).slice(0, 4000)}":1`)],
  [
    'members beside the wrapper',
    (bytes) => `{"data":{},${object(bytes, (k) => `"name_${k}":1`).slice('{"data":{'.length, -2)}}`,
  ],
];

/** An object within the wrapper, of so many bytes. */
function object(bytes: number, member: (k: number) => string): string {
  const members: string[] = [];
  for (let [k, length] = [0, 0]; length < bytes - 16; k += 1) {
    const one = member(k);
    members.push(one);
    length += one.length + 1;
  }
  return `{"data":{${members.join(',')}}}`;
}
