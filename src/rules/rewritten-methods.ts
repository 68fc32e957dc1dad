/**
 * True for a method whose request bodies are rewritten. This is what the rules promise and no fact of HTTP, which
 * lets PUT have a body too: so it stands here, where every folder that applies rules can read it.
 */
export function isRewritten(method: string): boolean {
  return method === 'POST' || method === 'PATCH';
}
