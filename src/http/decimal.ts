const ZERO = 0x30;
/** Any number of so many digits is exact as a double. */
const MAX_DIGITS = 15;

/** The number that `text` writes in 1 to 15 decimal digits, as `Content-Length` has it (RFC 9110 §8.6); undefined for any other text. */
export function readDecimal(text: string): number | undefined {
  if (text.length === 0 || text.length > MAX_DIGITS) return undefined;
  let value = 0;
  for (let at = 0; at < text.length; at += 1) {
    const digit = text.charCodeAt(at) - ZERO;
    if (digit < 0 || digit > 9) return undefined;
    value = value * 10 + digit;
  }
  return value;
}
