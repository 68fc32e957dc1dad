/** How alike two names are, from 0 to 1: by their words, whatever the separators and the case, or by their letters. */
export function nameSimilarity(one: string, other: string): number {
  const [words, others] = [wordsOf(one), wordsOf(other)];
  const common = words.filter((word) => others.includes(word)).length;
  const byWords = common / Math.max(1, new Set([...words, ...others]).size);
  return Math.max(byWords, letterSimilarity(words.join(''), others.join('')));
}

/** True for names that differ in case and separators only. */
export function isSameName(one: string, other: string): boolean {
  return wordsOf(one).join('') === wordsOf(other).join('');
}

/** The words of a name in snake case, kebab case or camel case, in lower case. */
function wordsOf(name: string): readonly string[] {
  return name
    .replaceAll(/([a-z\d])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\d]+/u)
    .filter((word) => word !== '');
}

/** 1 minus the Levenshtein distance as a part of the longer name. */
function letterSimilarity(one: string, other: string): number {
  const longer = Math.max(one.length, other.length);
  if (longer === 0 || longer > 200) return 0;
  let row = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let at = 1; at <= one.length; at += 1) {
    const next = [at];
    for (let to = 1; to <= other.length; to += 1) {
      const change = one[at - 1] === other[to - 1] ? 0 : 1;
      next.push(Math.min((row[to - 1] ?? 0) + change, (row[to] ?? 0) + 1, (next[to - 1] ?? 0) + 1));
    }
    row = next;
  }
  return 1 - (row[other.length] ?? 0) / longer;
}
