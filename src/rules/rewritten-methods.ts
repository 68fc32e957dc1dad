/**
 * True for a method that changes `on: every` apply to, named as an operation or not. This is what the rules promise and no fact
 * of HTTP, which lets PUT have a body too: so it stands here, where every folder that applies rules can read it.
 */
export function isRewritten(method: string): boolean {
  return method === 'POST' || method === 'PATCH';
}

/** True for a method whose bodies can have request rules: also PUT, where a change names an operation of it. */
export function canBeRewritten(method: string): boolean {
  return isRewritten(method) || method === 'PUT';
}
