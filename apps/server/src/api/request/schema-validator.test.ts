import { expect, it } from 'vitest'
import { validatorCompiler } from './schema-validator.js'

const schema = {
  type: 'object',
  additionalProperties: false,
  required: ['id'],
  properties: {
    id: { type: 'string', pattern: '^[!-~]+$', minLength: 1, maxLength: 8, examples: ['b0c1f6e2'] },
    permits: { type: 'integer', minimum: 1 },
    callers: { type: 'integer', minimum: 2, maximum: 1000 },
    ttl: { type: ['string', 'integer'] },
    atomic: { type: 'boolean' },
    mode: { type: 'string', enum: ['open', 'closed'] },
    checks: { type: 'array', minItems: 1, maxItems: 1000, items: { type: 'object' } },
  },
}

it.each([
  [{}, 'id is missing; send for example "b0c1f6e2".'],
  [{ id: 5 }, 'id must be a string, got 5.'],
  [{ id: 'a b' }, 'id is not valid, got "a b"; send for example "b0c1f6e2".'],
  [{ id: 'a'.repeat(9) }, 'id must have 1 to 8 characters, got 9.'],
  [{ id: 'a', permits: '2' }, 'permits must be a whole number of at least 1, got "2".'],
  [{ id: 'a', permits: -1 }, 'permits must be a whole number of at least 1, got -1.'],
  [{ id: 'a', callers: 1001 }, 'callers must be a whole number from 2 to 1,000, got 1001.'],
  [{ id: 'a', ttl: true }, 'ttl must be a string or a whole number, got true.'],
  [{ id: 'a', atomic: 'yes' }, 'atomic must be true or false, got "yes".'],
  [{ id: 'a', mode: 'opn' }, 'mode must be one of open, closed, got "opn".'],
  [{ id: 'a', checks: [] }, 'checks must have 1 to 1,000 entries, got 0.'],
  [{ id: 'a', checks: [null] }, 'checks[0] must be an object, got null.'],
  [
    { id: 'a', cost: 1 },
    'Unknown field "cost"; the fields are id, permits, callers, ttl, atomic, mode, checks.',
  ],
])('%j is rejected: %s', (body, message) => {
  const validate = validatorCompiler()({ schema, method: 'POST', url: '/', httpPart: 'body' })
  expect(validate(body)).toMatchObject({ error: { status: 400, message } })
})
