/** True for a raw target under `/api/v1`. */
export function isV1Target(target: string): boolean {
  return /^\/api\/v1(?:[/?]|$)/.test(target);
}
