// V1's comments have no envelope.
export function response(body) {
  return { body: body.data };
}
