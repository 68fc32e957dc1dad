/** The length in bits of the code of each byte, and of the end of the text behind them (RFC 7541, appendix B). */
const CODE_BITS = [
  13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28,
  28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7,
  8, 15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19,
  13, 14, 6, 15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13,
  28, 20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21,
  22, 23, 22, 23, 23, 24, 22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23,
  22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23, 26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
  19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25,
  25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, 30,
];
/** The end of the text, which stands in none. */
const END_OF_TEXT = 256;
/** Codes are read in pieces of so many bits; the shortest code has five, so a piece ends one at most. */
const PIECE_BITS = 4;
const PIECES = 1 << PIECE_BITS;
/** The most bits that may fill up the last byte (RFC 7541 §5.2). */
const MAX_PADDING_BITS = 7;
/** A transition: the byte that it ends, whether it ends one, the node behind it, and whether no code begins like this. */
const ENDS_BYTE = 1 << 8;
const NODE_SHIFT = 9;
const FAILS = 1 << 18;

interface Decoder {
  /** For each node and each piece. */
  readonly transitions: Int32Array;
  /** The nodes at which a text may end: those whose bits so far are all ones, and at most seven. */
  readonly mayEnd: Uint8Array;
}

let decoder: Decoder | undefined;

/**
 * Decodes a Huffman text (RFC 7541 §5.2) into `target`, which has room for 8/5 of its bytes; returns the bytes written, and -1 for what
 * is no such text.
 */
export function decodeHuffman(bytes: Uint8Array, from: number, to: number, target: Uint8Array): number {
  decoder ??= makeDecoder();
  const { transitions, mayEnd } = decoder;
  let node = 0;
  let written = 0;
  for (let at = from; at < to; at += 1) {
    const byte = bytes[at] ?? 0;
    const high = transitions[node * PIECES + (byte >> PIECE_BITS)] ?? FAILS;
    if ((high & ENDS_BYTE) !== 0) target[written++] = high;
    const low = transitions[((high & ~FAILS) >> NODE_SHIFT) * PIECES + (byte & (PIECES - 1))] ?? FAILS;
    if (((high | low) & FAILS) !== 0) return -1;
    if ((low & ENDS_BYTE) !== 0) target[written++] = low;
    node = low >> NODE_SHIFT;
  }
  return mayEnd[node] === 1 ? written : -1;
}

/** The tree of all codes: for each node the nodes behind a 0 and a 1, and for a leaf its byte as a negative number minus one. */
function makeTree(): Int32Array {
  const tree = new Int32Array(2 * CODE_BITS.length);
  let nodes = 1;
  let code = 0;
  let bits = 0;
  const symbols = CODE_BITS.map((_, symbol) => symbol);
  // Codes of one length follow each other, and those of the next length continue behind them.
  symbols.sort((left, right) => bitsOf(left) - bitsOf(right) || left - right);
  for (const symbol of symbols) {
    code <<= bitsOf(symbol) - bits;
    bits = bitsOf(symbol);
    let node = 0;
    for (let bit = bits - 1; bit > 0; bit -= 1) {
      const edge = 2 * node + ((code >> bit) & 1);
      if (tree[edge] === 0) tree[edge] = nodes++;
      node = tree[edge] ?? 0;
    }
    tree[2 * node + (code & 1)] = -symbol - 1;
    code += 1;
  }
  return tree;
}

function makeDecoder(): Decoder {
  const tree = makeTree();
  const nodes = tree.length / 2 - 1;
  const transitions = new Int32Array(nodes * PIECES);
  for (let node = 0; node < nodes; node += 1) {
    for (let piece = 0; piece < PIECES; piece += 1)
      transitions[node * PIECES + piece] = transition(tree, node, piece);
  }
  const mayEnd = new Uint8Array(nodes);
  let node = 0;
  for (let bits = 0; bits <= MAX_PADDING_BITS; bits += 1) {
    mayEnd[node] = 1;
    node = tree[2 * node + 1] ?? 0;
  }
  return { transitions, mayEnd };
}

function transition(tree: Int32Array, start: number, piece: number): number {
  let node = start;
  let ended = 0;
  for (let bit = PIECE_BITS - 1; bit >= 0; bit -= 1) {
    node = tree[2 * node + ((piece >> bit) & 1)] ?? 0;
    if (node >= 0) continue;
    const symbol = -node - 1;
    if (symbol === END_OF_TEXT) return FAILS;
    ended = ENDS_BYTE | symbol;
    node = 0;
  }
  return (node << NODE_SHIFT) | ended;
}

function bitsOf(symbol: number): number {
  return CODE_BITS[symbol] ?? 0;
}
