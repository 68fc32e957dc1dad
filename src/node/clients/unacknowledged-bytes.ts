import { readFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { endianness } from 'node:os';
import { addressBits } from '../../http/forwarding.ts';

/** Linux's tables of connections: of IPv4, and of IPv6 with the IPv4 clients of a listener on both. */
const TABLES = ['/proc/net/tcp', '/proc/net/tcp6'];
/** A table gives addresses as words of four bytes, in the order of the processor. */
const IS_REVERSED = endianness() === 'LE';
/** Characters of the state that stands before the bytes to send. */
const STATE_LENGTH = 3;

/** Both tables, while they are read: whoever asks meanwhile gets the same. */
let reading: Promise<string> | undefined;

/**
 * Returns the bytes of a connection that the system has taken and the client's system has not acknowledged, even under TLS; undefined where
 * the system does not say. To read the tables takes about a microsecond for each connection of the machine, in another thread.
 */
export async function unacknowledgedBytes(socket: Socket): Promise<number | undefined> {
  const { localPort, remoteAddress, remotePort } = socket;
  if (localPort === undefined || remoteAddress === undefined || remotePort === undefined) return undefined;
  reading ??= readTables();
  const tables = await reading;
  for (const address of tableForms(remoteAddress)) {
    const connection = `:${hex(localPort, 4)} ${address}:${hex(remotePort, 4)} `;
    const at = tables.indexOf(connection);
    if (at < 0) continue;
    const from = at + connection.length + STATE_LENGTH;
    const bytes = Number.parseInt(tables.slice(from, tables.indexOf(':', from)), 16);
    return Number.isNaN(bytes) ? undefined : bytes;
  }
  return undefined;
}

async function readTables(): Promise<string> {
  const texts = await Promise.all(TABLES.map((path) => readFile(path, 'latin1').catch(() => '')));
  reading = undefined;
  return texts.join('\n');
}

/** The spellings of an address in the tables. */
function tableForms(address: string): readonly string[] {
  const bits = addressBits(address);
  if (bits === undefined) return [];
  const words = hex(bits, 32).match(/.{8}/g) ?? [];
  const spelled = words.map((word) => (IS_REVERSED ? (word.match(/../g) ?? []).toReversed().join('') : word));
  const isIpv4 = bits >> 32n === 0xff_ffn;
  return isIpv4 ? [spelled[3] ?? '', spelled.join('')] : [spelled.join('')];
}

function hex(value: number | bigint, digits: number): string {
  return value.toString(16).toUpperCase().padStart(digits, '0');
}
