/** A charset in which clients write the text of a part. US-ASCII is the first half of each of them. */
export interface Charset {
  /** True for UTF-8: bytes need no decoding to be read as JSON. */
  readonly isUtf8: boolean;
  /** Decodes bytes; undefined if they are invalid. */
  decode(bytes: Uint8Array): string | undefined;
  /** Encodes a text; undefined if the charset cannot represent it. */
  encode(text: string): Uint8Array | undefined;
}

const encoder = new TextEncoder();

/** The charset of a part that names none (RFC 7578 §5.1.2), and of one in US-ASCII, whose other bytes are read as UTF-8. */
export const UTF8: Charset = {
  isUtf8: true,
  decode: decoderOf(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })),
  encode: (text) => encoder.encode(text),
};

/** Names of UTF-8 and US-ASCII; to WHATWG's decoders, `ascii` is windows-1252. */
const UTF8_NAMES = /^(?:utf-?8|(?:us-?)?ascii|ansi_x3\.4-1968)$/;

/** In these, a byte of US-ASCII may be a part of another character or of an escape sequence. */
const NO_ASCII = /^(?:utf-16[bl]e|iso-2022-jp)$/;

/** Each byte is one character, so a table can list them. */
const SINGLE_BYTE =
  /^(?:iso-8859-\d+(?:-i)?|windows-(?:874|125\d)|koi8-[ru]|macintosh|x-mac-cyrillic|ibm866)$/;

/** Only the names that decoders support are cached, about two hundred. */
const known = new Map<string, Charset>();

/**
 * Finds a charset by its name in WHATWG's Encoding Standard; undefined if the runtime does not support it, or it does not extend
 * US-ASCII.
 */
export function charsetNamed(name: string | undefined): Charset | undefined {
  const label = name?.toLowerCase() ?? 'utf-8';
  if (UTF8_NAMES.test(label)) return UTF8;
  const found = known.get(label);
  if (found !== undefined) return found;
  let decoder;
  try {
    decoder = new TextDecoder(label, { fatal: true });
  } catch {
    return undefined;
  }
  if (NO_ASCII.test(decoder.encoding)) return undefined;
  const decode = decoderOf(decoder);
  const bytes = SINGLE_BYTE.test(decoder.encoding) ? tableOf(decode) : NO_BYTES;
  const charset = { isUtf8: false, decode, encode: (text: string) => encodeBy(bytes, text) };
  known.set(label, charset);
  return charset;
}

function decoderOf(decoder: TextDecoder): Charset['decode'] {
  return (bytes) => {
    try {
      return decoder.decode(bytes);
    } catch {
      return undefined;
    }
  };
}

const NO_BYTES: ReadonlyMap<string, number> = new Map();

/** The characters beyond US-ASCII. */
function tableOf(decode: Charset['decode']): ReadonlyMap<string, number> {
  const table = new Map<string, number>();
  for (let byte = 0x80; byte <= 0xff; byte += 1) {
    const character = decode(new Uint8Array([byte]));
    if (character !== undefined) table.set(character, byte);
  }
  return table;
}

function encodeBy(table: ReadonlyMap<string, number>, text: string): Uint8Array | undefined {
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    const byte = code < 0x80 ? code : table.get(text.charAt(at));
    if (byte === undefined) return undefined;
    bytes[at] = byte;
  }
  return bytes;
}
