/** Matches a text that holds at least `count` whole responses. */
export function whole(count: number): RegExp {
  return { test: (text: string): boolean => wholeResponses(text) >= count } as RegExp;
}

/** Responses whose end is there, in a text that begins with one. */
export function wholeResponses(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length;) {
    const end = text.indexOf('\r\n\r\n', at);
    if (end === -1) return count;
    const head = text.slice(at, end + 2);
    const status = Number(head.slice(9, 12));
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
    at = end + 4;
    if (status < 200) continue;
    if (status === 204 || length === '99') count += 1;
    else if (length !== undefined) {
      at += Number(length);
      if (at <= text.length) count += 1;
    } else if (head.includes('chunked')) {
      const last = /\r\n0\r\n(?:[^\r\n]+\r\n)*\r\n/.exec(text.slice(at - 2));
      if (last === null) return count;
      at += last.index + last[0].length - 2;
      count += 1;
    } else return text.endsWith('}') ? count + 1 : count;
  }
  return count;
}
